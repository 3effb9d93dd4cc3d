"""Stage `pddl`: from text to `Domain` and `Problem`, which are immutable, checked and know their source positions."""

from typing import TYPE_CHECKING

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.pddl.domain import parse_domain
    from saltus.pddl.problem import parse_problem
    from saltus.pddl.source import Source
    from saltus.pddl.structures import (
        OBJECT,
        Axiom,
        Condition,
        Cost,
        Domain,
        Effect,
        Exists,
        ForAll,
        Function,
        Literal,
        NumericTerm,
        Or,
        Predicate,
        Problem,
        Schema,
        Type,
        TypedName,
    )
    from saltus.pddl.writer import write_domain, write_problem
else:
    __getattr__ = names_later(
        __name__,
        {
            "domain": "parse_domain",
            "problem": "parse_problem",
            "source": "Source",
            "structures": "OBJECT Axiom Condition Cost Domain Effect Exists ForAll Function Literal NumericTerm"
            " Or Predicate Problem Schema Type TypedName",
            "writer": "write_domain write_problem",
        },
    )

__all__ = [
    "OBJECT",
    "Axiom",
    "Condition",
    "Cost",
    "Domain",
    "Effect",
    "Exists",
    "ForAll",
    "Function",
    "Literal",
    "NumericTerm",
    "Or",
    "Predicate",
    "Problem",
    "Schema",
    "Source",
    "Type",
    "TypedName",
    "parse_domain",
    "parse_problem",
    "write_domain",
    "write_problem",
]
