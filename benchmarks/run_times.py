"""Where the time of training runs went, from their logs: seconds per part, steps per second, validation coverage.

python benchmarks/run_times.py RUN [RUN ...]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path


def main() -> None:
    """Prints two lines per run, and the steps per second of all runs together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    total = 0.0
    for run in parser.parse_args().runs:
        steps = json.loads((run / "config.json").read_text())["training"]["steps"]
        entries = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
        episodes = [entry for entry in entries if entry["kind"] == "episode"]
        parts: Counter[str] = Counter()
        for entry in episodes:
            parts.update(entry["seconds"])
        elapsed = entries[-1]["elapsed"]
        rate = steps * episodes[-1]["episode"] / elapsed
        total += rate
        shares = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in parts.most_common())
        rest = elapsed - sum(parts.values())
        print(
            f"{run}: {len(episodes)} episodes, {elapsed:.0f} s, {rate:.0f} steps/s: {shares}, validation {rest:.0f} s"
        )
        curve = [
            f"{entry['episode']}: {entry['solved']}+{entry['larger_solved']}"
            for entry in entries
            if entry["kind"] == "validation"
        ]
        print("   ", "  ".join(curve))
    print(f"{total:.0f} steps/s together")


if __name__ == "__main__":
    main()
