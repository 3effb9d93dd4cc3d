"""Makes the best run of every domain a bundled policy, with a card that says where it comes from.

    python tools/bundle_policy.py RUNS [DOMAIN | DOMAIN=RUN ...] [--source "the IPC 2023 Learning Track"] [--out FOLDER]

RUNS is what `saltus train-all` writes: DOMAIN/RUN/policy.safetensors. The best run solves the most validation and
larger problems together, then with the fewest actions, as for the checkpoints within a run. DOMAIN=RUN names the run
instead, where further generated problems have told runs apart that validation could not. A run that is a contest
(`saltus train FOLDER --out DOMAIN/RUN`) has a card that shows its rounds.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from saltus.graph.encodings import method_name
from saltus.learn.config import Configuration, from_older, plain_values
from saltus.learn.contest_state import FILE as CONTEST_FILE
from saltus.learn.contest_state import FINAL, ContestState
from saltus.learn.validation import Validation
from saltus.learn.values import LEARNING_RATE_END, ROLLOUTS
from saltus.model.description import training_seconds
from saltus.model.older import ANY, removed
from saltus.model.policy_file import PolicyFile, load_policy_file, save_policy
from saltus.policy.catalogue import POLICIES

UNIMPORTANT = {"training.episodes", "training.learning_rate_episodes"}
"""Settings that a card does not list: the time available decided them."""

SOURCE = "the IPC 2023 Learning Track"

SHOWN = 4
"""Policies that a card shows of a final."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes DOMAIN.safetensors and DOMAIN.md for every domain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("domains", nargs="*", metavar="DOMAIN[=RUN]")
    parser.add_argument("--source", default=SOURCE, help=f"where the training problems are from (default: {SOURCE})")
    parser.add_argument("--out", type=Path, default=POLICIES, help="folder to write (default: the package's own)")
    options = parser.parse_args(arguments)
    wanted = dict(entry.partition("=")[::2] for entry in options.domains)
    found = find_policies(options.runs)
    for name in wanted.keys() - found.keys():
        parser.error(f"{options.runs}: no run of the domain {name}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name, candidates in sorted(found.items()):
        if wanted and name not in wanted:
            continue
        named = wanted.get(name, "")
        if named and named not in candidates:
            parser.error(f"{options.runs}: {name} has no run {named}; there are {', '.join(candidates)}")
        run = named or max(candidates, key=lambda entry: rank(candidates[entry].record))
        save_policy(options.out / f"{name}.safetensors", candidates[run], half=True)
        contest = read_contest(options.runs / name / run)
        table = runs_table(candidates) if contest is None else contest_table(contest)
        text = make_card(name, candidates[run], table, options.source, is_named=bool(named))
        (options.out / f"{name}.md").write_text(text, encoding="utf-8")
        print(name, run, coverage_text(candidates[run].record))


def find_policies(runs: Path) -> dict[str, dict[str, PolicyFile]]:
    """The best policy of every run, by domain and name of the run."""
    found: dict[str, dict[str, PolicyFile]] = defaultdict(dict)
    for path in sorted(runs.glob("*/*/policy.safetensors")):
        found[path.parent.parent.name][path.parent.name] = load_policy_file(path)
    return dict(found)


def rank(record: Mapping[str, Any]) -> tuple[float, ...]:
    """How good a policy was in validation; larger is better."""
    return Validation.from_json(record["validation"]).key("larger")


def coverage_text(record: Mapping[str, Any]) -> str:
    """Validation coverage in words."""
    validation = Validation.from_json(record["validation"])
    text = f"{validation.held_out.solved} of {validation.held_out.problems} validation problems"
    if validation.larger is not None:
        text += f", {validation.larger.solved} of {validation.larger.problems} larger generated problems"
    return text


def settings_text(record: Mapping[str, Any]) -> str:
    """Settings that differ from what holds now where nothing is set, those of keys that are gone included."""
    restarts = record["configuration"]["training"].get("learning_rate_restarts", False)
    unimportant = UNIMPORTANT - ({"training.learning_rate_episodes"} if restarts else set())
    plain = plain_values(Configuration())
    found: list[str] = []
    recorded = from_older(record["configuration"])
    for section in plain:
        values = recorded.get(section, {})
        for key, value in values.items():
            gone = removed(section, key)
            if gone is not None and (gone.value is ANY or (gone.only_with and not values.get(gone.only_with))):
                continue
            usual = plain[section].get(key) if gone is None else gone.value
            if value != usual and f"{section}.{key}" not in unimportant:
                found.append(f"{section}.{key}={value}")
    return ", ".join(found)


def make_card(name: str, policy: PolicyFile, table: str, source: str, *, is_named: bool) -> str:
    """The card of a policy: how it was made, a table of the runs it was chosen from, its validation curve."""
    return f"{describe(name, policy, source, is_named=is_named)}\n{table}\n{curve_table(policy)}"


def describe(name: str, policy: PolicyFile, source: str, *, is_named: bool) -> str:
    """The first part of a card: method, problems, choice, configuration."""
    record = policy.record
    training = record["configuration"]["training"]
    validation = Validation.from_json(record["validation"])
    weights = sum(parameter.numel() for parameter in policy.network.parameters())
    generated = int(record.get("generated_problems", training.get("generated_problems", 0)))
    problems = f"{record['training_problems'] - generated}"
    problems += f" and {generated} generated ones" if generated else ""
    told_apart = ["  Further generated problems told apart runs that were about equal (`docs/training.md`)."]
    lines = [
        f"# Policy for {name}",
        "",
        f"A general policy for the domain `{record['domain']}` of {source}, learned by deep",
        f"Q-learning with lifted hindsight. Method {method_name(policy.lookahead, policy.encoding)}, "
        f"{policy.network.spec.layers} layers, {weights:,} weights,",
        "stored as float16.",
        "",
        f"- **Training problems:** {problems}, the largest with",
        f"  {record['largest_training_problem']} objects. No test problem was used.",
        f"- **Chosen by:** {coverage_text(record)}",
        f"  ({validation.held_out.actions:,} actions in the plans of the validation problems), at episode",
        f"  {record['episode']}, seed {record['seed']}{origin_text(record)}.",
        *(told_apart if is_named else []),
        f"- **Configuration:** {training['episodes']} episodes of {ROLLOUTS} rollouts and {training['steps']} steps",
        f"  of {training['batch']} transitions, learning rate {training['learning_rate']} to {LEARNING_RATE_END}.",
        f"  Changed from the defaults: {settings_text(record) or 'nothing'}.",
        *played_text(policy),
        "  The file holds all of it (`saltus policies --json`).",
        f"- **Made:** {record['date']}, saltus {record.get('saltus', '0.1.0')}, torch {record['torch']},",
        f"  {training_seconds(record) or record['seconds']:.0f} s until this checkpoint.",
        "",
    ]
    return "\n".join(lines)


def origin_text(record: Mapping[str, Any]) -> str:
    """Which policy the run began with, if any."""
    start = record.get("start")
    if start is None:
        return ""
    return f"; it began with the policy of {Path(start['policy']).parent.name} at episode {start['episode']}"


def played_text(policy: PolicyFile) -> list[str]:
    """What was set for play, after training; such settings do not change what was learned."""
    learned = from_older(policy.record["configuration"])["play"]
    names = [
        entry.name
        for entry in fields(policy.play)
        if learned.get(entry.name, entry.default) != getattr(policy.play, entry.name)
    ]
    listed = ", ".join(f"play.{name}={getattr(policy.play, name)}" for name in names)
    return [f"  Set after training: {listed}."] if names else []


def read_contest(folder: Path) -> ContestState | None:
    """The contest in a folder; None if the folder holds an ordinary run."""
    return ContestState.read(folder) if (folder / CONTEST_FILE).is_file() else None


def contest_table(contest: ContestState) -> str:
    """The rounds of a contest: how the candidates stood after each, best first, and the first ones of the final."""
    lines = ["| round | validation of the candidates' best checkpoints so far, best first |", "|---|---|"]
    for number, entry in enumerate(contest.rounds, 1):
        is_final = entry.kind == FINAL
        scores = "; ".join(entry.scores[: SHOWN if is_final else None])
        lines.append(f"| {f'{number}, final' if is_final else number} | {scores} |")
    return "\n".join([*lines, ""])


def runs_table(candidates: Mapping[str, PolicyFile]) -> str:
    """The runs that the policy was chosen from."""
    lines = [
        "| run | changed from the defaults | episode | validation of the run's best checkpoint |",
        "|---|---|---|---|",
    ]
    for run, policy in candidates.items():
        record = policy.record
        lines.append(
            f"| {run} | {settings_text(record) or 'defaults'} | {record['episode']} | {coverage_text(record)} |"
        )
    return "\n".join([*lines, ""])


def curve_table(policy: PolicyFile) -> str:
    """Validation of the policy's own run, up to the checkpoint that was chosen."""
    lines = ["| episode | validation problems solved | larger problems solved |", "|---|---|---|"]
    lines += [
        f"| {episode} | {solved} | {'-' if larger is None else larger} |"
        for episode, solved, larger in policy.record["curve"]
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
