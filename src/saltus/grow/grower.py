"""Stage `grow`: new problems from given ones, without a generator: larger ones, and others of the same size.

Takes the tasks of one domain. A given problem is the base; its lattices are stretched (`stretch.py`) and its objects
are copied (`insert.py`) until the kinds that vary between the given problems have grown by a common factor. What a made
problem must not break is learned from the given ones (`rules.py`). Its goal is shown to be reachable by a plan
(`goals.py`, `plans.py`), unless problems are wanted of which that need not be known (`unproven`).
Everything random comes from one seed; effort is bounded by counts, never by time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saltus.errors import InputError, UnsupportedError
from saltus.grow.costs import costs_are_known
from saltus.grow.draft import Draft, Relations, substituted
from saltus.grow.goals import Reached, drop_unreachable_goals, goal_of_state, walk
from saltus.grow.insert import Inserter
from saltus.grow.join import can_join, join
from saltus.grow.plans import Check, PlanFinder
from saltus.grow.rules import Rules
from saltus.grow.stretch import stretch, stretchable_kinds
from saltus.grow.values import ENOUGH_GIVEN, SAMPLED, TRIES
from saltus.grow.ways import Mode, Way, Ways
from saltus.lookahead.actions import is_dead_end, random_action, successor_state
from saltus.pddl import Domain
from saltus.policy.planning import plan_of
from saltus.task import Action, Task, validate

WALKED_ACTIONS = 60
"""Random actions of a walk in a given problem, to see which atoms an object may have more than once."""

MOST_GROWTH = 2.0
"""Largest growth of single kinds, as a multiple of that of the whole problem."""

JUMPS = 8
"""Most jumps of a walk that shakes an initial state."""


@dataclass(frozen=True)
class Grown:
    """A made problem and a plan for it."""

    task: Task
    base: str
    """Name of the given problem it was made from."""
    goal: str
    """patterned: the goal was copied with the objects, and a search found the plan; joined: goals of several problems,
    whose plans follow each other; reached: the goal is taken from a state that was reached."""
    plan: tuple[Action, ...]


class Grower:
    """Makes problems like the given ones."""

    def __init__(self, domain: Domain, tasks: Sequence[Task], seed: int = 0) -> None:
        if not tasks:
            raise InputError("no problems to grow others from")
        given_file = tasks[0].problem.file
        tasks = [task for task in tasks if not task.has_derived_goals]
        if not tasks:
            raise UnsupportedError(f"{given_file}: growing from a goal that is no conjunction of literals")
        self.domain = domain
        self.tasks = sorted(tasks, key=lambda task: len(task.objects))
        self.rng = random.Random(seed)
        self.relations = Relations(tasks[0])
        given = self.tasks[-ENOUGH_GIVEN:]
        self.drafts = [Draft(self.relations, task) for task in given]
        walked = list(self._walked(given[-1 :: -max(1, len(given) // SAMPLED)][:SAMPLED]))
        self.rules = Rules(self.relations, self.drafts, walked)
        self.lattices = stretchable_kinds(self.drafts, self.rules)
        """Sets of kinds whose objects are the cells of a map."""
        self.without_plan = 0
        """Problems dropped because no goal was known to be reachable."""
        self.ways = Ways(self.rules.varying)
        """What the next problem is made by."""
        self._plans = PlanFinder(self.relations, self.drafts, self.rng)
        self._number = 0
        self._goals_vary = len({len(draft.goal_atoms()) for draft in self.drafts}) > 1
        self._can_join: bool | None = None
        self._costs_matter: bool | None = None

    def _walked(self, tasks: Sequence[Task]) -> Iterator[Draft]:
        for task in tasks:
            state = task.initial_state
            for step in range(WALKED_ACTIONS):
                action = random_action(task, state, self.rng)
                if action is None:
                    break
                state = successor_state(task, state, action)
                if step % 4 == 3:
                    draft = Draft(self.relations, task)
                    draft.set_initial(task, state)
                    yield draft

    # -- what is asked for -------------------------------------------------------------------------------------------

    def grow(self, count: int, times: float = 4.0, check: Check = lambda: None) -> list[Task]:
        """Up to `count` tasks with between times/2 and `times` times the objects of the largest given task, and always
        more than it, smallest first; with `times` 1, others of the given sizes. There may be fewer, even none. Where
        too few of this size can be made, the others are smaller. All are solvable.
        """
        made = self.problems(count, times, check)
        return sorted((entry.task for entry in made), key=lambda task: len(task.objects))

    def problems(self, count: int, times: float = 4.0, check: Check = lambda: None) -> Iterator[Grown]:
        """The problems of `grow` as they are made, with their plans."""
        made = 0
        largest = len(self.drafts[-1])
        self.ways = Ways(self.ways.first.kinds)
        for times_, least in _sizes(times):
            for attempt in range(count):
                if made == count:
                    return
                share = (attempt + self.rng.random()) / count
                target = round(largest * (least + (times_ - least) * share))
                found = self._grown(max(target, largest + 1 if times > 1 else 2), times, attempt, check)
                if found is not None:
                    made += 1
                    yield found

    def unproven(self, sizes: Sequence[int], check: Check = lambda: None) -> Iterator[Task]:
        """A task of about each of these numbers of objects, where one can be made, with goals that nobody has reached.

        They are copied with the objects, and can be reached if nothing becomes false; where no try makes such goals,
        they are taken from a state that was reached. This takes far less time than `problems`, which looks for plans.
        """
        self.ways = Ways(self.ways.first.kinds)
        for size in sizes:
            found: Task | None = None
            for _ in range(TRIES):
                made = self._unproven(size, check)
                if made is None:
                    continue
                task, is_bad = made
                if not is_bad:
                    found = task
                    break
                found = found or self._with_reached_goal(task, check)
            if found is not None:
                yield found

    def _unproven(self, size: int, check: Check) -> tuple[Task, bool] | None:
        """A larger task whose goals are copied, and whether they are no good: true from the beginning, or out of reach
        even if nothing becomes false; None if none could be made."""
        bases = [draft for draft in self.drafts if len(draft) < size]
        if not bases:
            return None
        pool, way = bases[-max(1, len(bases) // 2) :], self.ways.draw(self.rng)
        if way.mode is Mode.JOINED:
            joined = self._join(pool, size)
            draft = joined[0] if joined is not None else self.drafts[-1]
        else:
            draft = self.rng.choice(pool).copy()
            self.enlarge(draft, size, check, way)
        if len(draft) <= len(self.drafts[-1]):
            self.ways.learn(way, proven=False)
            return None
        task = self._named(draft)
        if not self._has_costs(task, check):
            self.ways.learn(way, proven=False)
            return None
        if way == self.ways.first and drop_unreachable_goals(draft, self.rules, task):
            task = draft.to_task(task.name)
        state = task.initial_state
        is_bad = task.goal.holds(state) or is_dead_end(task, state, task.goal)
        self.ways.learn(way, proven=not is_bad)
        return task, is_bad

    def _with_reached_goal(self, task: Task, check: Check) -> Task | None:
        """The task with a goal of the same shape that a walk came by; None if it came by none."""
        draft = Draft(self.relations, task)
        for reached in reversed(walk(task, self.rng, JUMPS, check)):
            goal = goal_of_state(draft, self.rules, task, reached.state, self.rng)
            if goal is not None:
                draft.set_goal(goal)
                return draft.to_task(task.name)
        return None

    def _varied(self, check: Check) -> Grown | None:
        """A given problem with another initial state or goal; None if this try failed."""
        draft = self.rng.choice(self.drafts).copy()
        shaken = self._shake(draft, check)
        return self._finished(draft, check) if self._exchange(draft) or shaken else None

    # -- one problem -------------------------------------------------------------------------------------------------

    def _grown(self, target: int, times: float, attempt: int, check: Check) -> Grown | None:
        smaller = [draft for draft in self.drafts if len(draft) < target]
        if not smaller:
            return self._varied(check) if times <= 1 else None
        way = self.ways.draw(self.rng)
        found = self._made(way, smaller, target, times, attempt, check)
        self.ways.learn(way, proven=found is not None)
        return found

    def _made(
        self, way: Way, smaller: Sequence[Draft], target: int, times: float, attempt: int, check: Check
    ) -> Grown | None:
        """A problem made in some way from one of the smaller given ones; None if this try failed."""
        pool = smaller[-max(1, len(smaller) // 2) :] if times > 1 else smaller
        if way.mode is Mode.JOINED:
            return self._joined(pool, target, check)
        base = self.rng.choice(pool)
        draft = base.copy()
        self.enlarge(draft, target, check, way)
        if len(draft) <= (len(self.drafts[-1]) if times > 1 else len(base)):
            return None
        if way != self.ways.first and self._goals_vary and len(draft.goal_atoms()) <= len(base.goal_atoms()):
            return None  # larger, but no more to do
        if attempt % 2:
            self._shake(draft, check)
        return self._finished(draft, check, strict=way != self.ways.first)

    def _joined(self, pool: Sequence[Draft], target: int, check: Check) -> Grown | None:
        """Given problems joined into one of at most `target` objects; None if no two could be joined.

        Their plans, one after the other, are a plan unless they need the same thing in different places.
        """
        joined = self._join(pool, target)
        if joined is None or len(joined[0]) <= len(self.drafts[-1]):
            return None
        draft, parts = joined
        task = self._named(draft)
        if not self._has_costs(task, check):
            return None
        actions: list[Action] = []
        for part, mapping in parts:
            actions += [
                Action(action.schema, tuple(mapping[number] for number in action.arguments))
                for action in self._plans.of_given(part, check)
            ]
        if not task.goal.holds(task.initial_state) and validate(task, plan_of(task, actions)).valid:
            return Grown(task, draft.task.name, "joined", tuple(actions))
        return self._finished(draft, check, strict=True)

    def _join(self, pool: Sequence[Draft], target: int) -> tuple[Draft, list[tuple[Draft, dict[int, int]]]] | None:
        """Given problems joined into one of at most `target` objects, and what each object of each of them became; None
        if problems of this domain cannot be joined."""
        if self._can_join is None:
            self._can_join = can_join(self.drafts, self.rules, self.lattices)
        if not self._can_join:
            return None
        first = self.rng.choice(pool)
        draft = first.copy()
        parts = [(first, {number: number for number in range(len(first))})]
        for _ in range(2 * target // max(1, len(self.drafts[0]))):
            other = self.rng.choice(self.drafts)
            mapping = join(draft, other, self.rules) if len(draft) + len(other) <= target else None
            if mapping is not None:
                parts.append((other, mapping))
        return draft, parts

    def given_plan(self, task: Task, check: Check = lambda: None) -> tuple[Action, ...]:
        """A plan for a given problem; empty if bounded searches find none."""
        return self._plans.of_task(task, check)

    def enlarge(self, draft: Draft, target: int, check: Check = lambda: None, way: Way | None = None) -> None:
        """Adds objects until there are about `target`, or no more can be added.

        Where only some kinds grow, they do not get more than `MOST_GROWTH` times as many as if all did.
        """
        way = way or self.ways.first
        varying = [kind for kind in sorted(way.kinds) if kind in draft.kind]
        counts = {kind: draft.kind.count(kind) for kind in varying}
        fixed = len(draft) - sum(counts.values())
        factor = (target - fixed) / max(1, sum(counts.values()))
        if way != self.ways.first:
            factor = min(factor, MOST_GROWTH * target / max(1, len(draft)))
        goals = {kind: round(count * factor) for kind, count in counts.items()}
        inserter = Inserter(self.rules, self.rng, check, groups=way.mode is Mode.GROUPS)
        for kinds in self.lattices:
            wanted = sum(goals.pop(kind, counts.get(kind, 0)) for kind in kinds)
            while (cells := sum(kind in kinds for kind in draft.kind)) < wanted:
                check()
                if not stretch(draft, self.rules, self.rng, kinds, round(1.1 * wanted) - cells):
                    break
        order = sorted(goals, key=lambda kind: (-inserter.together(draft, kind), kind))
        for kind in order:
            failures = 0
            while draft.kind.count(kind) < goals[kind] and failures < TRIES:
                failures = 0 if inserter.insert(draft, kind, target + target // 10 - len(draft)) else failures + 1

    def _shake(self, draft: Draft, check: Check) -> bool:
        """Whether a walk gave the draft another initial state whose rows were seen."""
        task = draft.to_task("shaken")
        for reached in reversed(walk(task, self.rng, self.rng.randint(1, JUMPS), check)):
            mark = draft.mark()
            draft.set_initial(task, reached.state)
            if reached.state != task.initial_state and self.rules.state_fits(draft):
                return True
            draft.undo(mark)
        return False

    def _exchange(self, draft: Draft) -> bool:
        """Whether some objects exchanged their places in atoms of some relations without breaking a rule."""
        changed = False
        if not len(draft):
            return False
        relations = [
            relation
            for relation, arity in enumerate(self.relations.arity)
            if arity and draft.total[relation] and not (self.relations.static[relation] and arity == 1)
        ]
        for _ in range(len(draft)):
            relation = self.rng.choice(relations) if relations else 0
            x = self.rng.randrange(len(draft))
            y = self.rng.choice(draft.objects_of(draft.kind[x]))
            old = [atom for atom in dict.fromkeys((*draft.of[x], *draft.of[y])) if atom[0] == relation]
            new = [substituted(atom, {x: y, y: x}) for atom in old]
            if set(new) == set(old):
                continue
            mark = draft.mark()
            values = [draft.atoms[atom] for atom in old]
            for atom in old:
                draft.remove(atom)
            for atom, value in zip(new, values, strict=True):
                draft.add(atom, value)
            if self.rules.fits(draft, mark, [x, y]):
                changed = True
            else:
                draft.undo(mark)
        return changed

    def _named(self, draft: Draft) -> Task:
        self._number += 1
        return draft.to_task(f"{draft.task.name}-grown-{self._number}")

    def _finished(self, draft: Draft, check: Check, *, strict: bool = False) -> Grown | None:
        """The problem with its goal, or one of its shape, and a plan; None if no goal is known to be reachable.

        A `strict` problem keeps all of its goals; what cannot be reached says that something was copied badly.
        """
        task = self._named(draft)
        if not self._has_costs(task, check):
            return None
        if not strict and drop_unreachable_goals(draft, self.rules, task):
            task = draft.to_task(task.name)
        best: list[Reached] = []
        is_goal = not task.goal.holds(task.initial_state)
        if is_goal:
            found = self._plans.search(draft, task, check)
            if found.plan is not None:
                return Grown(task, draft.task.name, "patterned", found.plan)
            is_goal = found.best is not None
            if found.best is not None:
                best.append(found.best)
            elif strict:  # out of reach even if nothing became false
                self.without_plan += 1
                return None
        for reached in (*best, *reversed(walk(task, self.rng, JUMPS, check))):
            goal = goal_of_state(draft, self.rules, task, reached.state, self.rng)
            if goal is not None:
                draft.set_goal(goal)
                return Grown(draft.to_task(task.name), draft.task.name, "reached", reached.actions)
        plan = self._plans.guided(task, check) if is_goal else None
        if plan is not None:
            return Grown(task, draft.task.name, "patterned", plan)
        self.without_plan += 1
        return None

    def _has_costs(self, task: Task, check: Check) -> bool:
        """Whether no action of a made problem lacks a cost, as far as that is true of given problems."""
        if self._costs_matter is None:
            self._costs_matter = all(costs_are_known(draft.task, check) for draft in self.drafts[-SAMPLED:])
        return not self._costs_matter or costs_are_known(task, check)


def _sizes(times: float) -> Iterator[tuple[float, float]]:
    """Largest and smallest multiples of the given sizes in one round of tries after another: from the third one on, the
    growth is half of that of the round before."""
    for number in range(TRIES):
        share = 2.0 ** -max(0, number - 1) if times > 1 else 1.0
        largest = 1 + (times - 1) * share
        yield largest, (max(times / 2, 1.0) if share == 1 else 1.0) if times > 1 else times / 2
