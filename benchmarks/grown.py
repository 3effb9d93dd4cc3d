"""Problems grown from a few given ones, judged by rules, by LAMA and by the generator's problems: a Markdown table.

    python benchmarks/grown.py [DOMAIN …] [--count 20] [--times 4] [--seconds 20] [--jobs 2] [--seed 0]
    python benchmarks/grown.py --folder FOLDER …
    python benchmarks/grown.py --generator [DOMAIN …]

For every domain, 30 training problems of its generator (or those of a folder) are given; `--count` problems of up to
`--times` the objects are asked for. Columns:

- made: problems made, of those asked for; objects: of the largest given and of the largest made problem;
- well formed: share of the made ones without a fault (`tests/domains/checks`);
- solved: by LAMA's first iteration in `--seconds`: share of the well formed, of all made, and of the generator's;
- off by: how far they are from the generator's problems of the same sizes, as factors; 1 means the same. "objects" is
  the geometric mean over kinds (type and static unary predicates) of the ratio of their shares, the larger over the
  smaller; "atoms" the same over predicates, in initial states and goals, of atoms per object; "plan" the ratio of
  LAMA's actions per goal;
- seconds: of learning from the given problems and making the new ones.

Faults and the ends of failed searches follow the table. `--generator` takes the generator's problems of another seed in
place of grown ones: what the columns say where there is no difference but chance.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.domains.checks import CHECKED, check_problem

from saltus.domains.generated import find_domain, generated_task
from saltus.domains.registry import DOMAINS
from saltus.grow import Grower, problem_text
from saltus.lab.baselines.lama import LamaJob
from saltus.pddl import Domain
from saltus.pddl.writer import write_domain
from saltus.policy.outcome import Limits, Outcome
from saltus.process import LocalRunner
from saltus.task import Split, Task, find_suite, load

GIVEN = 30
"""Problems of the training split."""
PROBES = 30
"""Problems of a split that are looked at to find some of given sizes."""
MEMORY_MB = 4000
TITLES = (
    *("domain", "made", "objects", "well formed", "solved of these", "of all", "of the generator's"),
    *("off by: objects", "atoms", "plan", "seconds"),
)

Maker = Callable[[str | None, Domain, Sequence[Task], int, float, int], list[Task]]


def grow(name: str | None, domain: Domain, given: Sequence[Task], count: int, times: float, seed: int) -> list[Task]:
    """Problems grown from the given ones."""
    return Grower(domain, given, seed).grow(count, times)


def generate(
    name: str | None, domain: Domain, given: Sequence[Task], count: int, times: float, seed: int
) -> list[Task]:
    """Problems of the generator in the place of grown ones."""
    largest = max(len(task.objects) for task in given)
    sizes = [round(largest * times * (1 + i / max(1, count - 1)) / 2) for i in range(count)]
    return peers(name, domain, sizes, seed + 1000) if name is not None else []


@dataclass(frozen=True)
class Solved:
    """What LAMA made of some problems."""

    outcomes: list[Outcome]
    details: list[str]
    lengths: list[int | None]
    """Actions of each plan; None where there is none."""

    def share(self, chosen: Sequence[bool] | None = None) -> str:
        """Share of solved problems among the chosen ones (default: all)."""
        solved = [length is not None for length in self.lengths]
        return percent([one for i, one in enumerate(solved) if chosen is None or chosen[i]])


def percent(hits: Sequence[bool]) -> str:
    """Share of what is true."""
    return f"{100 * sum(hits) / len(hits):.0f} %" if hits else "-"


def solve(tasks: Sequence[Task], seconds: float, parallel: int) -> Solved:
    """LAMA's first iteration on every task; nothing if it has no time."""
    if not seconds:
        return Solved([], [], [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = []
        for number, task in enumerate(tasks):
            domain, problem = folder / f"domain{number}.pddl", folder / f"p{number}.pddl"
            domain.write_text(write_domain(task.domain))
            problem.write_text(problem_text(task))
            limits = Limits(seconds=seconds, memory_mb=MEMORY_MB)
            jobs.append(LamaJob(str(domain), str(problem), limits=limits))
        results = {ended.number: ended.result for ended in LocalRunner(parallel).run(jobs)}
    ordered = [results[number] for number in range(len(tasks))]
    return Solved(
        [result.outcome for result in ordered],
        [result.detail for result in ordered],
        [None if result.plan is None else len(result.plan.steps) for result in ordered],
    )


# -- distance to the generator's problems --------------------------------------------------------------------------


def peers(name: str, domain: Domain, sizes: Sequence[int], seed: int) -> list[Task]:
    """For each number of objects the generator's problem next to it, each problem once."""
    pool: list[Task] = []
    for split in Split:
        if split not in DOMAINS[name].splits:
            continue
        for index in range(PROBES):
            task = generated_task(name, split, index, PROBES, seed + 2000, domain=domain)
            if len(task.objects) > 1.25 * max(sizes):
                break
            pool.append(task)
    chosen: list[Task] = []
    for size in sorted(sizes, reverse=True):
        if pool:
            nearest = min(pool, key=lambda task: abs(len(task.objects) - size))
            pool.remove(nearest)
            chosen.append(nearest)
    return chosen[::-1]


def kinds(task: Task) -> Counter[str]:
    """Objects of every kind: type and static unary predicates."""
    names = [task.types[number] for number in task.object_type.tolist()]
    for number, rows in enumerate(task.static_atoms):
        if task.arity[number] == 1:
            for (one,) in rows.tolist():
                names[one] += f" {task.domain.predicates[number].name}"
    return Counter(names)


def atoms(task: Task) -> Counter[str]:
    """Initial atoms and goals of every predicate."""
    predicates = [entry.name for entry in task.domain.predicates]
    found = Counter({name: len(rows) for name, rows in zip(predicates, task.static_atoms, strict=True) if len(rows)})
    found.update(predicates[task.decode(code)[0]] for code in task.initial_state)
    for sign, codes in (("goal", task.goal.positive), ("goal not", task.goal.negative)):
        found.update(f"{sign} {predicates[task.decode(code)[0]]}" for code in codes.tolist())
    return found


def off_by(figure: Callable[[Task], Counter[str]], made: Sequence[Task], others: Sequence[Task]) -> str:
    """Mean factor between the figures of two sets of tasks, each per object."""
    if not made or not others:
        return "-"
    half = 0.5 / statistics.mean(len(task.objects) for task in (*made, *others))  # keeps ratios of nothing finite
    means = [
        {key: total / len(tasks) for key, total in _sum_of_shares(figure, tasks).items()} for tasks in (made, others)
    ]
    keys = means[0].keys() | means[1].keys()
    logs = [abs(math.log((means[0].get(key, 0.0) + half) / (means[1].get(key, 0.0) + half))) for key in keys]
    return f"{math.exp(statistics.mean(logs)):.2f}"


def _sum_of_shares(figure: Callable[[Task], Counter[str]], tasks: Sequence[Task]) -> dict[str, float]:
    total: dict[str, float] = {}
    for task in tasks:
        for key, number in figure(task).items():
            total[key] = total.get(key, 0.0) + number / len(task.objects)
    return total


def off_by_plans(made: Sequence[Task], solved: Solved, others: Sequence[Task], reference: Solved) -> str:
    """Factor between the mean numbers of actions per goal."""
    means = []
    for tasks, found in ((made, solved), (others, reference)):
        ratios = [
            length / len(task.goal.positive)
            for task, length in zip(tasks, found.lengths, strict=bool(found.lengths))
            if length is not None and len(task.goal.positive)
        ]
        means.append(statistics.mean(ratios) if ratios else 0.0)
    return f"{math.exp(abs(math.log(means[0] / means[1]))):.2f}" if all(means) else "-"


# -- the table -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    make: Maker
    count: int
    times: float
    seconds: float
    jobs: int
    seed: int


def measure(title: str, name: str | None, domain: Domain, given: Sequence[Task], options: Options) -> list[str]:
    """Prints a row; returns lines about faults. `name` is that of the registered domain, if there is one."""
    start = time.perf_counter()
    made = options.make(name, domain, given, options.count, options.times, options.seed)
    seconds = time.perf_counter() - start
    faults = [check_problem(name, task) for task in made] if name in CHECKED and name is not None else None
    fine = [not found for found in faults] if faults is not None else [True] * len(made)
    sizes = [len(task.objects) for task in made]
    others = peers(name, domain, sizes, options.seed) if name is not None and made else []
    solved = solve(made, options.seconds, options.jobs)
    reference = solve(others, options.seconds, options.jobs)
    cells = [
        title,
        f"{len(made)} of {options.count}",
        f"{max(len(task.objects) for task in given)} → {max(sizes, default=0)}",
        percent(fine) if faults is not None else "-",
        solved.share(fine),
        solved.share(),
        reference.share(),
        off_by(kinds, made, others),
        off_by(atoms, made, others),
        off_by_plans(made, solved, others, reference),
        f"{seconds:.1f}",
    ]
    print(f"| {' | '.join(cells)} |", flush=True)
    return [*described_faults(title, made, faults or []), *described_failures(title, solved)]


def described_faults(title: str, made: Sequence[Task], faults: Sequence[Sequence[str]]) -> list[str]:
    """Kinds of faults, with names of objects left out, the number of problems that have them, and an example."""
    found: dict[str, list[str]] = {}
    for task, sentences in zip(made, faults, strict=bool(faults)):
        known = set(task.objects)
        alike = {
            " ".join("…" if word.strip(",()") in known else word for word in one.split()): one for one in sentences
        }
        for shape, sentence in alike.items():
            found.setdefault(shape, []).append(sentence)
    ordered = sorted(found.values(), key=len, reverse=True)[:5]
    return [f"- {title}: {len(sentences)} of {len(made)}: {sentences[0]}" for sentences in ordered]


def described_failures(title: str, solved: Solved) -> list[str]:
    """How searches without a plan ended."""
    ends = zip(solved.outcomes, solved.details, solved.lengths, strict=True)
    failed = Counter(f"{outcome} {detail}".strip() for outcome, detail, length in ends if length is None)
    return [f"- {title}: LAMA, {number} of {len(solved.lengths)}: {text}" for text, number in failed.most_common()]


def given_problems(folder: Path) -> tuple[Domain, list[Task]]:
    """Domain and training problems of a folder."""
    suite = find_suite(folder)
    first, *rest = suite.splits[Split.TRAINING]
    task = load(suite.domain, first)
    return task.domain, [task, *(load(task.domain, path) for path in rest)]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", nargs="*", metavar="DOMAIN", help="registered domains (default: all with rules)")
    parser.add_argument("--folder", type=Path, action="append", help="training problems of a folder instead")
    parser.add_argument("--generator", action="store_true", help="the generator's problems in place of grown ones")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--times", type=float, default=4.0)
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of LAMA per problem; 0: no LAMA")
    parser.add_argument("--jobs", type=int, default=1, help="problems that LAMA solves in parallel")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    for name in chosen.domain:
        if name not in DOMAINS:
            parser.error(f"unknown domain {name!r}; expected some of {', '.join(DOMAINS)}")
    make = generate if chosen.generator else grow
    options = Options(make, chosen.count, chosen.times, chosen.seconds, chosen.jobs, chosen.seed)
    print(f"| {' | '.join(TITLES)} |\n|{'---|' * len(TITLES)}")
    lines: list[str] = []
    for folder in chosen.folder or ():
        domain, given = given_problems(folder)
        lines += measure(folder.resolve().name, find_domain(domain), domain, given, options)
    for name in chosen.domain or (() if chosen.folder else CHECKED):
        given = [generated_task(name, Split.TRAINING, index, GIVEN, options.seed) for index in range(GIVEN)]
        lines += measure(name, name, given[0].domain, given, options)
    print("\n".join(["", *lines]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
