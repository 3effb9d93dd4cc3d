"""The command that looks inside a rollout: `explain`."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saltus.cli import output
from saltus.cli.inspect import read_task
from saltus.cli.options import DomainFile, Lookahead, Play, ProblemFile, Protocol, Seed, lookahead_of, play_of
from saltus.cli.progress import bar

if TYPE_CHECKING:
    from saltus.policy import Step


def explain(
    domain: DomainFile,
    problem: ProblemFile,
    out: Annotated[Path, typer.Option(help="Page to write; needs nothing but a browser.")] = Path("explain.html"),
    policy: Annotated[
        str,
        typer.Option(
            help="A bundled policy, a policy file, a run folder, random or goal-count; auto picks the one that fits."
        ),
    ] = "auto",
    max_jumps: Annotated[int, typer.Option(help="Maximum number of jumps.", min=1)] = 200,
    per_depth: Annotated[int, typer.Option(help="Number of nodes shown per depth, best first.", min=1)] = 8,
    seed: Seed = 0,
    lookahead: Lookahead = None,
    protocol: Protocol = "open",
    play: Play = None,
) -> None:
    """Write a page that steps through a policy's rollout: trees, Q-values, jumps, goals.

    Large trees are thinned: the best nodes of every depth and the path of the jump are shown.

    Example:

        saltus explain examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --policy random --out page.html
    """
    from saltus.lab.report.explain import ending_text, explain_page, trace
    from saltus.lab.report.html import write_page
    from saltus.process import PlanJob
    from saltus.process.plan_work import choose_policy

    trees, rules = lookahead_of(lookahead, policy), play_of(play, protocol)
    task = read_task(domain, problem)
    job = PlanJob("", "", policy=policy, device="cpu", seed=seed, lookahead=trees, play=rules)
    chosen, name, warnings = choose_policy(job, task.domain)
    for warning in warnings:
        output.warning(warning)
    with bar("Looking ahead", max_jumps) as line:
        taken = count(1)

        def tell(step: Step) -> None:
            if line is not None:
                line.update(next(taken), f"{int(step.tree.goals[step.node])} goals, tree of {len(step.tree):,}")

        content = trace(task, chosen, name, max_jumps=max_jumps, per_depth=per_depth, see=tell)
    write_page(out, explain_page(content))
    output.result(f"{ending_text(content)}; page written to {out}")
