"""Random small tasks for property tests: types, constants, nullary to ternary predicates, negative preconditions,
equality, conditional and universal effects. Drawn as PDDL text, so that the reader is part of what is tested."""

from __future__ import annotations

from hypothesis import strategies as st

from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import Task, build_task

TYPES = ("t0", "t1", "t2")


@st.composite
def random_tasks(draw: st.DrawFn, *, conditional: bool = True, max_objects: int = 5) -> Task:
    """A task; not often solvable, always well-formed."""
    parents = {"t0": "object", "t1": draw(st.sampled_from(["object", "t0"])), "t2": "object"}
    kinds = ["object", *TYPES]
    arities = draw(st.lists(st.integers(0, 3), min_size=2, max_size=5))
    predicates = [
        (f"p{i}", [draw(st.sampled_from(["object", "object", "t0", "t2"])) for _ in range(n)])
        for i, n in enumerate(arities)
    ]
    constants = [(f"c{i}", draw(st.sampled_from(TYPES))) for i in range(draw(st.integers(0, 1)))]
    objects = [(f"o{i}", draw(st.sampled_from(kinds))) for i in range(draw(st.integers(1, max_objects)))]

    def is_a(kind: str, wanted: str) -> bool:
        while kind != wanted and kind != "object":
            kind = parents[kind]
        return kind == wanted

    def literal(terms: list[tuple[str, str]], *, only: list[tuple[str, list[str]]] | None = None) -> str | None:
        name, wanted = draw(st.sampled_from(only or predicates))
        chosen = []
        for kind in wanted:
            fitting = [term for term, own in terms if is_a(own, kind)]
            if not fitting:
                return None
            chosen.append(draw(st.sampled_from(fitting)))
        return f"({' '.join([name, *chosen])})"

    def condition(terms: list[tuple[str, str]], most: int) -> str:
        parts = []
        for _ in range(draw(st.integers(0, most))):
            if len(terms) > 1 and draw(st.integers(0, 7)) == 0:
                a, b = (draw(st.sampled_from(terms))[0] for _ in range(2))
                part: str | None = f"(= {a} {b})"
            else:
                part = literal(terms)
            if part is not None:
                parts.append(f"(not {part})" if draw(st.integers(0, 3)) == 0 else part)
        return f"(and {' '.join(parts)})"

    def effects(terms: list[tuple[str, str]], most: int) -> list[str]:
        parts = []
        for _ in range(draw(st.integers(1, most))):
            part = literal(terms)
            if part is not None:
                parts.append(f"(not {part})" if draw(st.booleans()) else part)
        return parts

    actions = []
    for number in range(draw(st.integers(1, 3))):
        parameters = [(f"?x{i}", draw(st.sampled_from(kinds))) for i in range(draw(st.integers(0, 3)))]
        terms = [*parameters, *constants]
        parts = effects(terms, 4)
        if conditional and draw(st.integers(0, 3)) == 0:
            parts.append(f"(when {condition(terms, 2)} (and {' '.join(effects(terms, 2))}))")
        if conditional and draw(st.integers(0, 5)) == 0:
            inner = [*terms, ("?y", draw(st.sampled_from(kinds)))]
            body = f"(when {condition(inner, 2)} (and {' '.join(effects(inner, 2))}))"
            parts.append(f"(forall (?y - {inner[-1][1]}) {body})")
        typed = " ".join(f"{name} - {kind}" for name, kind in parameters)
        actions.append(
            f"(:action a{number} :parameters ({typed}) :precondition {condition(terms, 3)}\n"
            f"  :effect (and {' '.join(parts)}))"
        )
    declared = " ".join(f"({' '.join([name, *(f'?v{i} - {k}' for i, k in enumerate(ks))])})" for name, ks in predicates)
    domain_text = (
        f"(define (domain random)\n(:types {' '.join(f'{name} - {parents[name]}' for name in TYPES)})\n"
        f"(:constants {' '.join(f'{name} - {kind}' for name, kind in constants)})\n"
        f"(:predicates {declared})\n" + "\n".join(actions) + ")"
    )
    everything = [*constants, *objects]
    init = {atom for _ in range(draw(st.integers(0, 10))) if (atom := literal(everything)) is not None}
    goal = {atom for _ in range(draw(st.integers(0, 3))) if (atom := literal(everything)) is not None}
    negated = {atom for _ in range(draw(st.integers(0, 1))) if (atom := literal(everything)) is not None}
    goals = [*sorted(goal), *(f"(not {atom})" for atom in sorted(negated))]
    problem_text = (
        f"(define (problem random) (:domain random)\n"
        f"(:objects {' '.join(f'{name} - {kind}' for name, kind in objects)})\n"
        f"(:init {' '.join(sorted(init))})\n(:goal (and {' '.join(goals)})))"
    )
    domain = parse_domain(Source.from_bytes(domain_text.encode(), "domain"))
    return build_task(domain, parse_problem(Source.from_bytes(problem_text.encode(), "problem"), domain))
