"""Semantics against Fast Downward (extra `baselines`): random small tasks with formulas and derived predicates.

    python benchmarks/fast_downward.py [--tasks 100] [--states 20] [--seed 0]
    python benchmarks/fast_downward.py --plan DOMAIN PROBLEM PLAN

Fast Downward's translator grounds every task; the ground task is replayed here along random walks, next to ours. In
every state the applicable actions must have the same names. Fast Downward leaves out actions that never change
anything, so ours may have others, if they lead back to the same state. Every type has an object: Fast Downward takes
`(exists (?x - t) (and))` for true even if there is no object of type t. `--plan` replays a plan of ours in the ground
task. Ends with 1 if something differs.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.random_adl import random_adl_texts

import saltus
from saltus.lab.baselines.lama import find_driver
from saltus.lookahead import applicable_actions, successor_state

Fact = tuple[int, int]


@dataclass
class Operator:
    """A ground operator: effects are conditions, a variable and its value."""

    name: str
    condition: list[Fact]
    effects: list[tuple[list[Fact], int, int]]


@dataclass
class GroundTask:
    """A task as the translator writes it."""

    layers: list[int] = field(default_factory=list)
    default: list[int] = field(default_factory=list)
    """Initial values; of derived variables, the value without an axiom that says otherwise."""
    goal: list[Fact] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    axioms: list[tuple[list[Fact], int, int, int]] = field(default_factory=list)

    def completed(self, state: list[int]) -> list[int]:
        """The state with derived variables computed, layer by layer."""
        values = [self.default[i] if layer >= 0 else state[i] for i, layer in enumerate(self.layers)]
        for layer in sorted({layer for layer in self.layers if layer >= 0}):
            changed = True
            while changed:
                changed = False
                for condition, variable, old, new in self.axioms:
                    if self.layers[variable] == layer and values[variable] == old and holds(values, condition):
                        values[variable] = new
                        changed = True
        return values

    def applicable(self, state: list[int]) -> list[Operator]:
        """Applicable operators of a completed state; several may have the same name."""
        return [operator for operator in self.operators if holds(state, operator.condition)]

    def successor(self, state: list[int], operator: Operator) -> list[int]:
        """The completed state after an operator."""
        values = list(state)
        for condition, variable, value in operator.effects:
            if holds(state, condition):
                values[variable] = value
        return self.completed(values)


class UntranslatableError(Exception):
    """The translator refuses a task: it turns `forall` into a negated axiom, which recursion then must not cross."""


def holds(values: list[int], condition: list[Fact]) -> bool:
    """Whether all facts are true."""
    return all(values[variable] == value for variable, value in condition)


def translate(domain: Path, problem: Path, folder: Path) -> GroundTask:
    """The ground task of two files, with facts and variables that the goal does not need."""
    command = [sys.executable, str(find_driver()), "--translate", "--sas-file", str(folder / "output.sas")]
    command += [str(domain), str(problem), "--translate-options", "--keep-unimportant-variables"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UntranslatableError(done.stdout[-500:] + done.stderr[-500:])
    return read_ground((folder / "output.sas").read_text().splitlines())


def read_ground(lines: list[str]) -> GroundTask:
    """The ground task in the translator's output."""
    rest = iter(lines)
    task = GroundTask()

    def number() -> int:
        return int(next(rest))

    def facts() -> list[Fact]:
        return [pair(next(rest).split()) for _ in range(number())]

    def pair(words: list[str]) -> Fact:
        return int(words[0]), int(words[1])

    def skip(count: int) -> None:
        for _ in range(count):
            next(rest)

    skip(6)  # version and metric
    for _ in range(number()):
        skip(2)
        task.layers.append(number())
        skip(number() + 1)
    for _ in range(number()):  # mutex groups
        skip(1)
        skip(number() + 1)
    skip(1)
    task.default = [number() for _ in task.layers]
    skip(2)
    task.goal = facts()
    skip(1)
    for _ in range(number()):
        skip(1)
        operator = Operator(next(rest), facts(), [])
        for _ in range(number()):
            words = next(rest).split()
            count = int(words[0])
            condition = [pair(words[1 + 2 * i : 3 + 2 * i]) for i in range(count)]
            variable, before, after = map(int, words[1 + 2 * count :])
            if before >= 0:
                operator.condition.append((variable, before))
            operator.effects.append((condition, variable, after))
        skip(2)
        task.operators.append(operator)
    for _ in range(number()):
        skip(1)
        condition = facts()
        variable, old, new = map(int, next(rest).split())
        task.axioms.append((condition, variable, old, new))
        skip(1)
    return task


def with_simple_goal(texts: tuple[str, str]) -> tuple[str, str]:
    """The texts with a goal that one more action reaches, and an object for every type that has none.

    A task without a relaxed plan would not be grounded.
    """
    domain, problem = texts
    action = "(:action finish :parameters () :precondition (and) :effect (finished))"
    domain = domain.replace("(:predicates ", "(:requirements :adl :derived-predicates) (:predicates (finished) ")
    start = domain.index("(:requirements")
    end = domain.index(")", start) + 1
    head = domain.index("\n")
    domain = domain[:head] + domain[start:end] + domain[head:start] + domain[end:]
    before, objects, rest = re.split(r"\(:objects ([^)]*)\)", problem, maxsplit=1)
    types = re.findall(r"\bt\d+\b", domain[domain.index("(:types") : domain.index(")", domain.index("(:types"))])
    known = set(re.findall(r"- (t\d+)", objects))
    others = " ".join(f"e{name} - {name}" for name in sorted(set(types) - known))
    problem = f"{before}(:objects {objects} {others}){rest[: rest.index('(:goal')]}(:goal (finished)))"
    return f"{domain[: domain.rindex(')')]}\n{action})", problem


def compare(seed: int, states: int, folder: Path) -> tuple[int, int]:
    """Numbers of states and of actions compared along a random walk; raises an `AssertionError` if they differ."""
    files = folder / "domain.pddl", folder / "problem.pddl"
    for path, text in zip(files, with_simple_goal(random_adl_texts(seed)), strict=True):
        path.write_text(text)
    task, ground, rng = saltus.load(*files), translate(*files, folder), random.Random(seed)
    state, values = task.initial_state, ground.completed(ground.default)
    actions = 0
    for step in range(1, states + 1):
        ours = {task.action_name(action)[1:-1].strip(): action for action in applicable_actions(task, state)}
        theirs: dict[str, Operator] = {}
        for operator in ground.applicable(values):
            theirs.setdefault(operator.name.strip(), operator)
        assert theirs.keys() <= ours.keys(), f"seed {seed}: we lack {theirs.keys() - ours.keys()}"
        for name in ours.keys() - theirs.keys():
            assert successor_state(task, state, ours[name]) == state, f"seed {seed}: we alone have {name}"
        actions += len(ours)
        if not theirs:
            return step, actions
        name = rng.choice(sorted(theirs))
        state, values = successor_state(task, state, ours[name]), ground.successor(values, theirs[name])
    return states, actions


def replay(domain: Path, problem: Path, plan: Path, folder: Path) -> bool:
    """Whether the ground task accepts a plan."""
    ground = translate(domain.absolute(), problem.absolute(), folder)
    values = ground.completed(ground.default)
    for words in saltus.read_plan(plan).steps:
        found = [operator for operator in ground.applicable(values) if operator.name.split() == list(words)]
        if found:
            values = ground.successor(values, found[0])
        elif not any(operator.name.split() == list(words) for operator in ground.operators):
            print(f"({' '.join(words)}) is left out by the translator")
        else:
            print(f"({' '.join(words)}) is not applicable")
            return False
    return holds(values, ground.goal)


def main() -> int:
    """Prints what was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--states", type=int, default=20, help="most states per task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plan", nargs=3, type=Path, metavar=("DOMAIN", "PROBLEM", "PLAN"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if options.plan:
            accepted = replay(*options.plan, Path(place))
            print("accepted" if accepted else "not accepted")
            return int(not accepted)
        states = actions = failed = refused = 0
        for seed in range(options.seed, options.seed + options.tasks):
            try:
                found = compare(seed, options.states, Path(place))
                states, actions = states + found[0], actions + found[1]
            except AssertionError as error:
                failed += 1
                print(error)
            except UntranslatableError:
                refused += 1
        compared = options.tasks - refused
        print(f"{compared} tasks, {states:,} states, {actions:,} actions; {failed} tasks differ; {refused} refused")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
