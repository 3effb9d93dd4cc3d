"""How long growing takes to make problems for the final of a contest, with goals that nobody has reached.

    python benchmarks/far_larger.py FOLDER OBJECTS …

FOLDER holds a domain and its training problems. A line for each problem: its objects, and the seconds of CPU time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from saltus.grow import Grower
from saltus.learn.config import load_configuration
from saltus.learn.problems import load_problems


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("objects", nargs="+", type=int)
    options = parser.parse_args()
    problems = load_problems(options.folder, load_configuration(None))
    grower = Grower(problems.domain, [*problems.training, *problems.held_out])
    begun = time.process_time()
    for task in grower.unproven(options.objects):
        print(f"{task.name}: {len(task.objects):,} objects, {time.process_time() - begun:.1f} s")
        begun = time.process_time()


if __name__ == "__main__":
    main()
