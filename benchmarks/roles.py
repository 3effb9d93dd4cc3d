"""What representatives of roles (`play.roles`) change and save, as Markdown tables.

    python benchmarks/roles.py scale
    python benchmarks/roles.py scale --policy RUN/policy.safetensors --roles 4 --balls 400 4000 40000
    python benchmarks/roles.py decisions --policies childsnack spanner --seconds 20

`scale` plays gripper: one robot with two hands takes all balls to the other room. Time per jump is CPU time over the
first jumps, by number of balls, with and without roles; without, only up to `--plain` balls. A policy must have been
learned for the classic gripper domain, which this script holds; goal-count fits every domain. `--plot FILE` also draws
the times (extra `plot`).

`decisions` plays generated problems of the bundled policies' domains: validation problems, and larger ones. Along the
rollout without roles, every decision is made again with K representatives; it counts as changed if the actions of the
jump differ by more than objects of the same colour. Then the policy plays with K representatives. Actions are those of
problems that all settings solve.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from saltus.domains.generated import generated_task, larger_problems
from saltus.lookahead import LookaheadTree, find_colours
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.policy import Ending, Planner, Rollout, load_policy, play
from saltus.policy.catalogue import bundled_policies
from saltus.task import Split, Task, build_task

GRIPPER = """
(define (domain gripper-strips)
  (:predicates (room ?r) (ball ?b) (gripper ?g) (at-robby ?r) (at ?b ?r) (free ?g) (carry ?o ?g))
  (:action move :parameters (?from ?to) :precondition (and (room ?from) (room ?to) (at-robby ?from))
    :effect (and (at-robby ?to) (not (at-robby ?from))))
  (:action pick :parameters (?obj ?room ?gripper)
    :precondition (and (ball ?obj) (room ?room) (gripper ?gripper) (at ?obj ?room) (at-robby ?room) (free ?gripper))
    :effect (and (carry ?obj ?gripper) (not (at ?obj ?room)) (not (free ?gripper))))
  (:action drop :parameters (?obj ?room ?gripper)
    :precondition (and (ball ?obj) (room ?room) (gripper ?gripper) (carry ?obj ?gripper) (at-robby ?room))
    :effect (and (at ?obj ?room) (free ?gripper) (not (carry ?obj ?gripper)))))
"""

VALIDATION = 3
"""Validation problems per domain."""
LARGER = ((2.0, 4.0), (5.0, 10.0))
"""Least and greatest size of a larger problem, as a multiple of the largest validation problem."""


def gripper(balls: int) -> Task:
    """All balls are in one room and belong in the other."""
    names = [f"ball{i}" for i in range(1, balls + 1)]
    text = "\n".join(
        (
            f"(define (problem gripper) (:domain gripper-strips) (:objects a b left right {' '.join(names)})",
            "(:init (room a) (room b) (gripper left) (gripper right) (free left) (free right) (at-robby a)",
            *(f"(ball {name}) (at {name} a)" for name in names),
            ") (:goal (and",
            *(f"(at {name} b)" for name in names),
            ")))",
        )
    )
    domain = parse_domain(Source.from_bytes(GRIPPER.encode(), "gripper"))
    return build_task(domain, parse_problem(Source.from_bytes(text.encode(), "problem"), domain))


# -- scale -----------------------------------------------------------------------------------------------------------


def per_jump(policy: Planner, task: Task, jumps: int) -> tuple[float, int]:
    """Milliseconds per jump of a rollout after the first one, which makes indices, and states of the largest tree."""
    rollout = play(policy, task)
    largest = 0
    start = 0.0
    while rollout.ending is None and rollout.jumps <= jumps:
        decision = policy.decide([rollout.situation])[0]
        rollout.advance(decision)
        largest = max(largest, len(decision.tree))
        start = start or time.process_time()
    return 1000 * (time.process_time() - start) / max(1, rollout.jumps - 1), largest


def scale(options: argparse.Namespace) -> None:
    """Prints a row per number of balls."""
    policy = load_policy(options.policy, device="cpu")
    policy.threads = 1  # type: ignore[attr-defined]
    plain = replace(policy.play_spec, dead_ends=True) if options.dead_ends else policy.play_spec
    points: dict[int | None, list[tuple[int, float]]] = {options.roles: [], None: []}
    print("| balls | read, s | ms per jump | states | without roles: ms per jump | states |\n|---|---|---|---|---|---|")
    for balls in options.balls:
        start = time.process_time()
        task = gripper(balls)
        read = time.process_time() - start
        cells: list[str] = []
        for roles, jumps in ((options.roles, options.jumps), (None, max(2, options.jumps // 50))):
            if roles is None and balls > options.plain:
                cells += ["", ""]
                continue
            policy.play_spec = replace(plain, roles=roles)
            milliseconds, states = per_jump(policy, task, jumps)
            points[roles].append((balls, milliseconds))
            cells += [f"{milliseconds:.2f}", f"{states:,}"]
        print(f"| {balls:,} | {read:.2f} | {' | '.join(cells)} |", flush=True)
    if options.plot:
        draw(points, options.plot)


def draw(points: Mapping[int | None, Sequence[tuple[int, float]]], path: Path) -> None:
    """Writes a plot of the times per jump over the number of balls; both axes are logarithmic."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    for (roles, series), mark in zip(points.items(), "os", strict=True):
        if not series:
            continue
        balls, milliseconds = zip(*series, strict=True)
        name = "without roles" if roles is None else f"with roles: {roles} objects of each shown"
        axes.plot(balls, milliseconds, marker=mark, label=name)
    axes.set(xscale="log", yscale="log", xlabel="balls", ylabel="CPU time per jump, ms")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


# -- decisions -------------------------------------------------------------------------------------------------------


@dataclass
class Count:
    """What a policy does with some number of representatives."""

    decisions: int = 0
    changed: int = 0
    shown: float = 0.0
    """Sum over decisions: share of objects that are shown."""
    jumps: int = 0
    seconds: float = 0.0
    lengths: list[int | None] = field(default_factory=list)
    """Actions of every problem's plan; None if it was not solved in time."""


def first_jump(policy: Planner, rollout: Rollout) -> tuple[LookaheadTree, int | None]:
    """The policy's tree at the state of a rollout, and the node that the rollout would jump to."""
    other = play(policy, rollout.task)
    other.state, other.admissible.visited = rollout.state, rollout.admissible.visited
    decision = policy.decide([other.situation])[0]
    step = other.advance(decision)
    return decision.tree, None if step is None else step.node


def signature(tree: LookaheadTree, node: int | None) -> object:
    """The actions of a jump, with objects by their colours."""
    if node is None:
        return None
    colours = find_colours(tree.task, tree.root, tree.goal).tolist()
    return [(action.schema, [colours[i] for i in action.arguments]) for action in tree.path_to(node)]


def play_through(policy: Planner, task: Task, seconds: float, count: Count, others: Mapping[int, Count]) -> None:
    """Plays a rollout for some time and counts it; every decision is made again with other numbers of roles."""
    plain = policy.play_spec
    rollout = play(policy, task)
    spent = 0.0
    length = 0
    while rollout.ending is None and spent < seconds:
        start = time.process_time()
        decision = policy.decide([rollout.situation])[0]
        spent += time.process_time() - start
        found: dict[int, tuple[LookaheadTree, int | None]] = {}
        for roles in others:
            policy.play_spec = replace(plain, roles=roles)
            found[roles] = first_jump(policy, rollout)
        policy.play_spec = plain
        start = time.process_time()
        step = rollout.advance(decision)
        spent += time.process_time() - start
        length += 0 if step is None else int(step.tree.length[step.node])
        for roles, other in others.items():
            own = signature(decision.tree, None if step is None else step.node)
            other.decisions += 1
            other.changed += signature(*found[roles]) != own
            other.shown += len(found[roles][0].encoded.task.objects) / len(task.objects)
    count.seconds += spent
    count.jumps += rollout.jumps
    count.lengths.append(length if rollout.ending is Ending.SOLVED else None)


def problems(name: str) -> list[Task]:
    """Validation problems of a domain, and larger ones."""
    tasks = [generated_task(name, Split.VALIDATION, index, VALIDATION, seed=5) for index in range(VALIDATION)]
    most = max(len(task.objects) for task in tasks)
    larger = [larger_problems(tasks[0].domain, most, 1, seed=5, least=low, most=high) for low, high in LARGER]
    return [*tasks, *(task for part in larger for task in part)]


def compare(name: str, numbers: Sequence[int], seconds: float) -> None:
    """Prints a row per number of representatives."""
    policy = load_policy(name, device="cpu")
    policy.threads = 1  # type: ignore[attr-defined]
    plain = policy.play_spec
    counts: dict[int | None, Count] = {roles: Count() for roles in (None, *numbers)}
    tasks = problems(name)
    for task in tasks:
        policy.play_spec = plain
        play_through(policy, task, seconds, counts[None], {roles: counts[roles] for roles in numbers})
        for roles in numbers:
            policy.play_spec = replace(plain, roles=roles)
            play_through(policy, task, seconds, counts[roles], {})
    common = [i for i in range(len(tasks)) if all(count.lengths[i] is not None for count in counts.values())]
    for roles, count in counts.items():
        solved = sum(length is not None for length in count.lengths)
        changed = f"{count.changed / max(1, count.decisions):.1%}" if roles else ""
        shown = f"{count.shown / max(1, count.decisions):.0%}" if roles else ""
        length = sum(count.lengths[i] or 0 for i in common)
        milliseconds = 1000 * count.seconds / max(1, count.jumps)
        cells = (
            name,
            roles or "all",
            shown,
            changed,
            f"{solved} of {len(tasks)}",
            f"{length:,}",
            f"{count.jumps:,}",
            f"{milliseconds:.1f}",
        )
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Prints one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    scaling = commands.add_parser("scale")
    scaling.add_argument("--policy", default="goal-count")
    scaling.add_argument("--roles", type=int, default=4)
    scaling.add_argument("--balls", type=int, nargs="+", default=[50, 500, 5_000, 50_000])
    scaling.add_argument("--plain", type=int, default=5_000, help="most balls without roles")
    scaling.add_argument("--jumps", type=int, default=300)
    scaling.add_argument("--dead-ends", action="store_true", help="test every jump by the delete relaxation")
    scaling.add_argument("--plot", type=Path, help="file for a plot of the times, such as scale.png")
    scaling.set_defaults(run=scale)
    deciding = commands.add_parser("decisions")
    deciding.add_argument("--policies", nargs="+", choices=list(bundled_policies()), default=list(bundled_policies()))
    deciding.add_argument("--roles", type=int, nargs="+", default=[2, 4, 8, 16])
    deciding.add_argument("--seconds", type=float, default=10.0, help="CPU time per rollout")
    deciding.set_defaults(run=decisions)
    options = parser.parse_args()
    options.run(options)


def decisions(options: argparse.Namespace) -> None:
    """Prints the rows of all policies."""
    titles = ("policy", "K", "objects shown", "changed", "solved", "actions", "jumps", "ms per jump")
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}", flush=True)
    for name in options.policies:
        compare(name, options.roles, options.seconds)


if __name__ == "__main__":
    main()
