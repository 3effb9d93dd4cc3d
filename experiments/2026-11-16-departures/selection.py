"""Which checkpoints our rule and the paper's choose from the same runs, and what they solve of the larger problems.

    tar -xf experiments/2026-11-15-ipc2023/figures.tar.xz
    python experiments/2026-11-16-departures/selection.py runs/blocksworld/seed-? runs/spanner/seed-? …

A row per run: the checkpoint chosen by validation and larger problems together (ours) and by validation problems alone
(the paper's), each with problems solved (validation + larger) and actions on validation problems.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from saltus.learn.validation import Coverage, Validation


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    print("| run | ours | the paper's |\n|---|---|---|")
    for folder in parser.parse_args().runs:
        lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        validations = [validation_of(line) for line in lines if line["kind"] == "validation"]
        cells = [words(max(validations, key=lambda entry: entry.key(rule))) for rule in ("larger", "paper")]
        print(f"| {folder.parent.name} {folder.name} | {' | '.join(cells)} |")


def validation_of(line: dict[str, Any]) -> Validation:
    """The validation of a line of a log."""

    def coverage(prefix: str) -> Coverage:
        return Coverage(*(line[prefix + name] for name in ("problems", "solved", "jumps", "actions")))

    larger = coverage("larger_") if line["larger_problems"] is not None else None
    return Validation(line["episode"], coverage(""), larger, line["td_error"])


def words(validation: Validation) -> str:
    """The checkpoint in a few words."""
    larger = "" if validation.larger is None else f" + {validation.larger.solved}"
    held_out = validation.held_out
    return f"episode {validation.episode}: {held_out.solved}{larger}, {held_out.actions:,} actions"


if __name__ == "__main__":
    main()
