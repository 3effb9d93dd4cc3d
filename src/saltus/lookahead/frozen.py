"""Stage `lookahead`: frozen goals: whether every missing goal is still reachable by itself while reached goals stay.

A preference, not a test for dead ends: some problems are solved only by undoing goals. It orders goals: what may be
done later does not shut off what must be done first. `tests/twins/frozen_goals.py` has the definition of its two forms.

Cost: the actions of a task are grounded once. Then the weak form takes as long as a few calls to `is_dead_end`. The
strong form needs little of the relaxation; it searches for one goal after the other among the places of its own
objects.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.errors import ConfigurationError
from saltus.lookahead.exclusion import analyse_goal, walkers
from saltus.lookahead.spec import FROZEN_GOALS
from saltus.lookahead.values import FROZEN_WORK, GROUND_ATOMS
from saltus.task import Goal, State, Task
from saltus.task.cache import PerObject
from saltus.task.kernel_task import kernel_task

FORMS = tuple(form for form in FROZEN_GOALS if form != "off")
"""The forms of the test."""


class _Grounded:
    """The ground actions of a task, and the test for its last goals."""

    def __init__(self, task: Task) -> None:
        self.actions = _kernel.GroundActions(kernel_task(task), GROUND_ATOMS, "actions")
        self.tests: dict[Goal, _kernel.FrozenTest] = {}

    def test(self, task: Task, goal: Goal) -> _kernel.FrozenTest | None:
        """The test for a goal; None if the task has too many ground actions."""
        if not self.actions.complete:
            return None
        if goal not in self.tests:
            while len(self.tests) >= 4:  # the analysis is kept for a few goals
                self.tests.pop(next(iter(self.tests)), None)
            self.tests[goal] = _kernel.FrozenTest(
                kernel_task(task), self.actions, goal.positive, program_of(task, goal)
            )
        return self.tests[goal]


_GROUNDED = PerObject(_Grounded)


def keeps_goals(task: Task, state: State, goal: Goal, form: str = "strong", *, work: int = FROZEN_WORK) -> bool:
    """Whether every missing goal can still be reached by itself while the goals that are true in the state stay true.

    Only positive goals count. True as well where the strong form would take more than `work` steps and the weak form
    says so, and where the task has too many ground actions.
    """
    return answer(task, state, goal, form, work=work) is not False


def answer(task: Task, state: State, goal: Goal, form: str, *, work: int = FROZEN_WORK) -> bool | None:
    """The answer of the test; None if it takes too much work."""
    if form not in FORMS:
        raise ConfigurationError(f"frozen goals: form is {form!r}, expected one of {', '.join(FORMS)}")
    if goal.impossible:
        return False
    test = _GROUNDED.of(task).test(task, goal)
    if test is None:
        return None
    strong = form == "strong" and not any(schema.is_conditional for schema in task.schemas)
    found = test.keeps(state.codes, strong, work)
    return None if found < 0 else bool(found)


def program_of(task: Task, goal: Goal) -> NDArray[np.int32]:
    """Walkers, exclusions and own objects as the kernel reads them; a list is its length followed by its entries."""
    analysis = analyse_goal(task, goal)
    groups = walkers(task)
    program = [len(groups)]
    for group in groups:
        program += [group.predicate, group.place]
        for mask in group.objects:
            program += _listed(np.flatnonzero(mask).tolist())
        program += _listed(move.schema for move in group.moves)
    program.append(len(analysis.exclusions))
    for exclusion in analysis.exclusions:
        program += [*_listed(exclusion.types), len(exclusion.parts)]
        for part in exclusion.parts:
            program += [part.predicate, *part.agent]
    for own in analysis.own:
        program += _listed(own)
    return np.array(program, np.int32)


def _listed(values: Iterable[int]) -> list[int]:
    entries = list(values)
    return [len(entries), *entries]
