"""Stage `lab.report`: a page that steps through a policy's rollout on a task.

The page contains every jump: the best part of the tree (`tree_drawing.py`), Q-values, the actions of the jump and the
goals it reached or lost. Action names are stored once and referred to by number, so that a page of a hundred jumps
stays small. Where moves are free, those that lead to an action are folded: the page says how many they are, and lists
them on a click.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from saltus.errors import plural
from saltus.lab.report.html import document
from saltus.lab.report.tree_drawing import draw
from saltus.lookahead import LookaheadTree
from saltus.policy import Ending, LearnedPolicy, Policy, Step, play, run_rollout
from saltus.policy.choose import tolerance
from saltus.task import Plan, State, Task, validate

JUMP_LIMIT = "jump limit"


class _Names:
    """Texts and their numbers, in the order of first use."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        found = self._numbers.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


def trace(
    task: Task,
    policy: Policy,
    name: str,
    *,
    max_jumps: int = 200,
    per_depth: int = 8,
    see: Callable[[Step], None] | None = None,
) -> dict[str, Any]:
    """The greedy rollout as plain values; `see` is called with every jump as it is taken."""
    rollout = play(policy, task)
    names = _Names()
    counted = policy.cost.counted if isinstance(policy, LearnedPolicy) else None
    scale = policy.cost.scale if isinstance(policy, LearnedPolicy) else 1.0
    goals = [task.atom_name(code) for code in task.goal.positive.tolist()]
    goals += [f"(not {task.atom_name(code)})" for code in task.goal.negative.tolist()]
    steps: list[dict[str, Any]] = []
    actions: list[str] = []
    steps_left = run_rollout(policy, rollout)
    while len(steps) < max_jumps and (step := next(steps_left, None)) is not None:
        if see is not None:
            see(step)
        steps.append(_step(task, step, names, per_depth, scale))
        actions += [task.action_name(action) for action in step.actions]
    ending = JUMP_LIMIT if rollout.ending is None else str(rollout.ending)
    solved = rollout.ending is Ending.SOLVED and bool(validate(task, Plan.of(actions)))
    spec = policy.lookahead
    return {
        "domain": task.domain.name,
        "problem": task.name,
        "objects": task.object_count,
        "policy": name,
        "lookahead": spec.label,
        "counted": counted,
        "ending": ending,
        "solved": solved,
        "length": len(actions),
        "goals": goals,
        "reached": sorted(_reached(task, task.initial_state)),
        "impossible": task.goal.impossible,
        "names": names.texts,
        "steps": steps,
    }


def _reached(task: Task, state: State) -> set[int]:
    """The numbers of the goals that hold in a state; positive goals are numbered before negative ones."""
    missing = set(task.goal.missing(state).tolist())
    violated = set(task.goal.violated(state).tolist())
    positive, negative = task.goal.positive.tolist(), task.goal.negative.tolist()
    found = {i for i, code in enumerate(positive) if code not in missing}
    return found | {len(positive) + i for i, code in enumerate(negative) if code not in violated}


def _step(task: Task, step: Step, names: _Names, per_depth: int, scale: float) -> dict[str, Any]:
    """One jump as plain values: the part of its tree that is shown, and what the jump does.

    Q-values are multiplied by `scale`, so that they count whole jumps, actions or costs.
    """
    tree, q = step.tree, step.q * np.float32(scale)
    drawing = draw(tree, q, step.node, per_depth)
    place = {node: i for i, node in enumerate(drawing.nodes)}
    before, after = _reached(task, step.state), _reached(task, step.successor)
    paths: list[list[int | list[int]]] = [[]]
    for node, parent in zip(drawing.nodes[1:], drawing.parents[1:], strict=True):
        paths.append(_edges(tree, drawing.nodes[parent], node, names))
    finite = q[np.isfinite(q)].astype(np.float64)
    added, deleted = tree.added_of(step.node).tolist(), tree.deleted_of(step.node).tolist()
    return {
        "size": len(tree),
        "cut": tree.truncated,
        "left_out": tree.left_out,
        "hidden": drawing.hidden,
        "depth": tree.depth[drawing.nodes].tolist(),
        "parent": drawing.parents,
        "row": drawing.rows,
        "path": paths,
        "q": [None, *(_rounded(float(q[node - 1])) for node in drawing.nodes[1:])],
        "goals": tree.goals[drawing.nodes].tolist(),
        "jump": place[step.node],
        "rank": 1 + int((q > q[step.node - 1] + tolerance(float(q[step.node - 1]))).sum()),
        "low": _rounded(float(np.quantile(finite, 0.05))) if len(finite) else None,
        "high": _rounded(float(finite.max())) if len(finite) else None,
        "actions": _edges(tree, 0, step.node, names),
        "gained": sorted(after - before),
        "lost": sorted(before - after),
        "added": [task.atom_name(code) for code in added[:60]],
        "deleted": [task.atom_name(code) for code in deleted[:60]],
        "changes": [len(added), len(deleted)],
        "solved": step.solved,
    }


def _edges(tree: LookaheadTree, ancestor: int, node: int, names: _Names) -> list[int | list[int]]:
    """The numbers of the actions from an ancestor to a node; an action after moves is a list that starts with them."""
    edges: list[int | list[int]] = []
    while node != ancestor:
        numbers = [names.number(tree.task.action_name(action)) for action in tree.jump_to(node)]
        edges.append(numbers if len(numbers) > 1 else numbers[0])
        node = int(tree.parent[node])
    return edges[::-1]


def _rounded(value: float) -> float | None:
    """The value in five significant digits; None unless it is finite."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def ending_text(content: dict[str, Any]) -> str:
    """How the rollout ended, in words."""
    jumps = plural(len(content["steps"]), "jump")
    if content["solved"]:
        if not content["steps"]:
            return "solved: the goal holds in the initial state"
        return f"solved in {jumps}, {plural(content['length'], 'action')}"
    words = {
        str(Ending.DEAD_END): "no successor",
        str(Ending.PROVEN_DEAD_END): "the goal cannot be reached",
        str(Ending.STUCK): "every state of the tree has been visited or is a dead end",
        JUMP_LIMIT: "stopped by the jump limit",
    }
    return f"not solved after {jumps}: {words.get(content['ending'], content['ending'])}"


def explain_page(content: dict[str, Any]) -> str:
    """The page for a rollout, as returned by `trace`."""
    title = f"{content['domain']} / {content['problem']}: {content['policy']}"
    facts = [
        f"policy <b>{escape(content['policy'])}</b>",
        f"lookahead {escape(content['lookahead'])}",
        plural(content["objects"], "object"),
        plural(len(content["goals"]), "goal"),
    ]
    if content["counted"] is not None:
        facts.insert(2, f'<span title="negative, to the goal">Q counts {content["counted"]}</span>')
    verdict = "fine" if content["solved"] else "warn"
    body = f"""<main>
<h1>{escape(content["domain"])} / {escape(content["problem"])}</h1>
<p class="soft">{" · ".join(facts)} · <span class="verdict {verdict}">{escape(ending_text(content))}</span></p>
<div id="stage" hidden>
<div class="bar" role="toolbar">
<button id="previous" title="left arrow key">◀ previous</button>
<button id="next" title="right arrow key">next ▶</button>
<span id="where" aria-live="polite"></span>
<span class="soft hint">← → step · Home End · click a bar to go to its jump</span>
</div>
<p class="note">Goals reached after each jump</p>
<svg id="timeline" role="img" aria-label="goals reached after each jump"></svg>
<div class="columns">
<div>
<figure><figcaption id="caption"></figcaption>
<div class="canvas"><svg id="tree" role="img" aria-label="lookahead tree"></svg></div>
<div class="legend" id="legend"></div></figure>
<section class="card"><h3>Node <small class="soft">point at a node, or click to pin it</small></h3>
<div id="node"></div></section>
</div>
<aside>
<section class="card"><h3>Jump</h3><p id="summary"></p><ol id="actions"></ol>
<details><summary id="change-count"></summary><p id="changes" class="note"></p></details></section>
<section class="card"><h3>Goals <small id="goal-count" class="soft"></small></h3><ul id="goals"></ul></section>
</aside>
</div>
</div>
<p id="nothing" class="box" hidden>No jump was taken.</p>
</main>"""
    return document(title, body, ["page.css", "explain.css"], ["explain.js"], content)
