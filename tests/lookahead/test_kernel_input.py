"""What the kernel's functions are given is checked: a ValueError, never a crash."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.random_moves import random_move_task
from tests.tasks import rich_task, spec_with, task_of

from saltus import _kernel
from saltus.errors import ConfigurationError, UnsupportedError
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.lookahead.free_groups import candidates
from saltus.lookahead.free_moves import _entries
from saltus.lookahead.search import _kernel_spec
from saltus.task import Task
from saltus.task.kernel_task import kernel_task, type_domains

pytestmark = pytest.mark.kernel

P_X = (0, True, (0,))

# One predicate p/1, two objects, one schema with a parameter, precondition (p ?x), effect (not (p ?x)).
PARTS: dict[str, Any] = {
    "types": 1,
    "domains": [[0, 1]],
    "nested": [],
    "schemas": [([0], [P_X], [([], [], [], [P_X])])],
    "axioms": [],
}

# The same with a derived predicate d/1. Nested: no ?y with (p ?y) and not (= ?x ?y); some ?x with (p ?x) and the first
# one. The precondition has the second one. Axioms: (d ?x) if (p ?x); (d ?x) if (p ?x), (d ?y) and the first one.
ADL_PARTS: dict[str, Any] = {
    "types": 1,
    "domains": [[0, 1]],
    "nested": [
        (False, 1, [0, 0], [(0, True, (1,)), (-1, False, (0, 1))]),
        (True, 0, [0], [P_X, (-2, False, (0,))]),
    ],
    "schemas": [([0], [P_X, (-3, False, ())], [([], [], [], [P_X])])],
    "axioms": [(0, 1, [0], [P_X]), (0, 1, [0, 0], [P_X, (1, True, (1,)), (-2, False, (0,))])],
}
ADL_ARRAYS = {"arity": [1, 1], "fluent": [1, 1], "code_offset": [0, 2, 4], "static_start": [0, 0, 0, 0]}


def replaced(given: Any, change: Callable[[Any], Any | None]) -> Iterator[Any]:
    """Copies with one number, or one list, replaced by what the change makes of it, unless that is nothing."""
    if (made := change(given)) is not None:
        yield made
    if isinstance(given, dict):
        for key, part in given.items():
            yield from ({**given, key: new} for new in replaced(part, change))
    elif isinstance(given, list | tuple):
        for i, part in enumerate(given):
            yield from (type(given)([*given[:i], new, *given[i + 1 :]]) for new in replaced(part, change))


def number(value: int) -> Callable[[Any], Any | None]:
    """A change of any number to another one."""
    return lambda given: value if isinstance(given, int) and not isinstance(given, bool) else None


def shorter(given: Any) -> Any | None:
    """A list, or a tuple, without its last entry."""
    return given[:-1] if isinstance(given, list | tuple) and given else None


def small_task(parts: dict[str, Any] = PARTS, **changed: Any) -> _kernel.Task:
    """A kernel task, some arrays changed."""
    arrays: dict[str, Any] = {
        "object_type": np.zeros(2, np.int32),
        "arity": np.array([1], np.int32),
        "fluent": np.array([1], np.uint8),
        "code_offset": np.array([0, 2], np.int64),
        "static_rows": np.zeros(0, np.int32),
        "static_start": np.zeros(2, np.int64),
    }
    for name, values in changed.items():
        arrays[name] = np.array(values, arrays[name].dtype)
    return _kernel.Task(**parts, **arrays)


def test_a_sound_task_is_built() -> None:
    assert _kernel.count_applicable(small_task(), np.array([1])).tolist() == [1]


@pytest.mark.parametrize("change", [*map(number, [-(2**31), -100, -2, 57, 2**31 - 1]), shorter])
def test_no_description_of_a_task_crashes(change: Callable[[Any], Any | None]) -> None:
    """One wrong number anywhere, or a short list: refused, or a task that can be used."""
    refused = 0
    for parts in replaced(PARTS, change):
        try:
            task = small_task(parts)
        except (ValueError, TypeError):
            refused += 1
            continue
        _kernel.count_applicable(task, np.array([1]))
        _kernel.applicable(task, np.array([1]), 100)
    assert refused > 4


def test_a_sound_task_with_formulas_is_built() -> None:
    task = small_task(ADL_PARTS, **ADL_ARRAYS)
    assert _kernel.derive(task, np.array([0, 1])).tolist() == [0, 1, 2, 3]
    assert _kernel.derive(task, np.array([1, 2])).tolist() == [1, 3]
    assert _kernel.count_applicable(task, np.array([1, 3])).tolist() == [1]
    assert _kernel.count_applicable(task, np.array([0, 1, 2, 3])).tolist() == [0]
    assert _kernel.successor(task, np.array([0, 1, 2, 3]), 0, np.array([0], np.int32)).tolist() == [1, 3]


@pytest.mark.parametrize("change", [*map(number, [-(2**31), -100, -4, -3, -2, 57, 2**31 - 1]), shorter])
def test_no_description_with_formulas_crashes(change: Callable[[Any], Any | None]) -> None:
    refused = 0
    for parts in replaced(ADL_PARTS, change):
        try:
            task = small_task(parts, **ADL_ARRAYS)
        except (ValueError, TypeError):
            refused += 1
            continue
        state = _kernel.derive(task, np.array([1]))
        if _kernel.count_applicable(task, state).size:
            _kernel.successor(task, state, 0, np.array([1] * len(parts["schemas"][0][0]), np.int32))
    assert refused > 10


@pytest.mark.parametrize(
    "changed",
    [
        {"object_type": [0, 1]},
        {"object_type": [0, -1]},
        {"arity": [-1]},
        {"arity": [2]},
        {"arity": [1, 1]},
        {"fluent": []},
        {"fluent": [0]},
        {"code_offset": [0, 3]},
        {"code_offset": [1, 3]},
        {"code_offset": []},
        {"static_start": []},
        {"static_start": [0, 1]},
        {"static_start": [0, -1]},
        {"static_start": [5, 0]},
        {"static_start": [0, 2**62]},
        {"static_start": [-1, 0]},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(changed: dict[str, list[int]]) -> None:
    with pytest.raises(ValueError, match=r"task|literal"):
        small_task(**changed)


@pytest.mark.parametrize("rows", [[2], [-1], [1, 0], [0, 0]], ids=str)
def test_static_atoms_are_checked(rows: list[int]) -> None:
    with pytest.raises(ValueError, match="static"):
        small_task({**PARTS, "schemas": []}, fluent=[0], static_rows=rows, static_start=[0, len(rows)])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", 4),
        ("kind", -1),
        ("width", 0),
        ("width", 3),
        ("capacity", -1),
        ("goal_identity", 3),
        ("root", 4),
        ("root", -1),
        ("max_better", -1),
        ("max_encoded", -1),
        ("max_nodes", 0),
        ("max_atoms", -1),
        ("max_root_actions", 0),
    ],
)
def test_spec_fields_are_checked(field: str, value: int) -> None:
    fields = {"kind": 2, "width": 1, "capacity": 0, "goal_identity": 1, "root": 0, "expand_root_successors": True}
    fields |= {"keep_root_successors": True, "max_better": 0, "max_encoded": 0}
    fields |= {"max_nodes": 10, "max_atoms": 10, "max_root_actions": 10}
    _kernel.Spec(**fields)
    with pytest.raises(ValueError, match=field):
        _kernel.Spec(**fields | {field: value})


def test_lists_of_different_lengths_are_refused() -> None:
    task = rich_task()
    spec, copy, codes = _kernel_spec(TreeSpec(), PlaySpec()), kernel_task(task), task.initial_state.codes
    positive, negative = task.goal.positive, task.goal.negative
    assert len(_kernel.lookahead_batch([copy], [codes], [positive], [negative], [None], spec, 1)) == 1
    for lists in (
        ([], [], [], []),
        ([codes], [], [], [None]),
        ([codes], [positive] * 2, [negative], [None]),
        ([codes], [positive], [negative], []),
    ):
        with pytest.raises(ValueError, match="lengths"):
            _kernel.lookahead_batch([copy], *lists, spec, 1)


@pytest.mark.parametrize("codes", [[10**9], [5, 2], [-1], [3, 3]])
def test_codes_are_checked(codes: list[int]) -> None:
    """Unsorted, repeated or foreign codes never reach the search."""
    copy, state = kernel_task(rich_task()), np.array(codes, np.int64)
    empty = np.zeros(0, np.int64)
    for call in (
        lambda: _kernel.count_applicable(copy, state),
        lambda: _kernel.applicable(copy, state, 1),
        lambda: _kernel.pick_action(copy, state, 0, 0),
        lambda: _kernel.successor(copy, state, 0, np.zeros(2, np.int32)),
        lambda: _kernel.find_bindings(copy, state, [], [], 1, 0, 1),
        lambda: _kernel.find_colours(copy, state, empty, empty),
        lambda: _kernel.Roles(copy, empty, empty, 0, 1).project(state),
        lambda: _kernel.lookahead_batch(
            [copy], [state], [empty], [empty], [None], _kernel_spec(TreeSpec(), PlaySpec()), 1
        ),
    ):
        with pytest.raises(ValueError, match="codes"):
            call()


def test_roles_are_checked() -> None:
    task = rich_task()
    copy, empty = kernel_task(task), np.zeros(0, np.int64)
    outside = np.array([int(task.code_offset[-1])])
    for arguments in ((empty, empty, 0, 0), (empty, empty, -1, 1), (empty, empty, len(task.objects) + 1, 1)):
        with pytest.raises(ValueError, match="roles: "):
            _kernel.Roles(copy, *arguments)
    for goals in ((outside, empty), (empty, outside)):
        with pytest.raises(ValueError, match="codes"):
            _kernel.Roles(copy, *goals, 0, 1)
    everything = np.arange(len(task.objects), dtype=np.int32)
    codes = task.initial_state.codes
    assert np.array_equal(_kernel.lift_codes(copy, copy, everything, codes), codes)
    for objects, atoms in (
        (everything[1:], codes),
        (everything + 1, codes),
        (everything - 1, codes),
        (everything, outside),
        (everything, codes - 10**9),
    ):
        with pytest.raises(ValueError, match="lift_codes: "):
            _kernel.lift_codes(copy, copy, objects, atoms)


def test_static_atoms_in_a_state_are_refused() -> None:
    task = rich_task()
    with pytest.raises(ValueError, match="static"):
        _kernel.count_applicable(kernel_task(task), np.array([task.atom("(linked hall attic)")]))


@pytest.mark.parametrize(
    ("literals", "variables"),
    [
        ([(0, True, (0, 2**31 - 1))], 1),
        ([(99, True, (0, 0))], 1),
        ([(-2, True, (0, 0))], 1),
        ([(0, True, (0,))], 1),
        ([(0, True, (0, 5))], 1),
        ([(0, True, (0, ~99))], 1),
        ([], 65),
    ],
    ids=str,
)
def test_conjunctions_are_checked(literals: list[tuple[int, bool, tuple[int, ...]]], variables: int) -> None:
    task = rich_task()
    with pytest.raises(ValueError, match=r"find_bindings|literal"):
        _kernel.find_bindings(
            kernel_task(task),
            task.initial_state.codes,
            literals,
            [type_domains(task)[()]] * variables,
            5,
            0,
            1000,
        )


@pytest.mark.parametrize("domain", [-1, 10_000])
def test_domains_of_variables_are_checked(domain: int) -> None:
    task = rich_task()
    with pytest.raises(ValueError, match="domain"):
        _kernel.find_bindings(
            kernel_task(task),
            task.initial_state.codes,
            [],
            [domain],
            5,
            0,
            1000,
        )


@pytest.mark.parametrize("offset", [[], [0, 2], [0, 2, 1, 1], [-1, 0, 1, 1], [0, 1, 1, 2], [1, 1, 1, 1]])
def test_find_node_checks_the_offsets(offset: list[int]) -> None:
    """Three nodes: the root, one with atom 7 added, and one with atom 3 deleted."""
    codes = [np.array(values, np.int64) for values in ([3, 5], [0, 0, 1, 1], [7], [0, 0, 0, 1], [3])]
    for number, state in enumerate(([3, 5], [3, 5, 7], [5])):
        assert _kernel.find_node(*codes, np.array(state, np.int64)) == number
    assert _kernel.find_node(*codes, np.array([3, 7], np.int64)) == -1
    for i in (1, 3):
        changed = [np.array(offset, np.int64) if k == i else entry for k, entry in enumerate(codes)]
        with pytest.raises(ValueError, match="offsets"):
            _kernel.find_node(*changed, codes[0])


def test_pick_action_checks_schema_and_index() -> None:
    task = rich_task()
    copy, codes = kernel_task(task), task.initial_state.codes
    counts = _kernel.count_applicable(copy, codes).tolist()
    assert 0 in counts
    for schema, count in enumerate(counts):
        for index in range(count):
            _kernel.pick_action(copy, codes, schema, index)
        for index in (-1, count, count + 1, 2**62):
            with pytest.raises(ValueError, match="pick"):
                _kernel.pick_action(copy, codes, schema, index)
    for schema in (-1, len(counts)):
        with pytest.raises(ValueError, match="schema"):
            _kernel.pick_action(copy, codes, schema, 0)


@pytest.mark.parametrize(("schema", "arguments"), [(-1, [0]), (99, [0]), (0, []), (0, [0]), (0, [0, 99]), (0, [0, -1])])
def test_successor_checks_the_action(schema: int, arguments: list[int]) -> None:
    task = rich_task()
    with pytest.raises(ValueError, match=r"schema|action"):
        _kernel.successor(kernel_task(task), task.initial_state.codes, schema, np.array(arguments, np.int32))


# (p a) (p b): tokens of two lists; symbols p=0, a=1, b=2.
TOKENS = [~3, 0, 1, -1, ~7, 0, 2, -1]
TABLES: dict[str, Any] = {
    "predicate_of_symbol": [0, -1, -1],
    "object_of_symbol": [-1, 0, 1],
    "arity": [1],
    "first_slot": [0],
    "allowed": [1],
    "object_type": [0, 0],
}


def read(token: list[int] = TOKENS, types: int = 1, **changed: list[int]) -> Any:
    """The atoms of these tokens under these tables."""
    arrays = {
        name: np.array(values, np.uint8 if name == "allowed" else np.int32)
        for name, values in (TABLES | changed).items()
    }
    return _kernel.read_atoms(np.array(token, np.int32), 0, len(token), types=types, **arrays)


def test_sound_atoms_are_read() -> None:
    predicate, argument, *_, refused = read()
    assert (predicate.tolist(), argument.tolist(), refused) == ([0, 0], [0, 1], -1)


@pytest.mark.parametrize("position", range(len(TOKENS)))
@pytest.mark.parametrize("value", [-(2**31), -100, ~0, ~1, ~7, ~8, 57, 2**31 - 1])
def test_no_token_crashes(position: int, value: int) -> None:
    token = list(TOKENS)
    token[position] = value
    try:
        read(token)
    except ValueError as error:
        assert "read_atoms" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "changed",
    [
        {"predicate_of_symbol": [1, -1, -1]},
        {"predicate_of_symbol": [0]},
        {"object_of_symbol": [-1, 0, 2]},
        {"object_of_symbol": [-1]},
        {"arity": []},
        {"arity": [2]},
        {"arity": [-1]},
        {"first_slot": []},
        {"first_slot": [1]},
        {"first_slot": [-1]},
        {"allowed": []},
        {"object_type": [0]},
        {"object_type": [0, 1]},
        {"object_type": [0, -1]},
        {"types": -1},
        {"types": 2},
    ],
    ids=str,
)
def test_tables_are_checked(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="read_atoms"):
        read(**changed)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_nodes", 2**70),
        ("max_nodes", 2**62),
        ("capacity", 2.0),
        ("capacity", 2**62),
        ("max_better", 1.0),
        ("max_better", 2**62),
        ("max_encoded", "all"),
        ("max_encoded", True),
        ("max_encoded", 2**62),
        ("max_nodes", None),
        ("max_nodes", True),
        ("width", 1.0),
        ("width", True),
        ("kind", ["aiw"]),
        ("expand_root_successors", 1),
        ("keep_root_successors", None),
    ],
)
def test_values_that_the_kernel_cannot_take_are_refused(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=field):
        spec_with(**{field: value})


@pytest.mark.parametrize(
    ("predicate", "parameters", "own", "message"),
    [(63, 1, 0, "predicate 'p' with 63 arguments"), (1, 65, 0, "action 'a' with 65"), (1, 60, 5, "action 'a' with 65")],
)
def test_deep_recursion_is_refused(predicate: int, parameters: int, own: int, message: str) -> None:
    def problem(p: int, q: int, r: int) -> tuple[str, str]:
        slots, variables, inner = (" ".join(f"?{c}{i}" for i in range(n)) for c, n in (("x", p), ("x", q), ("y", r)))
        effect = f"(forall ({inner}) (g ?y0))" if r else "(g ?x0)"
        domain = f"""(define (domain deep) (:requirements :conditional-effects) (:predicates (p {slots}) (g ?x))
          (:action a :parameters ({variables}) :effect {effect}))"""
        return domain, "(define (problem d) (:domain deep) (:objects o) (:init) (:goal (g o)))"

    assert _kernel.count_applicable(
        kernel_task(task_of(*problem(62, 64 - own, own))), np.zeros(0, np.int64)
    ).tolist() == [1]
    with pytest.raises(UnsupportedError, match=message):
        task_of(*problem(predicate, parameters, own))


# -- free moves ------------------------------------------------------------------------------------------------------


@cache
def task_with_agents() -> Task:
    """Two kinds of agents, two moves each, and actions that need them."""
    domain = """(define (domain m) (:requirements :typing) (:types a0 a1 place - object)
      (:predicates (at ?a ?p) (pos ?p) (road ?p ?q) (open ?p) (fast ?a) (done ?a))
      (:action walk :parameters (?a - a0 ?p ?q - place) :precondition (and (at ?a ?p) (road ?p ?q))
       :effect (and (not (at ?a ?p)) (at ?a ?q)))
      (:action run :parameters (?a - a0 ?p ?q - place) :precondition (and (at ?a ?p) (fast ?a) (open ?q))
       :effect (and (not (at ?a ?p)) (at ?a ?q)))
      (:action go :parameters (?p ?q - place) :precondition (and (pos ?p) (road ?q ?p))
       :effect (and (not (pos ?p)) (pos ?q)))
      (:action fly :parameters (?a - a1 ?p ?q - place) :precondition (at ?a ?p)
       :effect (and (not (at ?a ?p)) (at ?a ?q)))
      (:action work :parameters (?a ?p) :precondition (and (at ?a ?p) (pos ?p)) :effect (and (done ?a) (open ?p))))"""
    roads = " ".join(f"(road p{i} p{j})" for i in range(4) for j in range(4) if abs(i - j) == 1)
    return task_of(
        domain,
        f"""(define (problem m) (:domain m) (:objects r s - a0 t - a1 p0 p1 p2 p3 - place)
      (:init {roads} (at r p0) (at s p3) (at t p1) (pos p2) (fast r) (open p1)) (:goal (and (done r) (at t p3))))""",
    )


def use_free_moves(task: Task, groups: list[Any]) -> str:
    """Takes free moves of these groups and uses them in every way: what became of it."""
    copy, state, goal = kernel_task(task), task.initial_state.codes, task.goal
    try:
        moves = _kernel.FreeMoves(copy, groups)
    except (ValueError, TypeError) as error:
        assert "free moves" in str(error) or "incompatible" in str(error)  # noqa: PT017
        return "refused"
    assert len(moves.reversible) == len(groups)
    moves.canonical_state(state, goal.positive, goal.negative)
    rng = random.Random(len(groups))
    for number, schema in enumerate(task.schemas):
        arguments = np.array([rng.randrange(len(task.objects)) for _ in schema.parameters], np.int32)
        try:
            moves.walks_before(state, number, arguments)
        except ValueError as error:
            assert "out of reach" in str(error)  # noqa: PT017
    for kind in ("flat", "iw", "aiw"):
        spec = _kernel_spec(TreeSpec(kind=kind, free_moves=True), PlaySpec(max_nodes=40))
        _kernel.lookahead_batch([copy], [state], [goal.positive], [goal.negative], [moves], spec, 1)
    return "taken"


def test_sound_free_moves_are_taken() -> None:
    task = task_with_agents()
    groups = _entries(candidates(task))
    assert len(groups) == 3
    assert use_free_moves(task, groups) == "taken"


@pytest.mark.parametrize("value", [-(2**31), -1, 0, 1, 2, 3, 5, 8, 57, 2**31 - 1])
def test_no_wrong_number_in_free_moves_crashes(value: int) -> None:
    """One wrong number anywhere: refused, or free moves that can be used."""
    task = task_with_agents()
    became = [use_free_moves(task, groups) for groups in replaced(_entries(candidates(task)), number(value))]
    assert "refused" in became
    assert "taken" in became or not 0 <= value <= 5


def test_short_lists_of_free_moves_do_not_crash() -> None:
    """Fewer groups or objects are free moves as well; fewer arguments or parts of a move are refused."""
    task = task_with_agents()
    became = [use_free_moves(task, groups) for groups in replaced(_entries(candidates(task)), shorter)]
    assert {*became} == {"taken", "refused"}


def test_no_mutated_free_moves_crash() -> None:
    """Numbers changed, lists shortened, groups repeated: all kinds of tasks."""
    rng = random.Random(5)
    tasks = [task for task in (random_move_task(seed) for seed in range(12)) if candidates(task)]
    became = []
    for _ in range(400):
        task = rng.choice(tasks)
        groups = _entries(candidates(task))
        if rng.random() < 0.2:  # every group twice, perhaps with another place
            groups = [*groups, *groups]
        for _ in range(rng.randint(0, 3)):
            change = rng.choice([*map(number, [0, 1, 2, 3, 4, 5, 7, 9, -1]), shorter])
            groups = rng.choice([*replaced(groups, change)] or [groups])
        became.append(use_free_moves(task, groups))
    assert min(became.count("taken"), became.count("refused")) > 20


def test_free_moves_check_what_they_are_given() -> None:
    task, other = task_with_agents(), rich_task()
    copy, state = kernel_task(task), task.initial_state.codes
    moves = _kernel.FreeMoves(copy, _entries(candidates(task)))
    empty, pair = np.zeros(0, np.int64), np.zeros(2, np.int32)
    for codes in ([10**9], [5, 2], [-1], [3, 3]):
        wrong = np.array(codes, np.int64)
        for call in (
            lambda wrong=wrong: moves.canonical_state(wrong, empty, empty),
            lambda wrong=wrong: moves.canonical_state(state, wrong, empty),
            lambda wrong=wrong: moves.canonical_state(state, empty, wrong),
            lambda wrong=wrong: moves.walks_before(wrong, 2, pair),
        ):
            with pytest.raises(ValueError, match="codes"):
                call()
    for schema, arguments in ((-1, [0]), (99, [0]), (2, []), (2, [0]), (2, [0, 99]), (2, [0, -1])):
        with pytest.raises(ValueError, match=r"schema|action"):
            moves.walks_before(state, schema, np.array(arguments, np.int32))
    spec = _kernel_spec(TreeSpec(free_moves=True), PlaySpec())
    with pytest.raises(ValueError, match="another task"):
        _kernel.lookahead_batch([kernel_task(other)], [other.initial_state.codes], [empty], [empty], [moves], spec, 1)
    wide = _kernel_spec(TreeSpec(kind="iw", width=2), PlaySpec())
    with pytest.raises(ValueError, match="width"):
        _kernel.lookahead_batch([copy], [state], [empty], [empty], [moves], wide, 1)
