"""Stage `learn`: the training loop. Tasks in, events out: one per episode and one per validation.

An episode collects trajectories, relabels them in hindsight, stores both, and takes gradient steps on batches drawn
from the stores (`gradient_steps.py`). `get_state` returns everything that makes up a run.

Training can be interrupted at any time: all inner loops ask for it, jump by jump and layer by layer. An interrupted
episode leaves no trace: everything goes back to where it was at the end of the one before, which is remembered at a
cost of about a millisecond per episode. An interrupted validation takes place when the run is resumed.

Validations are due every so many episodes and every so many seconds. Those by time draw no random numbers and do not
count as reasons to stop, so they leave the weights alone; but their policies can be chosen as the best ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any, TypeVar

import numpy as np
import torch

from saltus.errors import ConfigurationError
from saltus.graph import Vocabulary
from saltus.learn.batch import BatchMaker
from saltus.learn.config import Configuration
from saltus.learn.curriculum import Curriculum
from saltus.learn.events import EpisodeReport, Event
from saltus.learn.experience import (
    Trajectory,
    Transition,
    collect,
    jump_cost,
    search,
    transitions_of,
)
from saltus.learn.gradient_steps import GradientSteps
from saltus.learn.hindsight import hindsight_transitions, lifted_subgoals
from saltus.learn.interpreter import quick_switches, settled_objects
from saltus.learn.learner import Learner
from saltus.learn.losses import TD_ERROR, mean_of, total_of
from saltus.learn.replay import Replay
from saltus.learn.saved_state import restore, state_of
from saltus.learn.schedule import linear, restarted
from saltus.learn.validation import Coverage, Validation, measure
from saltus.learn.values import (
    DISCOUNT,
    LARGER_FROM,
    LEARNING_RATE_END,
    ROLLOUTS,
    SEARCH_DECISIONS,
    TEMPERATURE_END,
    TEMPERATURE_EPISODES,
    VALIDATION_SHARE,
)
from saltus.model import RelationalNetwork
from saltus.model.engine import Engine
from saltus.model.policy_file import PolicyFile
from saltus.model.scorer import Scorer
from saltus.model.torch_scorer import TorchScorer
from saltus.policy import Ending, LearnedPolicy, Policy
from saltus.task import Task

Result = TypeVar("Result")

STREAMS = {"problems": 0, "exploration": 1, "hindsight": 2, "replay": 3, "layers": 4, "subgoals": 5}
"""Independent random generators of a run, by name, and the number that each is seeded with."""


class Interrupted(Exception):  # noqa: N818 (no error, and never seen outside of this module)
    """Raised inside an episode or a validation that is interrupted."""


def never() -> bool:
    """False."""
    return False


def make_network(configuration: Configuration, vocabulary: Vocabulary, seed: int) -> RelationalNetwork:
    """A new network; the same seed gives the same weights. PyTorch's global random generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        arities = [relation.arity for relation in vocabulary]
        return RelationalNetwork(arities, configuration.encoding.kind, configuration.model)


class Trainer:
    """Learns a policy from tasks; `train` yields an event per episode and per validation.

    `held_out` are the validation tasks, `larger` further ones that are tried by policies that solve most of those, and
    `far` still larger ones for policies that solve all of them.
    """

    def __init__(
        self,
        configuration: Configuration,
        tasks: Sequence[Task],
        held_out: Sequence[Task] = (),
        larger: Sequence[Task] = (),
        far: Sequence[Task] = (),
        *,
        seed: int = 0,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        if not tasks:
            raise ConfigurationError("no problem to train on")
        self.configuration = configuration
        self.spec = configuration.training
        self.tasks, self.held_out, self.larger, self.far = list(tasks), list(held_out), list(larger), list(far)
        self.drawn_from = list(range(len(self.tasks)))
        """Numbers of the problems; with a curriculum, the smallest ones first."""
        if self.spec.curriculum:
            self.drawn_from.sort(key=lambda number: len(self.tasks[number].objects))
        self.threads = threads
        self.vocabulary = Vocabulary.of(tasks[0].domain, configuration.encoding)
        network = make_network(configuration, self.vocabulary, seed)
        self.learner = Learner(network, configuration, device)
        self.cost = jump_cost(self.spec, self.tasks, configuration.lookahead, configuration.play)
        """What jumps cost, and so what the policy's Q-values count."""
        self._policy = LearnedPolicy(
            self._scorer(),
            configuration.encoding,
            configuration.lookahead,
            self.vocabulary,
            play=configuration.play,
            threads=threads,
            cost=self.cost,
        )
        batches = BatchMaker(
            self.tasks,
            configuration.lookahead,
            configuration.play,
            self.vocabulary,
            configuration.encoding,
            threads=threads,
        )
        self.random = {name: np.random.default_rng([seed, i]) for name, i in STREAMS.items()}
        self.original = Replay(self.spec.replay)
        self.hindsight = Replay(self.spec.replay)
        stores = self.original, self.hindsight
        self.steps = GradientSteps(
            configuration, self.learner, batches, stores, self.random, threads=threads, check=self._check
        )
        self.subgoals = [lifted_subgoals(task, self.random["subgoals"]) for task in self.tasks]
        """Lifted sub-goals of every task; they depend on the seed alone and so need not be saved."""
        self.episode = 0
        self.validations: list[Validation] = []
        self.best: Validation | None = None
        self.td_errors: list[float] = []
        """TD errors of the episodes since the last regular validation."""
        self.curriculum = Curriculum(self.spec.curriculum)
        self._validated_at = time.monotonic()
        self._interrupt: Callable[[], bool] = never
        self._policy.check = self._check
        if self.learner.device.type == "cpu":  # a GPU is fast enough, and must not be disturbed while it records
            for module in self.learner.modules.values():
                module.before_layer = self._check
        self.validation_seconds = 0.0
        """How long the last validation took."""

    def start_from(self, file: PolicyFile) -> None:
        """Begins with the weights of a policy, whose lookahead, layers, precision and cost may differ from its own."""
        file.check_domain(self.tasks[0].domain)
        own = self.configuration
        spec = replace(file.network.spec, layers=own.model.layers, precision=own.model.precision)
        for section, wanted, found in (
            ("encoding", asdict(own.encoding), asdict(file.encoding)),
            ("model", asdict(own.model), asdict(spec)),
        ):
            for key, value in wanted.items():
                if found[key] != value:
                    raise ConfigurationError(
                        f"{section}.{key} is {value}, but {found[key]} in the policy to begin with"
                    )
        self.learner.set_weights(file.network.state_dict())
        self.learner.is_given = True
        self.curriculum.pace = 1.0

    def policy(self) -> LearnedPolicy:
        """The policy with the weights of the moment: it changes as training goes on."""
        if self.learner.device.type == "cpu":  # the engine has a copy of the weights
            self._policy.scorer = self._scorer()
        return self._policy

    def _scorer(self) -> Scorer:
        """The network that is the policy: on a CPU, the kernel runs it."""
        player = self.learner.player
        return Engine.of(player) if self.learner.device.type == "cpu" else TorchScorer(player)

    # -- the loop ----------------------------------------------------------------------------------------------------

    def train(self, stop: Callable[[], bool] = never, interrupt: Callable[[], bool] = never) -> Iterator[Event]:
        """Events until all episodes are done, validations are stable, or `stop` returns True.

        `stop` is asked after every episode. `interrupt` is asked all the time and should take no time: once it returns
        True, the present episode or validation is given up.
        """
        self._validated_at = time.monotonic()
        with ThreadPoolExecutor(1) as graphs, ThreadPoolExecutor(1) as layouts, quick_switches(), settled_objects():
            if self.is_validation_due and not self.is_validated and not stop():  # it was interrupted
                validation = self.try_validation(interrupt)
                if validation is None:
                    return
                yield validation
            while self.episode < self.spec.episodes and not self.is_stable and not stop():
                report = self._uninterrupted(lambda: self._episode(graphs, layouts), interrupt)
                if report is None:
                    for executor in (graphs, layouts):
                        executor.shutdown(cancel_futures=True)
                    return
                yield report
                if self.is_validation_due or self._is_time_to_validate():
                    validation = self.try_validation(interrupt)
                    if validation is None:
                        return
                    yield validation

    def try_validation(self, interrupt: Callable[[], bool]) -> Validation | None:
        """`validate`; None if it was interrupted, which leaves no trace."""
        return self._uninterrupted(self.validate, interrupt)

    def _uninterrupted(self, work: Callable[[], Result], interrupt: Callable[[], bool]) -> Result | None:
        """What `work` returns; None if it was interrupted, in which case everything is as it was before."""
        before = self._remember()
        self._interrupt = interrupt
        try:
            return work()
        except Interrupted:
            self._go_back(before)
            return None
        finally:
            self._interrupt = never

    def _check(self) -> None:
        if self._interrupt():
            raise Interrupted

    def _remember(self) -> tuple[Any, ...]:
        """Everything that an episode changes before it has ended."""
        states = {name: rng.bit_generator.state for name, rng in self.random.items()}
        stores = self.original.remember(), self.hindsight.remember()
        return self.learner.remember(), *stores, states, self.steps.samples, self.curriculum.pace

    def _go_back(self, remembered: tuple[Any, ...]) -> None:
        """Undoes everything since `_remember`."""
        learner, original, hindsight, states, self.steps.samples, self.curriculum.pace = remembered
        self.learner.go_back(learner)
        self.original.go_back(original)
        self.hindsight.go_back(hindsight)
        for name, rng in self.random.items():
            rng.bit_generator.state = states[name]

    @property
    def is_validation_due(self) -> bool:
        """Whether a validation by episodes follows the last episode."""
        return self._is_regular(self.episode) or self.episode == self.spec.episodes

    @property
    def is_validated(self) -> bool:
        """Whether the current policy has been validated, or has not learned anything yet."""
        return self.episode == (self.validations[-1].episode if self.validations else 0)

    def _is_regular(self, episode: int) -> bool:
        return episode % self.spec.validate_every == 0

    def _is_time_to_validate(self) -> bool:
        """Whether the last validation is long ago, also compared with the time that it took."""
        wanted = self.spec.validate_seconds
        longest = max(wanted, self.validation_seconds * (1 / VALIDATION_SHARE - 1))
        return wanted > 0 and time.monotonic() - self._validated_at >= longest

    @property
    def is_stable(self) -> bool:
        """Whether the last regular validations, as many as the configuration asks for, solved everything, and none but
        the first of them is better than all before it: the plans have stopped getting shorter, too."""
        wanted = self.spec.stop_after
        regular = [entry for entry in self.validations if self._is_regular(entry.episode)]
        if wanted == 0 or len(regular) < wanted or not all(entry.complete for entry in regular[-wanted:]):
            return False
        keys = [entry.key(self.spec.selection, self.spec.cost)[:2] for entry in regular]  # coverage and length
        return max(keys) == max(keys[: len(keys) - wanted + 1])

    def _episode(self, graphs: ThreadPoolExecutor, layouts: ThreadPoolExecutor) -> EpisodeReport:
        spec = self.spec
        started = time.perf_counter()
        temperature = linear(spec.temperature, TEMPERATURE_END, self.episode, TEMPERATURE_EPISODES)
        position, length = (
            restarted(self.episode, spec.learning_rate_episodes)
            if spec.learning_rate_restarts
            else (self.episode, spec.learning_rate_episodes)
        )
        rate = linear(spec.learning_rate, LEARNING_RATE_END, position, length)
        self.learner.set_rate(rate)
        trajectories = self._collect(temperature)
        success = sum(t.ending is Ending.SOLVED for t in trajectories) / len(trajectories)
        self.curriculum.learn(success)
        searched = self._search(trajectories)
        collected = time.perf_counter()
        fresh = self._store([*trajectories, *searched])
        stored = time.perf_counter()
        known = len(self.original) + len(self.hindsight)
        waited, losses = self.steps.run(graphs, layouts, fresh) if known else (0.0, mean_of(()))
        finished = time.perf_counter()
        self.episode += 1
        if not np.isfinite(list(losses.values())).all():
            raise ConfigurationError(
                f"training: the loss of episode {self.episode} is not a finite number; a smaller learning_rate may help"
            )
        if known:
            self.td_errors.append(losses[TD_ERROR])
        return EpisodeReport(
            episode=self.episode,
            loss=total_of(losses),
            losses=losses,
            success=success,
            jumps=sum(len(t.states) - 1 for t in trajectories) / len(trajectories),
            searched=len(searched),
            original=len(self.original),
            hindsight=len(self.hindsight),
            temperature=temperature,
            learning_rate=rate,
            steps_per_second=spec.steps / (finished - started) if known else 0.0,
            seconds={
                "rollouts": collected - started,
                "hindsight": stored - collected,
                "batches": waited,
                "steps": finished - stored - waited,
            },
        )

    def _collect(self, temperature: float) -> list[Trajectory]:
        drawn = self.random["problems"].integers(self._problems_known(), size=ROLLOUTS).tolist()
        return collect(
            self.policy(),
            self.tasks,
            [self.drawn_from[number] for number in drawn],
            horizon=self.spec.horizon,
            temperature=temperature,
            rng=self.random["exploration"],
            cost=self.cost,
            check=self._check,
        )

    def _problems_known(self) -> int:
        """How many problems this episode draws from."""
        return max(1, round(self.curriculum.share(self.episode) * len(self.tasks)))

    def _search(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """Trajectories found by search, where rollouts failed."""
        failed = [t.task for t in trajectories if t.ending is not Ending.SOLVED][: self.spec.searches]
        guide = self.policy()
        found = [search(guide, self.tasks[task], task, SEARCH_DECISIONS, self.cost, self._check) for task in failed]
        return [trajectory for trajectory in found if trajectory is not None]

    def _store(self, trajectories: Sequence[Trajectory]) -> list[Transition]:
        """Stores the transitions of trajectories, and those in hindsight; returns what has not been replaced yet."""
        spec = self.spec
        stored: list[Transition] = []
        for trajectory in trajectories:
            solved = trajectory.ending is Ending.SOLVED
            if solved or trajectory.ending is Ending.DEAD_END:
                last = len(trajectory.states) - 1
                found = transitions_of(trajectory, trajectory.goal, 0, last, reached=solved, discount=DISCOUNT)
                self.original.add(found)
                stored += found
        groundings, rng = spec.hindsight_groundings, self.random["hindsight"]
        relabelled = hindsight_transitions(trajectories, self.tasks, self.subgoals, groundings, rng)
        self.hindsight.add(relabelled)
        return [*stored[-spec.replay :], *relabelled[-spec.replay :]]

    # -- validation --------------------------------------------------------------------------------------------------

    def validate(self) -> Validation:
        """How the current policy does; the larger problems are tried only if it solves most of the others."""
        policy, spec, started = self.policy(), self.spec, time.monotonic()
        until = started + (spec.validation_limit or math.inf)
        held_out = self._measure(policy, self.held_out, until)
        larger = self._measure_larger(policy, held_out, until) if held_out.share >= LARGER_FROM else None
        td_error = float(np.mean(self.td_errors)) if self.td_errors else 0.0
        if self._is_regular(self.episode):  # validations by time must not change what the regular ones say
            self.td_errors.clear()
        result = Validation(self.episode, held_out, larger, td_error)
        self.validations.append(result)
        by = spec.selection, spec.cost
        is_better = self.best is None or result.key(*by) > self.best.key(*by)
        if is_better or not self.can_select:
            self.best = result
        self._validated_at = time.monotonic()
        self.validation_seconds = self._validated_at - started
        return result

    def _measure(self, policy: Policy, tasks: Sequence[Task], until: float) -> Coverage:
        return measure(policy, tasks, until=until, check=self._check)

    def _measure_larger(self, policy: Policy, held_out: Coverage, until: float) -> Coverage:
        """Coverage of the larger problems, those far larger included: they count as unsolved where others are."""
        larger = self._measure(policy, self.larger, until)
        if held_out.share == larger.share == 1:
            return larger + self._measure(policy, self.far, until)
        return replace(larger, problems=larger.problems + len(self.far))

    @property
    def can_select(self) -> bool:
        """Whether there are problems to choose the best policy by; otherwise the latest one counts as the best."""
        return bool(self.held_out) or (bool(self.larger) and self.spec.selection == "larger")

    # -- saved with a run --------------------------------------------------------------------------------------------

    def get_state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Tensors and plain values that make up the run, so that a resumed one equals an uninterrupted one."""
        return state_of(self)

    def set_state(self, tensors: dict[str, torch.Tensor], values: dict[str, Any]) -> None:
        """Restores what `get_state` returned; anything else is an `InputError`."""
        restore(self, tensors, values)
