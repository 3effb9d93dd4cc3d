"""Stage `pddl`: the signature of a domain: what a policy depends on, as plain text.

Two domains with the same signature have the same types, constants, predicates and action schemas, in the same order.
The domain's name is not part of it.
"""

from __future__ import annotations

from saltus.errors import WrongPolicyError
from saltus.pddl.structures import Domain
from saltus.pddl.writer import write_domain

Signature = dict[str, list[str]]
"""Lines of text by kind: types, constants, predicates, schemas."""


def check_signature(signature: Signature, domain: Domain) -> None:
    """Raises a `WrongPolicyError` that lists the differences if the domain has another signature."""
    differences = signature_difference(signature, domain_signature(domain))
    if differences:
        shown = "; ".join(differences[:5]) + (f"; and {len(differences) - 5} more" if len(differences) > 5 else "")
        raise WrongPolicyError(f"policy was trained on another domain than {domain.name!r} ({domain.file}): {shown}")


def domain_signature(domain: Domain) -> Signature:
    """What a policy depends on, as text: types with supertypes, predicates with types, schemas in full."""
    lines = write_domain(domain).splitlines()
    types = [f"{entry.name} - {entry.parent}" for entry in domain.types if entry.parent is not None]
    constants = [f"{entry.name} - {' '.join(entry.types)}" for entry in domain.constants]
    predicates = [
        " ".join([entry.name, *(" or ".join(parameter.types) for parameter in entry.parameters)])
        for entry in domain.predicates
    ]
    schemas: list[str] = []
    for line in lines:
        if line.startswith("  (:action "):
            schemas.append("")
        if schemas and not line.startswith(")"):
            schemas[-1] = f"{schemas[-1]} {line.strip()}".strip()
    return {"types": types, "constants": constants, "predicates": predicates, "schemas": schemas}


def signature_difference(wanted: Signature, found: Signature) -> list[str]:
    """Differences between two signatures in words; none if they are equal."""
    words = {"types": "type", "constants": "constant", "predicates": "predicate", "schemas": "schema"}
    differences: list[str] = []
    for kind, word in words.items():
        before, after = wanted.get(kind, []), found.get(kind, [])
        missing = [entry for entry in before if entry not in after]
        extra = [entry for entry in after if entry not in before]
        differences += [f"{word} {_short(entry)} is missing" for entry in missing]
        differences += [f"{word} {_short(entry)} is not the policy's" for entry in extra]
        if not missing and not extra and before != after:
            differences.append(f"the {kind} come in another order")
    return differences


def _short(entry: str) -> str:
    words = entry.removeprefix("(:action ").split()
    return f"'{words[0]}'" if entry.startswith("(:action ") else f"'{entry}'"
