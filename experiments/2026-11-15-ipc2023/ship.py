"""The best run of every domain becomes the policy that comes with Saltus, with a card that says where it is from.

    python experiments/2026-11-15-ipc2023/ship.py RUNS [DOMAIN | DOMAIN=RUN ...]

RUNS is what `saltus train-all` writes: DOMAIN/RUN/policy.safetensors. Best is: most validation and larger problems
solved together, then fewest actions, as the selection of checkpoints within a run. DOMAIN=RUN names the run instead,
among those that validation cannot tell apart: where `varied.py` or `candidates.py` have shown a difference.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

from saltus.learn.config import Configuration, configuration_of, differences, plain_values
from saltus.learn.validation import Validation
from saltus.model.policy_file import PolicyFile, load_policy_file, save_policy
from saltus.policy.catalogue import POLICIES

UNIMPORTANT = ("training.episodes", "training.learning_rate_episodes")


def main() -> None:
    """Writes `src/saltus/policies/DOMAIN.safetensors` and `DOMAIN.md`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("domains", nargs="*")
    options = parser.parse_args()
    wanted = dict(entry.partition("=")[::2] for entry in options.domains)
    found: dict[str, dict[str, PolicyFile]] = defaultdict(dict)
    for path in sorted(options.runs.glob("*/*/policy.safetensors")):
        policy = load_policy_file(path)
        found[str(policy.record["suite"])][path.parent.name] = policy
    POLICIES.mkdir(exist_ok=True)
    for name, candidates in sorted(found.items()):
        if not wanted or name in wanted:
            run = wanted.get(name) or max(candidates, key=lambda entry: key(candidates[entry].record))
            save_policy(POLICIES / f"{name}.safetensors", candidates[run], half=True)
            (POLICIES / f"{name}.md").write_text(card(name, run, candidates, bool(wanted.get(name))), encoding="utf-8")
            print(name, run, summary(candidates[run].record))


def key(record: Any) -> tuple[float, ...]:
    """How good a policy was in validation."""
    return Validation.from_json(record["validation"]).key("larger")


def summary(record: Any) -> str:
    """Validation in a few words."""
    validation = Validation.from_json(record["validation"])
    text = f"{validation.held_out.solved} of {validation.held_out.problems} validation problems"
    if validation.larger is not None:
        text += f", {validation.larger.solved} of {validation.larger.problems} larger generated problems"
    return text


def settings(record: Any) -> str:
    """What differs from the defaults."""
    ours, plain = configuration_of(record["configuration"]), Configuration()
    names = [name for name in differences(ours, plain) if name not in UNIMPORTANT]
    values = plain_values(ours)
    return ", ".join(f"{name}={values[section][key]}" for name in names for section, key in [name.split(".")])


def card(name: str, run: str, candidates: dict[str, PolicyFile], is_named: bool) -> str:
    """The model card."""
    best = candidates[run]
    record = best.record
    training = record["configuration"]["training"]
    validation = Validation.from_json(record["validation"])
    others = "\n".join(
        f"| {entry} | {settings(policy.record) or 'defaults'} | {policy.record['episode']} | {summary(policy.record)} |"
        for entry, policy in candidates.items()
    )
    varied = ["  Runs about equal in that were told apart by more generated problems (`docs/training.md`)."]
    own = int(record.get("generated_problems", training.get("generated_problems", 0)))
    data = f"{record['training_problems'] - own} training problems of the track"
    data += f" and {own} generated ones" if own else ""
    curve = "\n".join(
        f"| {episode} | {solved} | {'-' if larger is None else larger} |" for episode, solved, larger in record["curve"]
    )
    weights = sum(parameter.numel() for parameter in best.network.parameters())
    rates = f"{training['learning_rate']} to {training['learning_rate_end']}"
    amounts = f"{training['episodes']} episodes of {training['rollouts']} rollouts and {training['steps']} steps"
    method = f"{best.lookahead.kind}-{best.encoding.kind}"
    lines = [
        f"# Policy for {name}",
        "",
        f"A general policy for the domain `{record['domain']}` of the IPC 2023 Learning Track, learned by deep",
        f"Q-learning with lifted hindsight. Method {method}, {best.network.spec.layers} layers, {weights:,} weights,",
        "stored as float16.",
        "",
        f"- **Data:** {data}, the largest with",
        f"  {record['largest_training_problem']} objects. No test problem was seen.",
        f"- **Chosen by:** {summary(record)}",
        f"  ({validation.held_out.actions:,} actions in the plans of the validation problems), at episode",
        f"  {record['episode']}, seed {record['seed']}.",
        *(varied if is_named else []),
        f"- **Configuration:** {amounts}",
        f"  of {training['batch']} transitions, learning rate {rates}.",
        f"  Other than the defaults: {settings(record) or 'nothing'}.",
        "  The whole of it is in the file (`saltus policies --json`).",
        f"- **Made:** {record['date']}, saltus {record.get('saltus', '0.1.0')}, torch {record['torch']},",
        f"  {record['seconds']:.0f} s until this checkpoint.",
        "",
        "| run | other than the defaults | episode | validation of the run's best checkpoint |",
        "|---|---|---|---|",
        others,
        "",
        "| episode | validation problems solved | larger problems solved |",
        "|---|---|---|",
        curve,
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
