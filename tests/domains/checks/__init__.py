"""Whether a problem of a registered domain is well formed.

Takes a domain's name and a task; gives sentences about faults. The rules hold for every state that a plan can pass
through, not only for those that the generators begin with: a block may be held, a package may be in a truck. Atoms that
contradict each other, things without a place, structures that are not what the domain is about (towers, chains, grids)
and goals that nothing can fulfil are faults. A problem without faults may still be unsolvable.
"""

from __future__ import annotations

from tests.domains.checks.facts import Facts
from tests.domains.checks.rulebook import RULES
from tests.domains.checks.rules import open_goal

from saltus.errors import ConfigurationError
from saltus.task import Task

CHECKED = tuple(RULES)
"""Names of the domains that have rules."""


def check_problem(name: str, task: Task) -> list[str]:
    """Sentences about what is wrong with a problem; empty if it is well formed.

    The task must be of the domain of that name; a domain without rules is a `ConfigurationError`.
    """
    if name not in RULES:
        raise ConfigurationError(f"no rules for problems of {name!r}; expected one of {', '.join(RULES)}")
    facts = Facts(task)
    return list(dict.fromkeys(sentence for rule in (*RULES[name], open_goal) for sentence in rule(facts)))


__all__ = ["CHECKED", "check_problem"]
