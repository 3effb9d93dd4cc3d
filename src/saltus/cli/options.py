"""Arguments and options that several commands share: files, limits, devices, parallel runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from saltus.errors import ConfigurationError, shorten
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.model.device import DEVICES
from saltus.policy.amounts import MEGABYTES, amount, seconds_of
from saltus.policy.catalogue import check_lookahead
from saltus.policy.outcome import PROTOCOLS, Limits, PlanningProtocol

DomainFile = Annotated[Path, typer.Argument(help="PDDL domain file; - for standard input.")]
ProblemFile = Annotated[Path, typer.Argument(help="PDDL problem file; - for standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse flaws in PDDL files that are otherwise warnings, such as repeated objects."),
]
TimeLimit = Annotated[
    str | None, typer.Option(help="Wall-clock time limit, such as 90, 10m or 1h30m; none for no limit.")
]
MemoryLimit = Annotated[
    str | None, typer.Option(help="Limit on resident memory in MiB, or with suffix K, M or G; none for no limit.")
]
MaxJumps = Annotated[str | None, typer.Option(help="Limit on the jumps of the greedy rollout; none for no limit.")]
Protocol = Annotated[
    str,
    typer.Option(
        help="Default limits and rules: open (30 min, 8 GiB, a search if the greedy rollout fails) or paper"
        " (1,000 jumps, 60 min, 15 min for flat policies, no search; a goal state is taken only if it has the best"
        " Q-value)."
    ),
]
Device = Annotated[str, typer.Option(help=f"Device for the network: {', '.join(DEVICES)}.")]
Seed = Annotated[int, typer.Option(help="Random seed of the yardsticks random and goal-count.", min=0)]
Lookahead = Annotated[
    list[str] | None,
    typer.Option(
        "--lookahead",
        metavar="KEY=VALUE",
        help="Change the trees of the yardsticks random and goal-count, such as free_moves=true or kind=iw (can be"
        " repeated).",
    ),
]
Play = Annotated[
    list[str] | None,
    typer.Option(
        "--play",
        metavar="KEY=VALUE",
        help="Change how a policy plays, such as roles=8 for problems with thousands of similar objects, dead_ends=true"
        " or goals_in_sight=1 (can be repeated).",
    ),
]
Search = Annotated[
    bool | None,
    typer.Option(
        "--search/--greedy",
        help="Whether a search guided by the policy and by goals follows a greedy rollout that fails or makes no"
        " progress (default: --search; with --protocol paper: --greedy).",
        show_default=False,
    ),
]
Ray = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on a Ray cluster; local starts one on this machine.")
]


def protocol_of(name: str) -> PlanningProtocol:
    """The protocol of that name."""
    if name not in PROTOCOLS:
        raise ConfigurationError(f"--protocol {shorten(name)}: expected one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def search_of(search: bool | None, protocol: str) -> bool:
    """Whether a search follows: as asked for, or as the protocol has it."""
    return protocol_of(protocol).search if search is None else search


def lookahead_of(settings: Sequence[str] | None, policy: str) -> tuple[str, ...]:
    """What differs from the default lookahead; only yardsticks take another."""
    check_lookahead(policy, TreeSpec.of(settings) if settings else None)
    return TreeSpec.of(settings or ()).settings


def play_of(settings: Sequence[str] | None, protocol: str) -> tuple[str, ...]:
    """How the policy plays: what the protocol says, then what is asked for."""
    found = (*protocol_of(protocol).play, *(settings or ()))
    PlaySpec.of(found)  # reports a wrong one
    return found


def limits_of(protocol: str, time: str | None, memory: str | None, jumps: str | None) -> Limits:
    """Limits of the protocol, replaced by those that are given."""
    default = protocol_of(protocol).limits
    seconds = default.seconds if time is None else seconds_of("--time-limit", time)
    megabytes = default.memory_mb if memory is None else amount("--memory-limit", memory, MEGABYTES)
    count = default.max_jumps if jumps is None else whole("--max-jumps", jumps)
    return Limits(seconds, megabytes, count)


def check_device(device: str) -> None:
    """Rejects an unknown device; whether the device exists is checked where it is used."""
    if device not in DEVICES:
        raise ConfigurationError(f"--device {device}: expected one of {', '.join(DEVICES)}")


def whole(option: str, text: str) -> int | None:
    """Value of a whole number; None for `none`."""
    if text.lower() == "none":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ConfigurationError(f"{option} {shorten(text)}: expected a whole number, or none")
    return int(text)
