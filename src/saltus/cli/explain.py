"""The command that looks inside a rollout: `explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saltus.cli import output
from saltus.cli.inspect import DomainFile, ProblemFile, read_task
from saltus.errors import ConfigurationError, suggestion

if TYPE_CHECKING:
    from saltus.policy import Policy, Step
    from saltus.task import Task


def explain(
    domain: DomainFile,
    problem: ProblemFile,
    policy: Annotated[str, typer.Option(help="Policy file, or a yardstick: random, goal-count.")],
    out: Annotated[Path, typer.Option(help="Page to write; needs nothing but a browser.")],
    max_choices: Annotated[int, typer.Option(help="Most jumps.", min=1)] = 200,
    per_depth: Annotated[int, typer.Option(help="Nodes of the tree shown of every depth, best first.", min=1)] = 8,
    seed: Annotated[int, typer.Option(help="Of a yardstick's random choices.", min=0)] = 0,
) -> None:
    """Write a page that steps through a policy's rollout: trees, Q-values, jumps, goals.

    Large trees are thinned: the best nodes of every depth and the path of the jump are shown.

    Example:

        saltus explain examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --policy random --out page.html
    """
    from saltus.report.explain import ending_text, explain_page, trace  # here: importing PyTorch takes a second
    from saltus.report.html import write_page

    task = read_task(domain, problem)
    chosen = open_policy(policy, task, seed)
    name = Path(policy).name
    terminal = output.error_console()
    if terminal.is_terminal:
        with terminal.status("looking ahead") as status:
            taken = 0

            def tell(step: Step) -> None:
                nonlocal taken
                taken += 1
                goals = int(step.tree.goals[step.node])
                status.update(f"jump {taken}: {goals} goals, tree of {len(step.tree):,}")

            content = trace(task, chosen, name, max_choices=max_choices, per_depth=per_depth, see=tell)
    else:
        content = trace(task, chosen, name, max_choices=max_choices, per_depth=per_depth)
    write_page(out, explain_page(content))
    print(f"{ending_text(content)}; page written to {out}")


def open_policy(name: str, task: Task, seed: int) -> Policy:
    """The policy of a file, checked against the task's domain, or a yardstick of that name."""
    import numpy as np

    from saltus.policy import YARDSTICKS, LearnedPolicy

    if name in YARDSTICKS:
        return YARDSTICKS[name](np.random.default_rng(seed), None)
    if not Path(name).exists():
        hint = suggestion(name, YARDSTICKS) or f"; expected a policy file or one of {', '.join(sorted(YARDSTICKS))}"
        raise ConfigurationError(f"--policy {name}: no such file{hint}")
    return LearnedPolicy.load(name, task.domain)
