"""Stage `up`: makes the engine known to unified-planning, by name and as a choice for the problems that it supports."""

from __future__ import annotations

from unified_planning.environment import Environment, get_environment

ENGINE = "saltus"
"""Name of the engine."""


def register(environment: Environment | None = None) -> None:
    """Adds the engine `saltus` to an environment of unified-planning (default: the global one), unless it is there."""
    factory = get_environment(environment).factory
    if ENGINE not in factory.engines:
        factory.add_engine(ENGINE, "saltus.up.engine", "SaltusEngine")
