"""What reaching goals uses up (`saltus.lookahead.supplies`), of every domain in some folders.

    python benchmarks/supplies.py FOLDER …

A folder holds one domain, or domains in subfolders, each with its problems below. The largest problem file is read. A
line for each domain whose goals use something up, then the number of domains, and of those that cannot be read.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from saltus.errors import InputError
from saltus.lookahead.supplies import find_supplies
from saltus.task import load


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    read = failed = 0
    for domain in sorted(path for folder in parser.parse_args().folders for path in folder.rglob("domain.pddl")):
        problems = [path for path in domain.parent.rglob("*.pddl") if path != domain]
        try:
            task = load(domain, max(problems, key=lambda path: path.stat().st_size))
        except (InputError, ValueError) as error:  # a ValueError where there is no problem
            failed += 1
            print(f"{domain}: {error}")
            continue
        read += 1
        for goals, used in find_supplies(task):
            names = [", ".join(sorted(task.predicates[number] for number in numbers)) for numbers in (goals, used)]
            print(f"{domain.parent}: {names[0]} uses up {names[1]}")
    print(f"{read} domains read, {failed} not")


if __name__ == "__main__":
    main()
