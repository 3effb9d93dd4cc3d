"""Stage `process`: planning as a job: one problem, a policy and limits in; outcome, plan and figures out.

`saltus plan` and `saltus bench` run the same jobs: a benchmark measures what a single call does under its limits. The
work itself, on the other side of the process boundary, is in `plan_work.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from saltus.errors import SaltusError
from saltus.files import check_plain_file
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.policy.catalogue import (
    AUTO,
    YARDSTICK_NAMES,
    check_lookahead,
    policy_file_for,
    policy_folder,
    policy_name,
    policy_path,
)
from saltus.policy.figures import Figures
from saltus.policy.outcome import Outcome, PlanningProtocol
from saltus.policy.values import MARGIN, PATIENCE, PATIENCE_PER_OBJECT
from saltus.process.job import Job, ResultBuilder, Watch, explain
from saltus.process.supervisor import Ended, Message
from saltus.task import Plan

FLAT = "flat"
"""Kind of lookahead whose policies have a time limit of their own in the paper's protocol."""

UNKNOWN_METHOD = "unknown"
"""Method of a policy that could not be read."""


@dataclass(frozen=True)
class PlanResult:
    """What came of planning."""

    outcome: Outcome
    detail: str = ""
    unsolvable: bool = False
    """Whether it is proven that there is no plan."""
    plan: Plan | None = field(default=None, repr=False)
    """The best plan; validated."""
    cost: float | None = None
    unit_cost: bool = True
    seconds: float = 0.0
    peak_memory_mb: float | None = None
    policy: str | None = None
    method: str | None = None
    device: str | None = None
    objects: int | None = None
    figures: Figures = field(default_factory=Figures)
    """Counts and times, as far as planning got."""
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Exit code of a process that ends in this way."""
        return self.outcome.exit_code


@dataclass(frozen=True)
class PlanJob(Job[PlanResult]):
    """A problem, a policy and limits."""

    work: ClassVar[str] = "saltus.process.plan_work:solve"
    planner: ClassVar[str] = "policy"

    domain: str
    """File."""
    problem: str
    """File."""
    names: tuple[str, str] | None = None
    """Names of domain and problem in messages (default: those of the files)."""
    policy: str = AUTO
    """A yardstick, the name of a bundled policy, a file, a run folder, or `auto`: the bundled one for the domain."""
    prefix: str | None = None
    """Policy files `prefix`.1, `prefix`.2, …: the last one that fits replaces `policy`, if there is one."""
    search: bool = False
    """Whether a search follows a greedy rollout that fails or stalls."""
    improve: bool = False
    seed: int = 0
    """Seed of the yardsticks."""
    lookahead: tuple[str, ...] = ()
    """Lookahead of a yardstick: `TreeSpec.settings`. A trained policy has its own."""
    play: tuple[str, ...] = ()
    """What is to be changed of how the policy plays: texts `key=value` of `PlaySpec`; policies of `prefix` are taken as
    they are."""
    strict: bool = False
    """Whether flaws of domain and problem that can be mended are errors."""

    def __post_init__(self) -> None:
        check_lookahead(self.policy, TreeSpec.of(self.lookahead) if self.lookahead else None)
        PlaySpec.of(self.play)  # reports a wrong one before anything is started

    def result_builder(self, watch: Watch[PlanResult] | None = None) -> ResultBuilder[PlanResult]:
        """A builder of the job's result, which has not received a message yet."""
        return PlanResultBuilder(watch)

    def configuration(self) -> str:
        """Hash of the policy and of every option that can change the result: 12 hexadecimal digits.

        Records with the same configuration, domain, split and problem are of the same trial.
        """
        limits = self.limits
        facts = {
            "planner": self.planner,
            **self.policy_facts(),
            # The names are part of the hash: this one is older than the word "jump".
            "limits": {"seconds": limits.seconds, "memory_mb": limits.memory_mb, "choices": limits.max_jumps},
            "search": self.search,
            "improve": self.improve,
            "greedy_share": 1.0,  # so that the configurations of older records of greedy rollouts stay
            "device": self.device,
        }
        if self.search:  # only then, so that the configurations of older records of greedy rollouts stay
            facts["stall"] = [PATIENCE, PATIENCE_PER_OBJECT, MARGIN]
        if self._changes.get("take_goals") == "false":  # only then, so that the configurations of older records stay
            facts["take_goals"] = False
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]

    def policy_facts(self) -> dict[str, Any]:
        """What the configuration depends on in the policy: its bytes, or name and seed of a yardstick."""
        changed = {"lookahead": self.lookahead} if self.lookahead else {}  # so that older configurations stay
        if others := sorted(f"{name}={value}" for name, value in self._changes.items() if name != "take_goals"):
            changed["play"] = tuple(others)
        if self.policy in YARDSTICK_NAMES:
            return {"policy": self.policy, "seed": self.seed, **changed}
        return {"policy": file_hash(self.policy), "seed": None, **changed}

    @property
    def _changes(self) -> dict[str, str]:
        """What is to be changed of how the policy plays: the last value of every key."""
        parts = (setting.partition("=") for setting in self.play)
        return {name.strip(): value.strip() for name, _, value in parts}

    def is_flat(self) -> bool:
        """Whether the policy's lookahead is flat; no bundled policy has such a one. False if the policy cannot be read.

        The domain is read only if the policy is in a folder.
        """
        if self.policy in YARDSTICK_NAMES:
            return TreeSpec.of(self.lookahead).kind == FLAT
        if policy_folder(self.policy) is None:
            return self.method().startswith(f"{FLAT}-")
        from saltus.pddl import Source, parse_domain

        try:
            path = policy_file_for(self.policy, parse_domain(Source.from_file(self.domain)))
        except SaltusError:  # the job will say why
            return False
        return replace(self, policy=str(path)).is_flat()

    def with_flat_limit(self, protocol: PlanningProtocol) -> Self:
        """The job with the protocol's time limit for its policy, which must be known: flat ones may have their own."""
        if protocol.flat_seconds is None or not self.is_flat():
            return self
        return replace(self, limits=replace(self.limits, seconds=protocol.flat_seconds))

    def policy_label(self, result: PlanResult) -> str:
        """Name of the policy for people."""
        if self.policy == AUTO or self.prefix is not None:
            return result.policy or self.policy
        return policy_name(self.policy)

    def method(self) -> str:
        """Lookahead and encoding of a learned policy, or `yardstick_method`, without loading the policy."""
        if self.policy in YARDSTICK_NAMES:
            return yardstick_method(self.policy, (*self.lookahead, *PlaySpec.of(self.play).settings))
        from saltus.model.description import read_description  # only here: it imports half the library

        try:
            return read_description(policy_path(self.policy)).method
        except SaltusError:
            return UNKNOWN_METHOD


def yardstick_method(name: str, settings: Sequence[str]) -> str:
    """Name of a yardstick, followed by what is not the default of its lookahead."""
    return f"{name} ({', '.join(settings)})" if settings else name


def file_hash(path: str) -> str:
    """Hash of a file's bytes, or of its name if it cannot be read: the job will say why."""
    try:
        check_plain_file(path)
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return hashlib.sha256(path.encode()).hexdigest()


class PlanResultBuilder:
    """Makes the result of planning from the messages of the worker."""

    def __init__(self, watch: Watch[PlanResult] | None = None) -> None:
        self.watch = watch
        self.so_far = PlanResult(Outcome.INTERRUPTED)
        self.end: tuple[Outcome, str] | None = None

    def receive(self, message: Message) -> bool:
        """Takes the next message; returns whether the job is done."""
        event = message["event"]
        now = self.so_far
        warnings = (*now.warnings, *message.get("warnings", ()))
        if event == "read":
            now = replace(now, objects=message["objects"], warnings=warnings)
        elif event == "policy":
            names = {name: message[name] for name in ("policy", "method", "device")}
            now = replace(now, **names, warnings=warnings)
        elif event == "figures":
            now = replace(now, figures=Figures.from_json(message))
        elif event == "plan":
            plan = Plan(tuple(tuple(step.split()) for step in message["steps"]))
            now = replace(now, plan=plan, cost=message["cost"], unit_cost=message["unit_cost"])
        elif event == "end":
            self.end = (Outcome(message["outcome"]), message["detail"])
            now = replace(now, unsolvable=message.get("unsolvable", False))
        self.so_far = now
        if self.watch is not None:
            self.watch(message, now)
        return self.end is not None

    def result(self, ended: Ended) -> PlanResult:
        """The result of the job; a plan that was received counts, whatever happened afterwards."""
        outcome, detail = self.end or explain(ended)
        if self.so_far.plan is not None and outcome not in (Outcome.FOUND, Outcome.INTERRUPTED):
            detail = f"then {outcome}{f': {detail}' if detail else ''}"
            outcome = Outcome.FOUND
        peak = ended.peak_memory_mb or None
        return replace(self.so_far, outcome=outcome, detail=detail, seconds=ended.seconds, peak_memory_mb=peak)


def plan_message(plan: Plan, cost: float | None, *, unit_cost: bool) -> Mapping[str, Any]:
    """Values of the message that reports a plan."""
    return {"steps": [" ".join(step) for step in plan.steps], "cost": cost, "unit_cost": unit_cost}
