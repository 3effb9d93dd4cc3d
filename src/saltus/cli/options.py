"""Options that several commands share: limits, policies, devices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated

import typer

from saltus.errors import ConfigurationError, shorten
from saltus.policy.attempt import PROTOCOLS, Limits
from saltus.policy.shipped import DEVICES

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
MEGABYTES = {"": 1, "k": 1 / 1024, "m": 1, "g": 1024}

TimeLimit = Annotated[
    str | None, typer.Option(help="Wall-clock time: seconds, or with a suffix s, m or h; none for no limit.")
]
MemoryLimit = Annotated[
    str | None, typer.Option(help="Resident memory: MiB, or with a suffix K, M or G; none for no limit.")
]
MaxChoices = Annotated[str | None, typer.Option(help="Most jumps of the greedy rollout; none for no limit.")]
Protocol = Annotated[
    str, typer.Option(help="Limits where none are given: paper (1,000 choices, 60 min) or open (30 min, 8 GB).")
]
Device = Annotated[str, typer.Option(help=f"One of {', '.join(DEVICES)}.")]
Seed = Annotated[int, typer.Option(help="Of the yardsticks random and goal-count.", min=0)]
Search = Annotated[
    bool, typer.Option("--search", help="Where the greedy rollout fails, search on with the policy's Q-values.")
]


def limits_of(protocol: str, time: str | None, memory: str | None, choices: str | None) -> Limits:
    """Limits of the protocol, with what was given instead."""
    if protocol not in PROTOCOLS:
        raise ConfigurationError(f"--protocol {shorten(protocol)}: expected one of {', '.join(PROTOCOLS)}")
    default = PROTOCOLS[protocol]
    seconds = default.seconds if time is None else amount("--time-limit", time, SECONDS)
    megabytes = default.memory_mb if memory is None else amount("--memory-limit", memory, MEGABYTES)
    count = default.choices if choices is None else whole("--max-choices", choices)
    return Limits(seconds, megabytes, count)


def amount(option: str, text: str, units: Mapping[str, float]) -> float | None:
    """Value of a number with a unit; None for `none`."""
    if text.lower() == "none":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]?)", text.strip().lower(), re.ASCII)
    if match is None or match[2] not in units:
        suffixes = ", ".join(unit for unit in units if unit)
        raise ConfigurationError(f"{option} {shorten(text)}: expected a number, with a suffix of {suffixes} or without")
    value = float(match[1]) * units[match[2]]
    if not 0 < value < math.inf:
        raise ConfigurationError(f"{option} {shorten(text)}: expected more than 0")
    return value


def whole(option: str, text: str) -> int | None:
    """Value of a whole number; None for `none`."""
    if text.lower() == "none":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ConfigurationError(f"{option} {shorten(text)}: expected a whole number, or none")
    return int(text)
