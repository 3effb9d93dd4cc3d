"""The command that shows what policy files hold: `policies`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import output
from saltus.cli.options import Json

if TYPE_CHECKING:
    from saltus.model.schema import PolicyDescription


def policies(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="POLICY", help="Policies by name, file or run folder (default: all bundled policies)."),
    ] = None,
    domain: Annotated[
        Path | None,
        typer.Option(help="Check that the policies fit this domain; without policies, show the one that fits."),
    ] = None,
    json: Json = False,
) -> None:
    """Show what policies are: method, size, domain, how they were trained, and how they did in validation.

    Examples:

        saltus policies

        saltus policies examples/blocksworld/untrained.safetensors --domain examples/blocksworld/domain.pddl
    """
    from saltus.model.description import read_description
    from saltus.pddl import Source, parse_domain
    from saltus.policy.catalogue import bundled_policies, find_policy, policy_name, policy_path

    wanted = parse_domain(Source.from_file(domain)) if domain is not None else None
    if names:
        from saltus.model.weights import load_weights

        paths: Iterable[Path] = [policy_path(name) for name in names]
        for path in paths:
            load_weights(path, wanted)  # they are checked, too
    else:
        paths = bundled_policies().values() if wanted is None else [find_policy(wanted)]
    found = {policy_name(path): read_description(path) for path in paths}
    entries = [facts(name, description) for name, description in found.items()]
    if json:
        records = [description.record for description in found.values()]
        output.print_json([{**entry, "record": record} for entry, record in zip(entries, records, strict=True)])
        return
    usual = {"from": "-", "counts": "jumps"}  # columns that say the usual of every policy are left out
    columns = [name for name in entries[0] if any(entry[name] != usual.get(name) for entry in entries)]
    rows = [[entry[column] for column in columns] for entry in entries]
    output.console().print(output.table("Policies", columns, rows, left=3))


def facts(name: str, policy: PolicyDescription) -> dict[str, Any]:
    """The columns of the table for one policy; a dash where its record says nothing."""

    def shown(*keys: str) -> str | int | float:
        found = policy.recorded(*keys)
        return "-" if found is None else found

    def coverage(part: str) -> str:
        solved, problems = (policy.recorded("validation", part, key) for key in ("solved", "problems"))
        return "-" if solved is None or problems is None else f"{solved} of {problems}"

    def origin() -> str:
        from saltus.policy.catalogue import RUN_POLICY

        path, episode = policy.recorded("start", "policy"), policy.recorded("start", "episode")
        if path is None:
            return "-"
        run = Path(str(path)).parent.name if Path(str(path)).name == RUN_POLICY else str(path)
        return run if episode is None else f"{run}, episode {episode}"

    return {
        "policy": name,
        "method": policy.method,
        "domain": shown("domain"),
        "layers": policy.model.layers,
        "weights": policy.weights,
        "seed": shown("seed"),
        "from": origin(),
        "counts": policy.cost.unit,
        "episode": shown("episode") or ("-" if policy.recorded("start") else 0),  # "from" says it if none was added
        "validation": coverage("held_out"),
        "larger": coverage("larger"),
        "trained": shown("date"),
    }
