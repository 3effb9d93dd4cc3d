"""Stage `grow`: new problems from given ones, without a generator: larger ones, and others of the same size.

Takes the tasks of one domain. A given problem is the base; its lattices are stretched (`stretch.py`), its ladders get
rungs (`rungs.py`) and its objects are copied (`insert.py`) until the kinds that vary between the given problems have
grown by a common factor. What a made problem must not break is learned from the given ones (`rules.py`). Its goal is
shown to be reachable (`goals.py`).
Everything random comes from one seed; effort is bounded by counts, never by time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from saltus.errors import InputError, UnsupportedError
from saltus.grow.draft import Draft, Relations, substituted
from saltus.grow.goals import Reached, find_guides, goal_of_state, reachable_goal, search_goal, search_with_guides, walk
from saltus.grow.guides import Guide
from saltus.grow.insert import Inserter
from saltus.grow.rules import Rules
from saltus.grow.rungs import Ladders
from saltus.grow.stretch import lattice_kinds, stretch
from saltus.lookahead.actions import random_action, successor_state
from saltus.pddl import Domain
from saltus.task import Action, Task

MOST_GIVEN = 60
"""Most given problems that rules are learned from; the largest ones."""

WALKED = 12
"""Given problems that are walked in, to see which atoms an object may have more than once."""

WALKED_ACTIONS = 60
"""Random actions of such a walk."""

TRIES = 3
"""Problems tried for each one that is asked for."""

FAILURES = 3
"""Insertions of a kind that may fail in a row before the kind stops growing."""

SEARCHED = 4
"""Given problems, the largest ones, that searches are tried on: to find guides, and to see what a failure is worth."""

JUMPS = 8
"""Most jumps of a walk that shakes an initial state."""

EXCHANGES = 40
"""Pairs of objects that may exchange their places in a problem that is varied."""

Check = Callable[[], None]


@dataclass(frozen=True)
class Grown:
    """A made problem and a plan for it, unless it is unproven."""

    task: Task
    base: str
    """Name of the given problem it was made from."""
    goal: str
    """patterned: the goal was copied with the objects, and a search found the plan; reached: the goal is taken from
    a state that was reached; unproven: the goal was copied, and there is no plan."""
    plan: tuple[Action, ...]


class Grower:
    """Makes problems like the given ones."""

    def __init__(self, domain: Domain, tasks: Sequence[Task], seed: int = 0) -> None:
        if not tasks:
            raise InputError("no problems to grow others from")
        for task in tasks:
            if task.has_derived_goals:
                raise UnsupportedError(f"{task.problem.file}: growing from a goal that is no conjunction of literals")
        self.domain = domain
        self.tasks = sorted(tasks, key=lambda task: len(task.objects))
        self.rng = random.Random(seed)
        self.relations = Relations(tasks[0])
        given = self.tasks[-MOST_GIVEN:]
        self.drafts = [Draft(self.relations, task) for task in given]
        walked = list(self._walked([*given[-WALKED // 2 :], *given[: -WALKED // 2 : max(1, len(given) // 6)]]))
        self.rules = Rules(self.relations, self.drafts, walked)
        self.lattices = lattice_kinds(self.drafts)
        """Sets of kinds whose objects are the cells of a map."""
        self.ladders = Ladders(self.rules, self.drafts)
        self.tried = 0
        """Insertions tried so far."""
        self.accepted = 0
        """Insertions that broke no rule."""
        self.without_plan = 0
        """Problems dropped because no goal was known to be reachable."""
        self._number = 0
        self._guides: list[Guide] | None = None

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

    def grow(
        self, count: int, times: float = 4.0, check: Check = lambda: None, *, unproven: bool = False
    ) -> list[Task]:
        """Up to `count` tasks with between times/2 and `times` times the objects of the largest given task, and always
        more than it, smallest first; with `times` 1, others of the given sizes. There may be fewer, even none. Where
        none of this size can be made, smaller ones are.

        All are solvable. With `unproven`, tasks without a known plan are kept where the search that should find it
        fails on given problems, too, so that its failure says nothing.
        """
        return [entry.task for entry in sorted(self.problems(count, times, check, unproven=unproven), key=_size)]

    def problems(
        self, count: int, times: float = 4.0, check: Check = lambda: None, *, unproven: bool = False
    ) -> Iterator[Grown]:
        """The problems of `grow` as they are made, with their plans."""
        unproven = unproven and self._search_is_weak(check)
        made = 0
        largest = len(self.drafts[-1])
        least = max(times / 2, 1.0) if times > 1 else times / 2
        for attempt in range(TRIES * count):
            if made == count:
                return
            if times > 1 and attempt and attempt % count == 0 and not made:
                times, least = 1 + (times - 1) / 3, 1.0
            share = (attempt % count + self.rng.random()) / count
            target = round(largest * (least + (times - least) * share))
            found = self._grown(max(target, largest + 1 if times > 1 else 2), times, attempt, check, unproven)
            if found is not None:
                made += 1
                yield found

    def vary(self, count: int) -> list[Task]:
        """Up to `count` tasks with the objects of given ones and another initial state and goal, smallest first."""
        made: list[Task] = []
        for _ in range(TRIES * count):
            if len(made) == count:
                break
            found = self._varied(lambda: None)
            if found is not None:
                made.append(found.task)
        return sorted(made, key=lambda task: len(task.objects))

    def _varied(self, check: Check) -> Grown | None:
        """A given problem with another initial state or goal; None if this try failed."""
        draft = self.rng.choice(self.drafts).copy()
        shaken = self._shake(draft, check)
        return self._finished(draft, check) if self._exchange(draft) or shaken else None

    # -- one problem -------------------------------------------------------------------------------------------------

    def _grown(self, target: int, times: float, attempt: int, check: Check, unproven: bool) -> Grown | None:
        smaller = [draft for draft in self.drafts if len(draft) < target]
        if not smaller:
            return self._varied(check) if times <= 1 else None
        pool = smaller[-max(1, len(smaller) // 2) :] if times > 1 else smaller
        base = self.rng.choice(pool)
        draft = base.copy()
        self.enlarge(draft, target, check)
        if len(draft) <= (len(self.drafts[-1]) if times > 1 else len(base)):
            return None
        if attempt % 2:
            self._shake(draft, check)
        return self._finished(draft, check, unproven=unproven)

    def _search_is_weak(self, check: Check) -> bool:
        """Whether searches find no plans for half of the largest given problems."""
        tried = self.drafts[-SEARCHED:]
        found = [search_goal(draft, draft.task, 0, check).plan or self._guided(draft.task, check) for draft in tried]
        return 2 * sum(plan is not None for plan in found) <= len(found)

    def _guided(self, task: Task, check: Check) -> tuple[Action, ...] | None:
        """A plan found with guides, which are chosen when they are first needed."""
        if self._guides is None:
            self._guides = find_guides(self.drafts[-SEARCHED:], check)
        return search_with_guides(task, self._guides, self.rng.randrange(2**32), check).plan

    def enlarge(self, draft: Draft, target: int, check: Check = lambda: None) -> None:
        """Adds objects until there are about `target`, or no more can be added."""
        varying = [kind for kind in sorted(self.rules.varying | self.ladders.kinds) if kind in draft.kind]
        counts = {kind: draft.kind.count(kind) for kind in varying}
        fixed = len(draft) - sum(counts.values())
        factor = (target - fixed) / max(1, sum(counts.values()))
        goals = {kind: round(count * factor) for kind, count in counts.items()}
        inserter = Inserter(self.rules, self.rng, check)
        for kinds in self.lattices:
            wanted = sum(goals.pop(kind, counts.get(kind, 0)) for kind in kinds)
            while (cells := sum(kind in kinds for kind in draft.kind)) < wanted:
                check()
                if not stretch(draft, self.rules, self.rng, kinds, round(1.1 * wanted) - cells):
                    break
        for kind in sorted(self.ladders.kinds & goals.keys()):
            wanted = goals.pop(kind)
            while draft.kind.count(kind) < wanted:
                if not self.ladders.insert(draft, kind, self.rng, target + target // 10 - len(draft), check):
                    break
        order = sorted(goals, key=lambda kind: (-inserter.together(draft, kind), kind))
        for kind in order:
            failures = 0
            while draft.kind.count(kind) < goals[kind] and failures < FAILURES:
                failures = 0 if inserter.insert(draft, kind, target + target // 10 - len(draft)) else failures + 1
        self.tried += inserter.tried
        self.accepted += inserter.accepted

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
        for _ in range(EXCHANGES):
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

    def _finished(self, draft: Draft, check: Check, *, unproven: bool = False) -> Grown | None:
        """The problem with its goal, or one of its shape, and a plan; None if no goal is known to be reachable."""
        self._number += 1
        name = f"{draft.task.name}-grown-{self._number}"
        task = draft.to_task(name)
        if reachable_goal(draft, self.rules, task):
            task = draft.to_task(name)
        places: list[Reached] = []
        is_goal = not task.goal.holds(task.initial_state)
        if is_goal:
            found = search_goal(draft, task, self.rng.randrange(2**32), check)
            if found.plan is not None:
                return Grown(task, draft.task.name, "patterned", found.plan)
            if found.best is None:  # a dead end
                is_goal = False
            else:
                places.append(found.best)
        if not (is_goal and unproven):
            for reached in (*places, *reversed(walk(task, self.rng, JUMPS, check))):
                goal = goal_of_state(draft, self.rules, task, reached.state, self.rng)
                if goal is not None:
                    draft.set_goal(goal)
                    return Grown(draft.to_task(name), draft.task.name, "reached", reached.actions)
        if is_goal:
            plan = self._guided(task, check)
            if plan is not None:
                return Grown(task, draft.task.name, "patterned", plan)
            if unproven:
                return Grown(task, draft.task.name, "unproven", ())
        self.without_plan += 1
        return None


def _size(entry: Grown) -> int:
    return len(entry.task.objects)
