"""Damaged and oversized files: the reader gives a task or raises its own error, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.pddl.malformed import DOMAIN, PROBLEM
from tests.tasks import RICH_DOMAIN, RICH_PROBLEM, domain_of

from saltus.errors import InputError, PddlError, UnsupportedError
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import Task, build_task

TEXTS = {"depot": (DOMAIN.encode(), PROBLEM.encode()), "rich": (RICH_DOMAIN.encode(), RICH_PROBLEM.encode())}
TOKENS = re.compile(rb"[()]|[^\s()]+|\s+")


def read(domain: bytes, problem: bytes) -> Task | None:
    """The task, or None if the reader raises an error that has a position or names the file."""
    try:
        parsed = parse_domain(Source.from_bytes(domain, "domain.pddl"))
        return build_task(parsed, parse_problem(Source.from_bytes(problem, "problem.pddl"), parsed))
    except InputError as error:
        named = re.match(r"(domain|problem)\.pddl:", str(error)) is not None
    assert named
    return None


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two texts that belong together, one of them damaged in one to four places."""
    texts = list(draw(st.sampled_from(sorted(TEXTS.values()))))
    which = draw(st.integers(0, 1))
    text = texts[which]
    for _ in range(draw(st.integers(1, 4))):
        text = draw(st.sampled_from([flip, cut, delete, double, swap, replace]))(draw, text)
    texts[which] = text
    return texts[0], texts[1]


def flip(draw: st.DrawFn, text: bytes) -> bytes:
    """One byte becomes another."""
    place = draw(st.integers(0, max(0, len(text) - 1)))
    return text[:place] + bytes([draw(st.integers(0, 255))]) + text[place + 1 :]


def cut(draw: st.DrawFn, text: bytes) -> bytes:
    """The text is cut off."""
    return text[: draw(st.integers(0, len(text)))]


def _tokens(draw: st.DrawFn, text: bytes) -> tuple[list[bytes], int, int]:
    tokens = TOKENS.findall(text) or [b"("]
    places = st.integers(0, len(tokens) - 1)
    return tokens, draw(places), draw(places)


def delete(draw: st.DrawFn, text: bytes) -> bytes:
    """A few tokens are deleted."""
    tokens, place, _ = _tokens(draw, text)
    del tokens[place : place + draw(st.integers(1, 3))]
    return b"".join(tokens)


def double(draw: st.DrawFn, text: bytes) -> bytes:
    """A piece appears twice."""
    tokens, first, second = _tokens(draw, text)
    first, second = sorted((first, second))
    second = min(second, first + 40)
    return b"".join(tokens[: second + 1] + tokens[first:])


def swap(draw: st.DrawFn, text: bytes) -> bytes:
    """Two tokens change places."""
    tokens, first, second = _tokens(draw, text)
    tokens[first], tokens[second] = tokens[second], tokens[first]
    return b"".join(tokens)


def replace(draw: st.DrawFn, text: bytes) -> bytes:
    """A token becomes a reserved word."""
    tokens, place, _ = _tokens(draw, text)
    words = [
        "(",
        ")",
        "()",
        "-",
        "?",
        "?x",
        "=",
        "not",
        "and",
        "forall",
        "when",
        "increase",
        ":init",
        "either",
        "0",
        "object",
    ]
    tokens[place] = f" {draw(st.sampled_from(words))} ".encode()
    return b"".join(tokens)


@given(damaged())
@settings(max_examples=1000)
def test_damaged_files_give_a_task_or_our_error(texts: tuple[bytes, bytes]) -> None:
    read(*texts)


@given(st.binary(max_size=300), st.integers(0, 1))
@settings(max_examples=300)
def test_random_bytes_are_refused(noise: bytes, which: int) -> None:
    texts = list(TEXTS["depot"])
    texts[which] = noise
    assert read(*texts) is None


@given(
    st.lists(st.sampled_from(["(", ")", "define", "(domain d)", ":predicates", ":types", "a", "-", "?x"]), max_size=40)
)
@settings(max_examples=300)
@example(["("] * 150 + [")"] * 150)
def test_random_tokens_are_refused_or_read(words: list[str]) -> None:
    read(" ".join(["(define (domain d)", *words, ")"]).encode(), TEXTS["depot"][1])


MILLION = 1_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"(" * MILLION, "parentheses nested more than 200 deep"),
        (b"(" * MILLION + b")" * MILLION, "parentheses nested more than 200 deep"),
        (b")" * MILLION, "extra closing parenthesis"),
        (b"()" * MILLION, "second expression after the definition"),
        (b"(define" + b"()" * MILLION + b")", "not a problem file"),
        (b"(define (problem p)" + b"()" * MILLION + b")", "empty section"),
        (b"(define (problem p)" + b"(:init)" * MILLION + b")", "duplicate section ':init'"),
        (b"(define (problem " + b"p" * MILLION + b"))", "section ':domain' is missing"),
        (b"(define (problem p) (:domain depot) (:init" + b"()" * MILLION + b") (:goal (and)))", "empty list"),
        (b"(define (problem p) (:domain depot) (:init) (:goal (and" + b"(" * MILLION, "nested more than 200 deep"),
        (b"(define (problem p) (:domain depot) (:init) (:goal " + b"(and " * MILLION, "nested more than 200 deep"),
        (b"(define (problem p) (:domain depot) (:init) (:goal (" + b"x " * MILLION + b")))", "unknown object 'x'"),
        (b";" * MILLION, "empty file"),
        (b"\0" * MILLION, "illegal character"),
    ],
    ids=lambda value: value[:60].decode("ascii") if isinstance(value, bytes) else None,
)
def test_a_million_of_something(text: bytes, message: str) -> None:
    with pytest.raises(PddlError, match=re.escape(message)):
        parse_problem(Source.from_bytes(text, "problem.pddl"), domain_of(DOMAIN))


def test_a_million_lists_in_the_goal_are_an_empty_goal() -> None:
    text = b"(define (problem p) (:domain depot) (:init) (:goal (and " + b"()" * MILLION + b")))"
    assert parse_problem(Source.from_bytes(text), domain_of(DOMAIN)).goal == ()


def nested(opening: str, depth: int, inner: str) -> str:
    """`inner` inside `depth` lists that begin with `opening`, in which `#` is the depth."""
    return "".join(opening.replace("#", str(i)) for i in range(depth)) + inner + ")" * depth


@pytest.mark.parametrize("opening", ["(and ", "(forall (?x# - crate) "])
@pytest.mark.parametrize("inner", ["(and)", "(in box lorry)"])
def test_deepest_goal(opening: str, inner: str) -> None:
    goal = nested(opening, 197, inner)
    task = read(DOMAIN.encode(), PROBLEM.replace("(and (in box lorry))", goal).encode())
    assert task is not None
    assert len(task.goal.positive) == (inner != "(and)")


@pytest.mark.parametrize(("opening", "depth"), [("(and ", 197), ("(forall (?x# - crate) ", 61)])
def test_deepest_effect(opening: str, depth: int) -> None:
    old = "(and (in ?c ?t) (not (at ?c ?p)) (increase (total-cost) 1))"
    task = read(DOMAIN.replace(old, nested(opening, depth, "(in ?c ?t)")).encode(), PROBLEM.encode())
    assert task is not None
    assert sum(len(effect.adds) for effect in task.schemas[0].effects) == 1


@pytest.mark.parametrize(
    "goal",
    [
        nested("(forall (?x# - thing) ", 100, "(and)"),
        nested("(forall (?x# - thing) ", 100, "(in box lorry)"),
        f"(forall ({' '.join(f'?x{i}' for i in range(100))} - thing) (and))",
    ],
    ids=["nested and empty", "nested", "flat and empty"],
)
def test_quantifiers_with_too_many_bindings_are_refused_in_time(goal: str) -> None:
    domain = domain_of(DOMAIN)
    problem = parse_problem(Source.from_bytes(PROBLEM.replace("(and (in box lorry))", goal).encode()), domain)
    with pytest.raises(UnsupportedError, match="expands to more than 1,000,000 literals"):
        build_task(domain, problem)


def test_a_predicate_with_a_hundred_thousand_arguments_is_refused_in_time() -> None:
    variables = " ".join(f"?x{i}" for i in range(100_000))
    domain = domain_of(f"(define (domain d) (:predicates (p {variables})))")
    text = b"(define (problem q) (:domain d) (:objects a b) (:init) (:goal (and)))"
    with pytest.raises(UnsupportedError, match=r"predicate 'p' with 100,000 arguments \(more than 62\)"):
        build_task(domain, parse_problem(Source.from_bytes(text), domain))


def test_long_chains_and_many_types_are_refused_in_time() -> None:
    chain = " ".join(f"t{i} - t{i + 1}" for i in range(4000))
    with pytest.raises(UnsupportedError, match="a type hierarchy of more than 200 levels"):
        domain_of(f"(define (domain d) (:types {chain} t4000) (:predicates))")
    many = " ".join(f"t{i}" for i in range(200_000))
    with pytest.raises(UnsupportedError, match="domain with more than 4,096 types"):
        domain_of(f"(define (domain d) (:types {many}) (:predicates))")


def test_unknown_object_among_many_is_reported_in_time() -> None:
    objects = " ".join(f"b{i}" for i in range(200_000))
    text = f"(define (problem q) (:domain depot) (:objects {objects} - crate) (:init (at bx1 b1)) (:goal (and)))"
    with pytest.raises(PddlError, match="unknown object 'bx1'; did you mean 'b1'"):
        parse_problem(Source.from_bytes(text.encode()), domain_of(DOMAIN))


MEASURE = """\
import json, resource, sys
from pathlib import Path
import saltus
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
task = saltus.load(sys.argv[1], sys.argv[2])
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(json.dumps({"atoms": len(task.problem.init_predicate), "fluent": len(task.initial_state),
                  "peak": int(peak.split()[1]) * 1024}))
"""

MEMORY_FACTOR = 20
"""Most memory that reading may take, as a multiple of the file's size (the design's figure)."""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")
def test_file_of_200_megabytes(tmp_path: Path) -> None:
    domain = tmp_path / "domain.pddl"
    problem = tmp_path / "problem.pddl"
    domain.write_text(
        "(define (domain map) (:predicates (link ?a ?b) (road ?a ?b))"
        " (:action build :parameters (?a ?b) :precondition (link ?a ?b) :effect (road ?a ?b)))"
    )
    names = [f"town{i}" for i in range(2900)]
    with problem.open("w") as file:
        file.write(f"(define (problem all) (:domain map) (:objects {' '.join(names)}) (:init\n")
        for i, name in enumerate(names):
            head = f"({'road' if i % 2 else 'link'} {name} "
            file.write(head + f")\n{head}".join(names) + ")\n")
        file.write(") (:goal (road town0 town1)))")
    size = problem.stat().st_size
    assert size > 180e6
    command = [sys.executable, "-c", MEASURE, str(domain), str(problem), str(MEMORY_FACTOR * size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    problem.unlink()
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["atoms"] == 2900 * 2900
    assert measured["fluent"] == 2900 * 1450
    assert measured["peak"] <= MEMORY_FACTOR * size
