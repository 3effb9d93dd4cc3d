"""The best and the last validation of every training run, so that the sentences of docs/training.md can be checked.

    python experiments/2026-11-15-ipc2023/claims.py [DOMAIN…]

Reads the validations in `figures.tar.xz`. Columns: the run; episodes made, of those configured; seconds; the checkpoint
that counts as the best (most validation and larger problems together, then fewest actions) and the last one, each as
"episode: solved + larger"; the first episode at which everything was solved; and how many of the checkpoints from there
on solve everything. A number without "+" means that the larger problems were not tried.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ARCHIVE = Path(__file__).parent / "figures.tar.xz"


@dataclass(frozen=True)
class Checkpoint:
    """One validation."""

    episode: int
    solved: int
    problems: int
    larger: int | None
    larger_problems: int | None
    actions: int

    @property
    def is_full(self) -> bool:
        """Whether everything was solved, the larger problems included."""
        return self.solved == self.problems and self.larger is not None and self.larger == self.larger_problems

    def __str__(self) -> str:
        return f"{self.solved}" if self.larger is None else f"{self.solved} + {self.larger}"


@dataclass(frozen=True)
class Run:
    """What the log and the configuration of a run say."""

    name: str
    planned: int
    episodes: int
    seconds: float
    checkpoints: tuple[Checkpoint, ...]

    @property
    def best(self) -> Checkpoint:
        """The checkpoint that became the policy."""
        return max(self.checkpoints, key=lambda entry: (entry.solved + (entry.larger or 0), -entry.actions))

    def row(self) -> tuple[str, ...]:
        """The cells of the table."""
        full = next((entry.episode for entry in self.checkpoints if entry.is_full), None)
        after = [entry for entry in self.checkpoints if full is not None and entry.episode >= full]
        stayed = f"{sum(entry.is_full for entry in after)} of {len(after)}" if after else "-"
        ends = (f"{entry.episode}: {entry}" for entry in (self.best, self.checkpoints[-1]))
        length = f"{self.episodes} of {self.planned}"
        return (self.name, length, f"{self.seconds:.0f}", *ends, "-" if full is None else str(full), stayed)


def read_runs(archive: Path) -> list[Run]:
    """All runs of an archive with `…/DOMAIN/RUN/log.jsonl` and `config.json`, by name."""
    with tarfile.open(archive) as file:
        texts = {Path(member.name): read(file, member) for member in file if member.isfile()}
    logs = sorted(path for path in texts if path.name == "log.jsonl")
    return [make_run(path.parent, texts[path], texts[path.with_name("config.json")]) for path in logs]


def read(file: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    """Text of a file of an archive."""
    content = file.extractfile(member)
    assert content is not None
    return content.read().decode()


def make_run(folder: Path, log: str, config: str) -> Run:
    """The run of a log and a configuration."""
    entries = [json.loads(line) for line in log.splitlines()]
    checkpoints = [
        Checkpoint(
            entry["episode"],
            entry["solved"],
            entry["problems"],
            entry["larger_solved"],
            entry["larger_problems"],
            entry["actions"] + (entry["larger_actions"] or 0),
        )
        for entry in entries
        if entry["kind"] == "validation"
    ]
    episodes = max(entry["episode"] for entry in entries)
    seconds = max(entry["elapsed"] for entry in entries)
    planned = json.loads(config)["training"]["episodes"]
    return Run("/".join(folder.parts[-2:]), planned, episodes, seconds, tuple(checkpoints))


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table with these rows below its head."""
    head = ("run", "episodes", "seconds", "best", "last", "everything at", "and from there on")
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domains", nargs="*", help="domains to show (default: all)")
    parser.add_argument("--runs", type=Path, default=ARCHIVE, help="archive of the logs")
    options = parser.parse_args()
    runs = [run for run in read_runs(options.runs) if not options.domains or run.name.split("/")[0] in options.domains]
    print("\n".join(table(run.row() for run in runs)))


if __name__ == "__main__":
    main()
