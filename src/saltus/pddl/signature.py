"""Stage `pddl`: the signature of a domain: what a policy depends on, as plain text.

Two domains with the same signature have the same types, constants, predicates, action schemas and axioms, in the same
order. The domain's name is not part of it, and variables may have other names. Needs no PyTorch, so a policy that fits
a domain is found quickly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from saltus.errors import WrongPolicyError
from saltus.pddl.structures import Domain
from saltus.pddl.writer import type_text, write_domain

Signature = Mapping[str, Sequence[str]]
"""Lines of text by kind: types, constants, predicates, schemas. The first word of a line is the name."""

KINDS = {
    "types": "type",
    "constants": "constant",
    "predicates": "predicate",
    "schemas": "action",
    "axioms": "derived predicate",
}
"""Kinds of lines, and the word for one of them in messages; domains without axioms have no lines of that kind."""

SCHEMA_START = "(:action "
AXIOM_START = "(:derived ("

WHOLE = ("schemas", "axioms")
"""Kinds whose lines are shown by name only."""

VARIABLES = ("?x", "?y", "?z")
"""Variables in messages about predicates, which a signature does not name."""


def domain_signature(domain: Domain) -> dict[str, list[str]]:
    """Signature of a domain: types with supertypes, predicates with the types of their arguments, whole schemas and
    axioms."""
    types = [f"{entry.name} - {' '.join(entry.parents)}" for entry in domain.types if entry.parents]
    constants = [f"{entry.name} - {' '.join(entry.types)}" for entry in domain.constants]
    predicates = [
        " ".join([entry.name, *(" or ".join(parameter.types) for parameter in entry.parameters)])
        for entry in domain.predicates
    ]
    schemas: list[str] = []
    axioms: list[str] = []
    for line in write_domain(domain).splitlines():
        if line.startswith(f"  {AXIOM_START}"):
            axioms.append(line.strip())
        if line.startswith(f"  {SCHEMA_START}"):
            schemas.append("")
        if schemas and not line.startswith(")"):
            schemas[-1] = f"{schemas[-1]} {line.strip()}".strip()
    signature = {"types": types, "constants": constants, "predicates": predicates, "schemas": schemas}
    return {**signature, "axioms": axioms} if axioms else signature


def signature_differences(policy: Signature, domain: Signature) -> list[str]:
    """Differences between a policy's signature and a domain's, in words; empty if the policy fits the domain."""
    differences: list[str] = []
    for kind, word in KINDS.items():
        wanted, found = _lines(policy, kind), _lines(domain, kind)
        theirs = {_name(line): line for line in wanted if line not in found}
        ours = {_name(line): line for line in found if line not in wanted}
        for name, line in theirs.items():
            if name not in ours:
                differences.append(f"{word} {_shown(kind, line)} is missing")
            elif kind in WHOLE:
                differences.append(f"{word} '{name}' differs")
            else:
                differences.append(f"{word} {_shown(kind, ours[name])} differs, the policy has {_shown(kind, line)}")
        differences += [
            f"{word} {_shown(kind, line)} is new to the policy" for name, line in ours.items() if name not in theirs
        ]
        if not theirs and not ours and wanted != found:
            differences.append(f"the {word}s are in a different order")
    return differences


def shared_lines(policy: Signature, domain: Signature) -> int:
    """Number of predicates and schemas that two signatures have in common."""
    return sum(
        (Counter(_lines(policy, kind)) & Counter(_lines(domain, kind))).total() for kind in ("predicates", "schemas")
    )


def check_signature(signature: Signature, domain: Domain) -> None:
    """Raises a `WrongPolicyError` that lists the differences if a policy with this signature does not fit."""
    differences = signature_differences(signature, domain_signature(domain))
    if differences:
        raise WrongPolicyError(
            f"the policy was trained on another domain than {domain.name!r} ({domain.file}): {listed(differences)}"
        )


def listed(differences: Sequence[str], most: int = 5) -> str:
    """The first differences in one line, and how many more there are."""
    rest = len(differences) - most
    return "; ".join(differences[:most]) + (f"; and {rest} more" if rest > 0 else "")


def _lines(signature: Signature, kind: str) -> list[str]:
    """Lines of one kind, with their variables renamed."""
    return [_renamed(line) for line in signature.get(kind, ())]


def _renamed(line: str) -> str:
    """A line whose variables have numbers for names, in the order in which they occur first."""
    numbers: dict[str, int] = {}
    return re.sub(r"\?[^\s()]+", lambda found: f"?{numbers.setdefault(found[0], len(numbers))}", line)


def _name(line: str) -> str:
    return line.removeprefix(SCHEMA_START).removeprefix(AXIOM_START).split()[0].rstrip(")")


def _shown(kind: str, line: str) -> str:
    """A line as PDDL writes it; of a schema or an axiom, its name."""
    if kind in WHOLE:
        return f"'{_name(line)}'"
    if kind != "predicates":
        return f"'{line}'"
    name, *words = line.split()
    types: list[list[str]] = []  # of each argument; alternatives are joined by "or"
    for before, word in zip(["", *words], words, strict=False):
        if before == "or":
            types[-1].append(word)
        elif word != "or":
            types.append([word])
    variables = VARIABLES if len(types) <= len(VARIABLES) else [f"?x{i + 1}" for i in range(len(types))]
    typed = [f"{variable} - {type_text(entry)}" for variable, entry in zip(variables, types, strict=False)]
    return f"({' '.join([name, *typed])})"
