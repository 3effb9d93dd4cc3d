"""Stage `lookahead`: the kernel's other functions: applicable actions, successors, conjunctions, colours, dead ends.

Twins in `tests/twins/`: `actions.py` for actions and successors; `lookahead.py` for conjunctions and colours;
`relaxation.py` for dead ends.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.errors import InputError
from saltus.lookahead.roles import project_relaxed
from saltus.lookahead.supplies import with_quotas
from saltus.lookahead.values import DEAD_END_WORK, FEW_ATOMS, NO_LIMIT, PROOF_ATOMS
from saltus.task import EQUALITY, Action, Goal, Literal, State, Task
from saltus.task.cache import PerObject
from saltus.task.formulas import MAX_VARIABLES
from saltus.task.kernel_task import entries, kernel_task, type_domains


def applicable_actions(task: Task, state: State, limit: int | None = None) -> list[Action]:
    """Applicable actions, at most `limit`, in contract order: schemas in domain order, bindings in object order."""
    schema, offset, argument = _kernel.applicable(kernel_task(task), state.codes, NO_LIMIT if limit is None else limit)
    starts, arguments = offset.tolist(), argument.tolist()
    return [Action(number, tuple(arguments[starts[i] : starts[i + 1]])) for i, number in enumerate(schema.tolist())]


def applicable_arrays(task: Task, state: State, limit: int) -> tuple[NDArray[np.int32], list[NDArray[np.int64]]]:
    """Applicable actions as in `applicable_actions`: their schemas, and for each schema of the task the arguments of
    its actions, one row each."""
    schema, offset, argument = _kernel.applicable(kernel_task(task), state.codes, limit)
    counts = np.bincount(schema, minlength=len(task.schemas))
    ends = offset[np.cumsum(counts)]
    rows: list[NDArray[np.int64]] = [
        argument[low:high].astype(np.int64).reshape(count, len(own.parameters))
        for own, count, low, high in zip(
            task.schemas, counts.tolist(), [0, *ends[:-1].tolist()], ends.tolist(), strict=True
        )
    ]
    return schema, rows


def count_actions(task: Task, state: State) -> int:
    """Number of applicable actions, at most 2^62, counted without listing them."""
    counts: list[int] = _kernel.count_applicable(kernel_task(task), state.codes).tolist()
    return min(NO_LIMIT, sum(counts))


def random_action(task: Task, state: State, rng: random.Random) -> Action | None:
    """A random applicable action, each equally likely, drawn without listing them; None if there is none."""
    counts: list[int] = _kernel.count_applicable(kernel_task(task), state.codes).tolist()
    if not sum(counts):
        return None
    index = rng.randrange(sum(counts))
    schema = 0
    while index >= counts[schema]:
        index -= counts[schema]
        schema += 1
    arguments = _kernel.pick_action(kernel_task(task), state.codes, schema, index)
    return Action(schema, tuple(arguments.tolist()))


def successor_state(task: Task, state: State, action: Action) -> State:
    """State after an action, which must be applicable; only its schema, arity and object numbers are checked."""
    if not 0 <= action.schema < len(task.schemas):
        raise InputError(f"unknown schema {action.schema} in an action: the task has {len(task.schemas)} schemas")
    schema = task.schemas[action.schema]
    if len(action.arguments) != len(schema.parameters):
        raise InputError(
            f"action {schema.name!r} takes {len(schema.parameters)} arguments, found {len(action.arguments)}"
        )
    for number in action.arguments:
        if not 0 <= number < len(task.objects):
            raise InputError(
                f"unknown object {number} in action {schema.name!r}: the task has {len(task.objects)} objects"
            )
    arguments = np.array(action.arguments, np.int32)
    return State(_kernel.successor(kernel_task(task), state.codes, action.schema, arguments))


def find_bindings(
    task: Task, state: State, literals: Sequence[Literal], *, limit: int = 1, seed: int = 0, max_steps: int = 1_000_000
) -> NDArray[np.int32]:
    """Bindings [found, variables] of a lifted conjunction. Different variables are bound to different objects.

    Terms >= 0 are variables, numbered without gaps; terms < 0 are ~object. Without variables the result is [1, 0] if
    the conjunction holds and [0, 0] otherwise. At most `limit` bindings are returned, in a random order that `seed`
    determines. The search gives up after `max_steps` steps, so there may be more bindings than are returned.
    """
    return Conjunction(task, literals).find(state, limit=limit, seed=seed, max_steps=max_steps)


class Conjunction:
    """A lifted conjunction, checked and prepared once to be looked for in many states of a task.

    With `types`, one per variable, a variable is bound to objects of its type only.
    """

    def __init__(self, task: Task, literals: Sequence[Literal], types: Sequence[int] | None = None) -> None:
        self.literals = tuple(literals)
        self.variables = check_conjunction(task, literals)
        if types is not None and len(types) != self.variables:
            raise InputError(f"conjunction has {self.variables} variables, but types for {len(types)}")
        self._task = kernel_task(task)
        self._entries = entries(literals)
        known = type_domains(task)
        wanted: list[tuple[int, ...]] = [()] * self.variables if types is None else [(number,) for number in types]
        for entry in wanted:
            if entry not in known:
                raise InputError(f"unknown type {entry[0]} in a conjunction: the task has {len(task.types)} types")
        self._domains = [known[entry] for entry in wanted]

    def find(self, state: State, *, limit: int = 1, seed: int = 0, max_steps: int = 1_000_000) -> NDArray[np.int32]:
        """Bindings, as `find_bindings` returns them."""
        found, flat = _kernel.find_bindings(
            self._task, state.codes, self._entries, self._domains, limit, seed, max_steps
        )
        return flat.reshape(found, self.variables)


def check_conjunction(task: Task, literals: Sequence[Literal]) -> int:
    """Number of variables. Unknown predicates or objects, a wrong arity, or a gap between variables are refused."""
    used = {term for literal in literals for term in literal.terms if term >= 0}
    variables = max(used, default=-1) + 1
    if len(used) != variables:
        raise InputError(f"conjunction has {len(used)} variables, but numbers them up to {variables - 1}")
    if variables > MAX_VARIABLES:
        raise InputError(f"conjunction has {variables} variables, expected at most {MAX_VARIABLES}")
    for literal in literals:
        if not EQUALITY <= literal.predicate < len(task.arity):
            raise InputError(
                f"unknown predicate {literal.predicate} in literal {literal}: the task has {len(task.arity)} predicates"
            )
        width = 2 if literal.predicate == EQUALITY else int(task.arity[literal.predicate])
        if len(literal.terms) != width:
            raise InputError(f"literal {literal} has {len(literal.terms)} terms, expected {width}")
        for term in literal.terms:
            if ~term >= len(task.objects):
                raise InputError(
                    f"unknown object {~term} in literal {literal}: the task has {len(task.objects)} objects"
                )
    return variables


def find_colours(task: Task, state: State, goal: Goal) -> NDArray[np.int32]:
    """1-WL colour of each object over state, goal and static atoms, numbered by the first object of each colour."""
    return _kernel.find_colours(kernel_task(task), state.codes, goal.positive, goal.negative)[0]


def _nothing_grounded(task: Task) -> dict[int, _kernel.GroundActions]:
    return {}


_GROUNDED = PerObject(_nothing_grounded)
"""Ground actions of every task, by the largest number of atoms that was allowed for them."""


def _proof(task: Task) -> _kernel.RelaxedProof:
    return _kernel.RelaxedProof(kernel_task(task), PROOF_ATOMS)


_PROOFS = PerObject(_proof)
"""What has shown that goals can be reached in tasks whose actions are not grounded."""


def _with_negation(task: Task) -> _kernel.GroundActions | None:
    known = kernel_task(task)
    rules = _kernel.GroundActions(known, FEW_ATOMS, "negation") if _kernel.has_negation(known) else None
    return rules if rules is not None and rules.complete else None


_NEGATED = PerObject(_with_negation)
"""Ground actions that can also make atoms false, of tasks that are small and need that."""


def _whole(task: Task) -> _kernel.GroundActions:
    return _kernel.GroundActions(kernel_task(task), DEAD_END_WORK, "actions")


_WHOLE = PerObject(_whole)
"""Ground actions of every task, with what they delete."""


def is_dead_end(
    task: Task,
    state: State,
    goal: Goal,
    *,
    roles: int | None = None,
    work: int = DEAD_END_WORK,
    ground_atoms: int = DEAD_END_WORK,
) -> bool:
    """Whether the goal is unreachable even if what has been true once stays true.

    Sound but incomplete: True proves that there is no plan, False proves nothing. The actions of a small task are
    grounded once and kept. Its negative preconditions and nested conditions count: what has been false once may stay
    false, too. In a large task they are ignored, and the other conditions are joined with the state; once that has
    taken more than 20,000 steps, a few milliseconds, its actions are grounded as well, unless they have more than
    `ground_atoms` atoms. Tasks that cannot be grounded use joins of at most `work` steps; the result is False where
    these are not enough. What joins have found for earlier states is tried first.

    Goals that use something up (`supplies.py`) are out of reach if there are more of them than of what they need.

    With `roles` representatives of every role (`PlaySpec.roles`), the test sees these objects alone, where that
    gives the same answer without regard to what becomes false or is used up; its cost then follows their number.
    """
    if goal.impossible:
        return True
    task, quotas = with_quotas(task, state, goal)
    view = None if quotas or roles is None else project_relaxed(task, state, goal, roles)
    if view is not None:
        task, state, goal = view.task, view.state, view.goal
    known = kernel_task(task)
    negated = _NEGATED.of(task) if view is None and ground_atoms >= FEW_ATOMS else None
    if negated is not None:
        return not negated.reaches(state.codes, goal.positive, quotas, keeping=False)
    grounded = _GROUNDED.of(task)

    def rules_of(atoms: int) -> _kernel.GroundActions:
        if atoms not in grounded:
            grounded[atoms] = _kernel.GroundActions(known, atoms, "effects")
        return grounded[atoms]

    rules = rules_of(min(ground_atoms, FEW_ATOMS))
    if not rules.complete and ground_atoms not in grounded:
        reached = _PROOFS.of(task).reaches(state.codes, goal.positive, min(work, 20_000), quotas)
        if reached is not None:
            return not reached
    if not rules.complete:
        rules = rules_of(ground_atoms)
    if rules.complete:
        return not rules.reaches(state.codes, goal.positive, quotas, keeping=False)
    return _PROOFS.of(task).reaches(state.codes, goal.positive, work, quotas) is False


def keeps_goals(task: Task, state: State, goal: Goal) -> bool:
    """Whether every missing goal can still be reached while the goals that are true in the state stay true, even if
    nothing else ever becomes false.

    Only positive goals count. A preference, not a test for dead ends: some problems are solved only by undoing goals.
    It orders goals: what may be done later does not shut off what must be done first. The actions of a task are
    grounded once; where there are too many, the answer is True.
    """
    if goal.impossible:
        return False
    rules = _WHOLE.of(task)
    return not rules.complete or rules.reaches(state.codes, goal.positive, [], keeping=True)
