"""Stage `up`: the PDDL of a problem that a policy fits.

A policy fits a domain with its signature, constants included. A problem of unified-planning does not say which of its
objects are constants of the domain: those that actions mention certainly are. Where a policy fits but for other
constants, objects of the problem with their names and types become constants.
"""

from __future__ import annotations

from collections.abc import Iterator

from unified_planning.model import Problem

from saltus.model.description import read_description
from saltus.pddl import Domain, Source, parse_domain
from saltus.pddl.signature import Signature, domain_signature, signature_differences
from saltus.policy.catalogue import AUTO, YARDSTICK_NAMES, bundled_policies, policy_folder, policy_path
from saltus.policy.planning import Planner
from saltus.policy.policies import LearnedPolicy
from saltus.up.translation import Translation

DOMAIN_NAME, PROBLEM_NAME = "<domain>", "<problem>"
"""Names of both texts in messages."""


def translate_for(problem: Problem, policy: str | Planner) -> Translation:
    """The problem as PDDL, with the constants of a policy that fits if there is one.

    What Saltus does not support in the domain is an `UnsupportedError`.
    """
    translation = Translation(problem)
    own = domain_signature(read_domain(translation))
    for signature in signatures(policy):
        if not signature_differences(signature, own):
            return translation
    for signature in signatures(policy):
        if signature_differences(without_constants(signature), without_constants(own)):
            continue
        named = Translation(problem, [line.split()[0] for line in signature.get("constants", ())])
        if not signature_differences(signature, domain_signature(read_domain(named))):
            return named
    return translation


def read_domain(translation: Translation) -> Domain:
    """The domain of a translation."""
    return parse_domain(Source.from_bytes(translation.domain.encode(), DOMAIN_NAME))


def signatures(policy: str | Planner) -> Iterator[Signature]:
    """Signatures of the domains that the policies of that name, or a policy, were trained on."""
    if isinstance(policy, Planner):
        if isinstance(policy, LearnedPolicy) and policy.signature is not None:
            yield policy.signature
    elif policy not in YARDSTICK_NAMES:
        folder = policy_folder(policy)
        is_choice = policy == AUTO or folder is not None
        for path in bundled_policies(folder).values() if is_choice else [policy_path(policy)]:
            yield read_description(path).signature


def without_constants(signature: Signature) -> Signature:
    """A signature without its constants."""
    return {kind: lines for kind, lines in signature.items() if kind != "constants"}
