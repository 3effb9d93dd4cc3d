"""Free moves that are found, as a Markdown table: in every domain that comes with Saltus, or in a folder of others.

    python benchmarks/free_moves.py
    python benchmarks/free_moves.py FOLDER

Of every domain one problem is looked at: a small generated one, or the first file next to (or below) `domain.pddl`. In
a folder only domains with free moves are listed, all versions of one (`-opt11-strips`, …) together; the last lines
count the others, and say which cannot be read.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from pathlib import Path

from saltus.domains.generated import generated_task
from saltus.domains.registry import DOMAINS
from saltus.errors import SaltusError
from saltus.lookahead.free_groups import candidates, located_groups
from saltus.lookahead.free_moves import find_free_moves
from saltus.task import Task, load

TITLES = ("whereabouts", "free moves", "others may block")
VERSION = re.compile(r"-(opt|sat|mco|agl)?\d\d(-(strips|adl))?$")


def groups(task: Task) -> Iterator[tuple[str, int]]:
    """Cells of the table and number of agents, for every group of agents."""
    moves = find_free_moves(task)
    if moves is None:
        return
    for group, agents in zip(moves.groups, moves.agents(task, task.initial_state), strict=True):
        arguments = ["place" if i == group.place else "agent" for i in range(len(group.objects))]
        whereabouts = " ".join([task.domain.predicates[group.predicate].name, *arguments])
        schemas = ", ".join(f"`{task.schemas[move.schema].name}`" for move in group.moves)
        blocked = "yes" if group.blocked_by_others else "no"
        yield f"`({whereabouts})` | {schemas} | {blocked}", len(agents)


def print_row(*cells: object) -> None:
    """Prints a row of the table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_generated() -> None:
    """Prints the table of the domains that come with Saltus."""
    print_row("domain", *TITLES, "agents")
    print_row(*["---"] * 5)
    for name in DOMAINS:
        found = list(groups(generated_task(name, "training", 4, 10, 3)))
        for cells, agents in found:
            print_row(name, cells, agents)
        if not found:
            print_row(name, "none", "", "", "")


def print_folder(folder: Path) -> None:
    """Prints the table of a folder of domains."""
    versions: dict[tuple[str, str], int] = {}
    without, unread, refused, seconds = 0, [], [], 0.0
    for domain in sorted(folder.glob("*/domain.pddl")):
        name = domain.parent.name
        try:
            task = load(domain, first_problem(domain))
        except SaltusError:
            unread.append(name)
            continue
        start = time.perf_counter()
        found = list(groups(task))
        seconds += time.perf_counter() - start
        without += not found
        if len(located_groups(task)) > len(candidates(task)):
            refused.append(name)
        for cells, _ in found:
            key = VERSION.sub("", name), cells
            versions[key] = versions.get(key, 0) + 1
    print_row("domain", *TITLES, "folders")
    print_row(*["---"] * 5)
    for (name, cells), count in versions.items():
        print_row(name, cells, count)
    print(f"\nNone in {without} others; {len(unread)} cannot be read: {', '.join(unread)}.")
    print(f"Agents whose places matter otherwise than to actions that need them there: {', '.join(refused) or 'none'}.")
    print(f"Finding them took {seconds:.1f} s.")


def first_problem(domain: Path) -> Path:
    """The first problem file next to a domain file, or below."""
    files = sorted(path for path in domain.parent.rglob("*.pddl") if "domain" not in path.name)
    if not files:
        raise SaltusError(f"{domain.parent}: no problem")
    return files[0]


def main() -> None:
    """Prints the table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    folder: Path | None = parser.parse_args().folder
    if folder is None:
        print_generated()
    else:
        print_folder(folder)


if __name__ == "__main__":
    main()
