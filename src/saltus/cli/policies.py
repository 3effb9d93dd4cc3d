"""Command that looks at policy files: `policies`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import output
from saltus.cli.inspect import Json


def policies(
    files: Annotated[list[Path], typer.Argument(help="Policy files.")],
    domain: Annotated[Path | None, typer.Option(help="Check that the policies fit this domain file.")] = None,
    json: Json = False,
) -> None:
    """Show what policy files hold: encoding, lookahead, sizes, domain and training.

    Example:

        saltus policies examples/blocksworld/untrained.safetensors --domain examples/blocksworld/domain.pddl
    """
    from saltus.model.policy_file import load_policy_file  # here, because importing PyTorch takes a second
    from saltus.pddl import Source, parse_domain

    wanted = parse_domain(Source.from_file(domain)) if domain is not None else None
    rows: list[tuple[object, ...]] = []
    for path in files:
        policy = load_policy_file(path, wanted)
        weights = sum(parameter.numel() for parameter in policy.network.parameters())
        rows.append(
            (
                str(path),
                f"{policy.lookahead.kind}-{policy.encoding.kind}",
                str(policy.record.get("domain", "?")),
                len(policy.vocabulary),
                policy.network.spec.layers,
                weights,
            )
        )
    columns = ["file", "method", "domain", "relations", "layers", "weights"]
    if json:
        output.print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        output.console().print(output.table("Policies", columns, rows, left=3))
