"""Command that looks at policy files: `policies`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import output
from saltus.cli.inspect import Json

if TYPE_CHECKING:
    from saltus.model.policy_file import PolicyFile


def policies(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Policy files; those that come with Saltus if none.")
    ] = None,
    domain: Annotated[
        Path | None, typer.Option(help="Check that the files fit this domain; without files, show what fits.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what policy files hold: method, sizes, domain, how they were trained and how good they were in validation.

    Examples:

        saltus policies

        saltus policies examples/blocksworld/untrained.safetensors --domain examples/blocksworld/domain.pddl
    """
    from saltus.model.policy_file import load_policy_file  # here, because importing PyTorch takes a second
    from saltus.pddl import Source, parse_domain
    from saltus.policy.catalogue import bundled_policies, find_policy, policy_name

    wanted = parse_domain(Source.from_file(domain)) if domain is not None else None
    found = {str(path): load_policy_file(path, wanted) for path in files or []}
    if not files:
        paths = list(bundled_policies().values()) if wanted is None else [find_policy(wanted)]
        found = {policy_name(path): load_policy_file(path) for path in paths}
    if json:
        output.print_json([{**facts(name, policy), "record": policy.record} for name, policy in found.items()])
        return
    entries = [facts(name, policy) for name, policy in found.items()]
    columns = [column for column in entries[0] if column != "from" or any(entry["from"] != "-" for entry in entries)]
    rows = [[entry[column] for column in columns] for entry in entries]
    output.console().print(output.table("Policies", columns, rows, left=3))


def facts(name: str, policy: PolicyFile) -> dict[str, Any]:
    """The columns of the table for one policy; what its record does not say is a dash."""
    record = policy.record
    validation = record.get("validation") or {}
    shares = [
        f"{part['solved']} of {part['problems']}" if part else "-"
        for part in (validation.get("held_out"), validation.get("larger"))
    ]
    return {
        "policy": name,
        "method": f"{policy.lookahead.kind}-{policy.encoding.kind}",
        "domain": str(record.get("domain", "-")),
        "layers": policy.network.spec.layers,
        "weights": sum(parameter.numel() for parameter in policy.network.parameters()),
        "seed": record.get("seed", "-"),
        "from": (record.get("start") or {}).get("policy", "-"),
        "episode": record.get("episode", "-"),
        "validation": shares[0],
        "larger": shares[1],
        "trained": str(record.get("date", "-")),
    }
