"""The kernel's reader equals its twin in plain Python, on good, damaged and random texts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import IPC_DOMAINS, examples
from tests.pddl.malformed import CASES
from tests.pddl.test_fuzz import damaged
from tests.tasks import RICH_DOMAIN, RICH_PROBLEM, domain_of, easy_problems
from tests.twins import reader

from saltus import _kernel
from saltus.errors import InputError
from saltus.pddl import Domain, Problem, Source, parse_domain, parse_problem

pytestmark = pytest.mark.kernel

NESTING = 200


def test_the_kernel_asked_for_is_the_one_tested() -> None:
    wanted = os.environ.get("SALTUS_TEST_KERNEL")
    assert wanted is None or _kernel.__file__ == wanted


def assert_same_scan(text: bytes, nesting: int = NESTING) -> None:
    """Both scanners give the same tokens, or the same error at the same place."""
    ours = _kernel.scan(text, nesting)
    twin = reader.scan(text, nesting)
    assert ours[2:] == twin[2:]
    for a, b in zip(ours[:2], twin[:2], strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


def outcome(text: bytes, domain: Domain, read_atoms=_kernel.read_atoms, scan=_kernel.scan) -> Problem | str:
    """The problem, or the message of the error."""
    try:
        return parse_problem(Source.from_bytes(text, "problem.pddl", scan), domain, read_atoms)
    except InputError as error:
        return str(error)


def assert_same_outcome(text: bytes, domain: Domain) -> None:
    """Reading with the kernel and with the twins gives the same problem or the same message."""
    ours = outcome(text, domain)
    twin = outcome(text, domain, reader.read_atoms, reader.scan)
    if isinstance(ours, str) or isinstance(twin, str):
        assert ours == twin
        return
    assert np.array_equal(ours.init_predicate, twin.init_predicate)
    assert np.array_equal(ours.init_argument, twin.init_argument)
    assert (ours.values, ours.goal, ours.warnings) == (twin.values, twin.goal, twin.warnings)


@given(st.text(alphabet='()ab-?:;\n\r\t\f\v "\0~{', max_size=60), st.integers(0, 4))
@settings(max_examples=examples(500))
def test_scan_of_short_texts(text: str, nesting: int) -> None:
    assert_same_scan(text.encode(), nesting)


@given(st.binary(max_size=200))
@settings(max_examples=examples(300))
def test_scan_of_random_bytes(text: bytes) -> None:
    assert_same_scan(text)
    assert_same_scan(b"\xef\xbb\xbf" + text)
    assert_same_scan(b"(" + text + b")")


@given(st.lists(st.text(alphabet="abAB", min_size=1, max_size=9), max_size=60))
def test_scan_numbers_names_in_order_of_appearance_in_lower_case(names: list[str]) -> None:
    token, _, symbols, code, _ = _kernel.scan(f"({' '.join(names)})".encode(), NESTING)
    assert code == 0
    assert symbols == list(dict.fromkeys(name.lower() for name in names))
    assert [symbols[i] for i in token[1:-1]] == [name.lower() for name in names]


@pytest.mark.parametrize("count", [511, 512, 513, 1024, 5000])
def test_scan_while_its_table_grows(count: int) -> None:
    assert_same_scan(f"({' '.join(f'Name{i} name{i // 2}' for i in range(count))})".encode())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_malformed_texts(case) -> None:
    assert_same_scan(case.domain)
    assert_same_scan(case.problem)


@given(damaged())
@settings(max_examples=examples(300))
def test_damaged_texts(texts: tuple[bytes, bytes]) -> None:
    assert_same_scan(texts[0])
    assert_same_scan(texts[1])
    assert_same_outcome(texts[1], domain_of(RICH_DOMAIN))


@st.composite
def tables(draw: st.DrawFn) -> tuple[object, ...]:
    """Arguments of `read_atoms`: a list of valid and invalid entries over random tables."""
    arity = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    objects = draw(st.integers(0, 4))
    types = draw(st.integers(1, 3))
    slots = sum(arity)
    bits = st.integers(0, 7).map(lambda number: int(number > 0))
    allowed = draw(st.lists(bits, min_size=slots * types, max_size=slots * types))
    object_type = draw(st.lists(st.integers(0, types - 1), min_size=objects, max_size=objects))
    predicates = [f"p{i}" for i in range(len(arity))]
    names = [f"o{i}" for i in range(objects)]
    flaw = st.sampled_from(["(x o0)", "(p0 x)", "()", "o0", "((p0))", "(p0 (o0))", "(p0 o0 o0 o0 o0)", "(not o0)"])
    entries = []
    for _ in range(draw(st.integers(0, 25))):
        number = draw(st.integers(0, len(arity) - 1))
        if not names or draw(st.integers(0, 19)) == 0:
            entries.append(draw(flaw))
        else:
            terms = draw(st.lists(st.sampled_from(names), min_size=arity[number], max_size=arity[number]))
            entries.append(f"({' '.join((predicates[number], *terms))})")
    token, _, symbols, code, _ = _kernel.scan(f"({' '.join(entries)})".encode(), NESTING)
    assert code == 0
    predicate_of = [-2 if s == "not" else predicates.index(s) if s in predicates else -1 for s in symbols]
    object_of = [names.index(s) if s in names else -1 for s in symbols]
    return (
        token,
        1,
        len(token) - 1,
        np.array(predicate_of, np.int32),
        np.array(object_of, np.int32),
        np.array(arity, np.int32),
        (np.cumsum(arity) - arity).astype(np.int32),
        np.array(allowed, np.uint8),
        np.array(object_type, np.int32),
        types,
    )


@given(tables())
@settings(max_examples=examples(300))
def test_atoms_equal_the_twin(arguments: tuple) -> None:
    ours = _kernel.read_atoms(*arguments)
    twin = reader.read_atoms(*arguments)
    assert ours[4] == twin[4]
    for a, b in zip(ours[:4], twin[:4], strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()


def test_refused_atom_leaves_no_arguments() -> None:
    domain = domain_of("(define (domain d) (:predicates (p ?x ?y)))")
    source = Source.from_bytes(b"(define (problem q) (:domain d) (:objects a) (:init (p a a) (p a x)) (:goal (and)))")
    seen = []

    def spy(*arguments):
        seen.append(_kernel.read_atoms(*arguments))
        return seen[-1]

    with pytest.raises(InputError, match="unknown object 'x'"):
        parse_problem(source, domain, spy)
    assert seen[0][0].tolist() == [0]
    assert seen[0][1].tolist() == [0, 0]


@pytest.mark.parametrize("count", [511, 512, 513, 2000])
def test_atoms_while_their_set_grows(count: int) -> None:
    domain = domain_of("(define (domain d) (:predicates (p ?x ?y) (q ?x) (r)))")
    objects = " ".join(f"o{i}" for i in range(50))
    atoms = " ".join(f"(p o{i % 50} o{i // 50}) (q o{i % 50})" for i in range(count))
    text = f"(define (problem q) (:domain d) (:objects {objects}) (:init (r) {atoms} (r)) (:goal (and)))"
    assert_same_outcome(text.encode(), domain)
    problem = outcome(text.encode(), domain)
    assert isinstance(problem, Problem)
    assert len(problem.init_predicate) == count + 50 + 1


@pytest.mark.parametrize(("begin", "end"), [(-1, 2), (2, 1), (0, 99)])
def test_token_range_is_checked(begin: int, end: int) -> None:
    empty = np.zeros(0, np.int32)
    with pytest.raises(ValueError, match="token range out of bounds"):
        _kernel.read_atoms(np.array([-2, -1], np.int32), begin, end, *[empty] * 4, np.zeros(0, np.uint8), empty, 1)


def test_rich_texts() -> None:
    assert_same_scan(RICH_DOMAIN.encode())
    assert_same_scan(RICH_PROBLEM.encode())
    assert_same_outcome(RICH_PROBLEM.encode(), domain_of(RICH_DOMAIN))


@pytest.mark.parametrize("name", IPC_DOMAINS)
def test_easy_problems(ipc: Path, name: str) -> None:
    text = (ipc / name / "domain.pddl").read_bytes()
    assert_same_scan(text)
    domain = parse_domain(Source.from_bytes(text))
    for path in easy_problems(ipc, name, 20):
        assert_same_scan(path.read_bytes())
        assert_same_outcome(path.read_bytes(), domain)
