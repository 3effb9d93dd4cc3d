"""The loop: known answers, sameness for a seed, resuming, every named configuration."""

from __future__ import annotations

import gc
import hashlib
import itertools
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter as clock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.learn.small import by_the_maximum_alone, small_tasks
from tests.policies import Plays
from tests.policy.test_rollout import chain

from saltus.errors import ConfigurationError, InputError
from saltus.learn.batch import BatchMaker
from saltus.learn.config import TrainingSpec, load_configuration, named_configurations
from saltus.learn.curriculum import Curriculum
from saltus.learn.events import EpisodeReport
from saltus.learn.experience import Trajectory, Transition, collect, search
from saltus.learn.schedule import linear, restarted
from saltus.learn.trainer import Trainer
from saltus.learn.validation import Coverage, Validation, measure
from saltus.learn.values import AHEAD_THREADS, ENOUGH, FIRST_SHARE
from saltus.lookahead import PlaySpec, TreeSpec, lookahead
from saltus.model.policy_file import PolicyFile
from saltus.policy import Decision, Ending, GoalCountPolicy, Policy
from saltus.task import Task

SHORT = ["episodes=4", "steps=3", "batch=6", "layers=3", "embedding=8", "horizon=6", "validate_every=2"]


def weights_hash(trainer: Trainer) -> str:
    """Hash of all weights, bit for bit."""
    digest = hashlib.sha256()
    for network in (trainer.learner.network, trainer.learner.player):
        for name, value in sorted(network.state_dict().items()):
            digest.update(name.encode() + value.numpy().tobytes())
    return digest.hexdigest()


def test_q_values_of_a_chain_reach_the_true_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flat walk along a chain: Q of every step towards the goal is minus the discounted distance."""
    settings = ["lookahead.kind=flat", "episodes=100", "steps=8", "batch=16", "embedding=16", "layers=5"]
    settings += ["learning_rate=0.005", "learning_rate_episodes=100", "horizon=12", "replay=200", "validate_every=1000"]
    by_the_maximum_alone(monkeypatch)
    task = chain(6, goal=4)
    trainer = Trainer(load_configuration(None, settings), [task], seed=1)
    for _ in trainer.train():
        pass
    policy = trainer.policy()
    state = task.initial_state
    for distance in range(4, 0, -1):
        (decision,) = policy.decide([(task, state, task.goal)])
        wanted = -sum(0.999**i for i in range(distance))
        node = next(n for n in range(1, len(decision.tree)) if ahead(decision, n) == 5 - distance)
        assert decision.q[node - 1] == pytest.approx(wanted, abs=0.1)
        state = decision.tree.state_of(node)


def ahead(decision: Decision, node: int) -> int:
    """Number of the place that a state of the chain is at."""
    tree = decision.tree
    (code,) = tree.state_of(node)
    return int(tree.task.atom_name(code).strip("()").split()[1][1:])


def test_the_same_seed_gives_the_same_weights_and_another_one_others() -> None:
    def learn(seed: int) -> str:
        trainer = Trainer(load_configuration("tiny", SHORT), small_tasks("blocksworld", 5), seed=seed)
        list(trainer.train())
        return weights_hash(trainer)

    assert learn(1) == learn(1)
    assert learn(1) != learn(2)


def test_the_report_of_an_episode_names_every_loss() -> None:
    trainer = Trainer(load_configuration("tiny", SHORT), small_tasks("blocksworld", 5), seed=1)
    report = next(event for event in trainer.train() if isinstance(event, EpisodeReport) and event.losses["td"])
    values = report.to_json()
    assert {"td", "bounds", "rank", "td_error"} == set(report.losses) <= set(values)
    assert values["loss"] == pytest.approx(values["td"] + values["bounds"] + values["rank"])
    assert "losses" not in values


def test_the_interpreter_is_as_before_once_training_has_ended() -> None:
    before = gc.get_freeze_count(), sys.getswitchinterval()
    trainer = Trainer(load_configuration("tiny", ["episodes=2", "steps=1"]), small_tasks("blocksworld", 4), seed=0)
    events = trainer.train()
    next(events)
    assert gc.get_freeze_count() > before[0]
    assert sys.getswitchinterval() < before[1]
    events.close()  # type: ignore[attr-defined]
    assert (gc.get_freeze_count(), sys.getswitchinterval()) == (0, before[1])


def test_nobody_elses_random_numbers_change() -> None:
    torch.manual_seed(5)
    np.random.seed(5)
    wanted = torch.rand(3), np.random.rand(3)
    torch.manual_seed(5)
    np.random.seed(5)
    list(Trainer(load_configuration("tiny", SHORT), small_tasks("blocksworld", 3), seed=0).train())
    assert torch.equal(torch.rand(3), wanted[0])
    assert np.array_equal(np.random.rand(3), wanted[1])


@pytest.mark.parametrize(
    "extra",
    [
        [],
        ["average=0.9", "layers_least=1", "searches=2"],
        ["curriculum=4"],
    ],
)
def test_a_restored_run_goes_on_as_if_nothing_had_happened(extra: list[str]) -> None:
    tasks = small_tasks("blocksworld", 6)
    configuration = load_configuration("tiny", [*SHORT, *extra])

    def fresh() -> Trainer:
        return Trainer(configuration, tasks[:4], tasks[4:], seed=7)

    whole = fresh()
    reports = [event for event in whole.train() if isinstance(event, EpisodeReport)]
    half = fresh()
    for event in half.train():
        if event.episode == 2 and isinstance(event, Validation):
            break
    tensors, values = half.get_state()
    restored = fresh()
    restored.set_state(tensors, values)
    rest = [event for event in restored.train() if isinstance(event, EpisodeReport)]
    assert [event.loss for event in rest] == [event.loss for event in reports[2:]]
    assert weights_hash(restored) == weights_hash(whole)
    assert restored.validations == whole.validations
    assert restored.best == whole.best


@pytest.mark.parametrize(
    ("name", "domain"),
    [(name, ("blocksworld", "spanner")[i % 2]) for i, name in enumerate(sorted(named_configurations()))],
)
def test_every_configuration_trains(name: str, domain: str) -> None:
    """In domains with and without dead ends, in turn."""
    settings = ["episodes=2", "steps=2", "batch=4", "layers=2", "embedding=8", "horizon=5", "validate_every=2"]
    if name.startswith("paper"):
        settings.append("layers_least=1")  # of the two layers above
    tasks = small_tasks(domain, 4)
    trainer = Trainer(load_configuration(name, settings), tasks[:3], tasks[3:], seed=0)
    events = list(trainer.train())
    assert [event.episode for event in events] == [1, 2, 2]
    assert isinstance(events[2], Validation)
    assert all(np.isfinite(event.loss) for event in events if isinstance(event, EpisodeReport))
    assert len(trainer.hindsight) or len(trainer.original) or domain == "spanner"


def test_searched_trajectories_lead_to_the_goal_jump_by_jump() -> None:
    tasks = small_tasks("sokoban", 3)
    policy = GoalCountPolicy(np.random.default_rng(0), load_configuration("tiny").lookahead)
    lengths = []
    for number, task in enumerate(tasks):
        found = search(policy, task, number, 2000)
        assert found is not None
        assert (found.task, found.ending, found.states[0]) == (number, Ending.SOLVED, task.initial_state)
        assert task.goal.holds(found.states[-1])
        for state, successor in itertools.pairwise(found.states):
            assert lookahead(task, state, policy.lookahead).find(successor) > 0
        lengths.append(len(found.states))
    assert max(lengths) > 2
    assert search(policy, tasks[int(np.argmax(lengths))], 0, 1) is None


def test_failed_rollouts_are_searched() -> None:
    settings = [*SHORT, "horizon=1", "episodes=2", "searches=3"]
    tasks = small_tasks("ferry", 4)

    def learn() -> Trainer:
        trainer = Trainer(load_configuration("tiny", settings), tasks, seed=0)
        reports = [event for event in trainer.train() if isinstance(event, EpisodeReport)]
        assert sum(event.searched for event in reports) > 0
        assert all(event.searched <= 3 for event in reports)
        return trainer

    trainer = learn()
    assert len(trainer.original)
    assert weights_hash(trainer) == weights_hash(learn())


def test_a_curriculum_begins_with_the_smallest_problems_and_ends_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def noted(policy: Policy, tasks: Sequence[Task], numbers: Sequence[int], **rest: Any) -> list[Trajectory]:
        seen.append([len(tasks[number].objects) for number in numbers])
        return collect(policy, tasks, numbers, **rest)

    monkeypatch.setattr("saltus.learn.trainer.collect", noted)
    monkeypatch.setattr("saltus.learn.trainer.ROLLOUTS", 16)
    monkeypatch.setattr(Curriculum, "learn", lambda curriculum, success: None)
    tasks = small_tasks("ferry", 10)[::-1]
    sizes = sorted(len(task.objects) for task in tasks)
    settings = [*SHORT, "curriculum=10", "episodes=12", "steps=1", "horizon=1", "stop_after=0"]
    trainer = Trainer(load_configuration("tiny", settings), tasks)
    list(trainer.train())
    assert {*seen[0]} == {sizes[0]}
    assert max(seen[5]) <= sizes[5]
    assert {*seen[10], *seen[11]} >= {sizes[0], sizes[-1]}
    assert [trainer.tasks[number] for number in trainer.drawn_from] != tasks


def test_a_curriculum_follows_success() -> None:
    by_time, paced = Curriculum(100), Curriculum(100)
    for episode in range(100):
        assert paced.share(episode) == by_time.share(episode)
        assert FIRST_SHARE <= paced.share(episode) <= 1.0
        paced.learn(0.0)
    assert paced.pace == FIRST_SHARE
    for _ in range(24):
        assert paced.share(0) < 1.0
        paced.learn(1.0)
    assert paced.share(0) == pytest.approx(1.0)
    paced.learn(0.0)
    assert by_time.share(0) < paced.share(0) < 1.0
    before = paced.pace
    paced.learn(ENOUGH)
    assert paced.pace == pytest.approx(before)
    assert [Curriculum(0).share(0), by_time.share(50), by_time.share(100)] == pytest.approx([1.0, 0.55, 1.0])


def test_a_curriculum_is_saved_and_forgotten_with_its_episode() -> None:
    tasks = small_tasks("ferry", 10)
    settings = [*SHORT, "curriculum=100", "episodes=20", "steps=1", "horizon=9"]

    def trainer() -> Trainer:
        return Trainer(load_configuration("tiny", settings), tasks, seed=0)

    whole, first, second = trainer(), trainer(), trainer()
    list(whole.train(stop=lambda: whole.episode == 4))
    list(first.train(stop=lambda: first.episode == 2))
    assert first.curriculum.pace != whole.curriculum.pace
    tensors, values = first.get_state()
    second.set_state(tensors, values)
    before = second.curriculum.pace
    assert before == first.curriculum.pace
    remembered = second._remember()
    second.curriculum.learn(1.0)
    second._go_back(remembered)
    assert second.curriculum.pace == before
    list(second.train(stop=lambda: second.episode == 4))
    assert second.curriculum.pace == whole.curriculum.pace
    assert weights_hash(second) == weights_hash(whole)
    del values["pace"]
    trainer().set_state(tensors, values)


def test_schedules() -> None:
    assert [linear(1.0, 0.0, i, 4) for i in range(6)] == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]


def test_schedules_that_begin_anew() -> None:
    found = [restarted(i, 2) for i in range(15)]
    assert found[:6] == [(0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4)]
    assert found[6:] == [*((i, 8) for i in range(8)), (0, 16)]


def test_the_learning_rate_rises_again_if_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saltus.learn.trainer.LEARNING_RATE_END", 0.05)
    settings = [*SHORT, "learning_rate=0.1", "learning_rate_episodes=1"]
    trainer = Trainer(
        load_configuration("tiny", [*settings, "learning_rate_restarts=true"]), small_tasks("blocksworld", 3), seed=0
    )
    reports = [event for event in trainer.train() if isinstance(event, EpisodeReport)]
    assert [event.learning_rate for event in reports] == pytest.approx([0.1, 0.1, 0.075, 0.1])


def test_learning_rate_and_temperature_follow_their_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [*SHORT, "learning_rate=0.1", "learning_rate_episodes=2", "temperature=1.0"]
    for name, value in (("LEARNING_RATE_END", 0.05), ("TEMPERATURE_END", 0.5), ("TEMPERATURE_EPISODES", 4)):
        monkeypatch.setattr(f"saltus.learn.trainer.{name}", value)
    trainer = Trainer(load_configuration("tiny", settings), small_tasks("blocksworld", 3), seed=0)
    reports = [event for event in trainer.train() if isinstance(event, EpisodeReport)]
    assert [event.learning_rate for event in reports] == pytest.approx([0.1, 0.075, 0.05, 0.05])
    assert [event.temperature for event in reports] == pytest.approx([1.0, 0.875, 0.75, 0.625])


@pytest.mark.parametrize("is_given", [False, True])
def test_the_average_of_weights_soon_forgets_where_it_began(is_given: bool) -> None:
    """Its share of the present weights is nine of nine and the number of steps, and 1 - average at least; the latter
    from the beginning if the weights at the start were learned."""
    settings = [*SHORT, "average=0.6", "steps=1", "episodes=30", "stop_after=0", "learning_rate=0.01"]
    trainer = Trainer(load_configuration("tiny", settings), small_tasks("blocksworld", 3), seed=0)
    learner = trainer.learner
    learner.is_given = is_given
    averaged = learner.averaged
    assert averaged is not None
    original = learner.step
    shares = []

    def noted(*arguments: Any) -> Any:
        before = [mean.clone() for mean in averaged.parameters()]
        result = original(*arguments)
        for old, mean, weight in zip(before, averaged.parameters(), learner.network.parameters(), strict=True):
            if old.numel() > 1 and (gap := (weight.detach() - old).norm()) > 1e-4:
                shares.append(float((mean - old).norm() / gap))
                break
        return result

    learner.step = noted  # type: ignore[method-assign]
    list(trainer.train())
    steps = range(1, 1 + len(shares))
    assert len(shares) > 20
    assert shares == pytest.approx([0.4 if is_given else max(9 / (step + 9), 0.4) for step in steps], abs=1e-3)


def test_stops_when_told_and_when_validation_is_stable() -> None:
    tasks = small_tasks("blocksworld", 3)
    trainer = Trainer(load_configuration("tiny", SHORT), tasks, seed=0)
    counter = itertools.count()
    assert len(list(trainer.train(lambda: next(counter) >= 1))) == 1
    stable = Trainer(load_configuration("tiny", [*SHORT, "stop_after=1"]), tasks, seed=0)
    stable.held_out = []  # nothing to solve is solved
    list(stable.train())
    assert stable.episode == 2
    assert stable.is_stable


def test_a_run_is_not_stable_while_its_plans_get_shorter() -> None:
    tasks = small_tasks("blocksworld", 3)
    trainer = Trainer(load_configuration("tiny", [*SHORT, "stop_after=3"]), tasks, tasks, seed=0)

    def is_stable(*actions: int, solved: int = 2) -> bool:
        found = [Coverage(2, solved, 5, length) for length in actions]
        trainer.validations = [Validation(2 * i + 2, entry, Coverage(0, 0, 0, 0), 0.0) for i, entry in enumerate(found)]
        return trainer.is_stable

    assert trainer.spec.validate_every == 2
    assert is_stable(9, 9, 9)
    assert is_stable(9, 8, 9, 8)
    assert is_stable(9, 10, 11)
    assert not is_stable(9, 9)
    assert not is_stable(9, 8, 8)
    assert not is_stable(9, 9, 9, 8)
    assert not is_stable(9, 9, 9, solved=1)


def test_a_stable_run_stays_ended_when_it_is_restored() -> None:
    tasks = small_tasks("blocksworld", 3)
    configuration = load_configuration("tiny", [*SHORT, "stop_after=1"])
    ended = Trainer(configuration, tasks, seed=0)  # nothing to solve is solved
    list(ended.train())
    assert ended.episode == 2
    restored = Trainer(configuration, tasks, seed=0)
    restored.set_state(*ended.get_state())
    assert list(restored.train()) == []


def test_without_problems_to_choose_by_the_latest_policy_is_the_best() -> None:
    tasks = small_tasks("blocksworld", 3)
    trainer = Trainer(load_configuration("tiny", SHORT), tasks, seed=0)
    best = [trainer.best.episode for event in trainer.train() if isinstance(event, Validation) and trainer.best]
    assert best == [2, 4]
    assert not trainer.can_select
    chosen = Trainer(load_configuration("tiny", SHORT), tasks, larger=tasks, seed=0)
    assert chosen.can_select


def test_validations_by_time_leave_the_weights_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = small_tasks("blocksworld", 6)
    settings = [*SHORT, "episodes=6", "validate_every=4", "stop_after=2", "selection=paper"]

    def learn(seconds: float) -> Trainer:
        monkeypatch.setattr(TrainingSpec, "validate_seconds", seconds)
        trainer = Trainer(load_configuration("tiny", settings), tasks[:4], tasks[4:])
        list(trainer.train())
        return trainer

    monkeypatch.setattr("saltus.learn.trainer.time", SimpleNamespace(monotonic=hours().__next__, perf_counter=clock))
    regular, timed = learn(0.0), learn(1e-3)
    assert [entry.episode for entry in regular.validations] == [4, 6]
    assert [entry.episode for entry in timed.validations] == [1, 2, 3, 4, 5, 6]
    assert [timed.validations[3], timed.validations[5]] == regular.validations  # TD errors as well
    assert weights_hash(timed) == weights_hash(regular)


def test_validations_by_time_are_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saltus.learn.trainer.time", SimpleNamespace(monotonic=hours().__next__, perf_counter=clock))
    monkeypatch.setattr(TrainingSpec, "validate_seconds", 1e-3)
    settings = [*SHORT, "validate_every=2", "stop_after=2"]
    trainer = Trainer(load_configuration("tiny", settings), small_tasks("blocksworld", 3))  # nothing to solve is solved
    list(trainer.train())
    assert [entry.episode for entry in trainer.validations] == [1, 2, 3, 4]
    assert trainer.is_stable


def hours() -> Iterator[float]:
    """Times further and further apart, so that a validation never seems to take long against what follows it."""
    return (10.0**i for i in itertools.count())


def test_a_loss_that_is_no_number_is_an_error() -> None:
    settings = [*SHORT, "learning_rate=1e30"]
    trainer = Trainer(load_configuration("tiny", settings), small_tasks("blocksworld", 3), seed=0)
    with pytest.raises(ConfigurationError, match="learning_rate"):
        list(trainer.train())


def test_no_experience_is_no_gradient_step(monkeypatch: pytest.MonkeyPatch) -> None:
    task = chain(3, goal=1)
    monkeypatch.setattr("saltus.learn.trainer.hindsight_transitions", lambda *_: [])
    settings = [*SHORT, "horizon=1", "lookahead.kind=flat"]
    trainer = Trainer(load_configuration("tiny", settings), [chain(9, goal=8)], [task], seed=0)
    reports = [event for event in trainer.train() if isinstance(event, EpisodeReport)]
    assert len(trainer.original) + len(trainer.hindsight) == 0
    assert [event.steps_per_second for event in reports] == [0.0] * 4


def test_a_state_of_other_problems_is_refused() -> None:
    tasks = small_tasks("blocksworld", 4)
    configuration = load_configuration("tiny", SHORT)
    tensors, values = Trainer(configuration, tasks[:3], seed=0).get_state()
    Trainer(configuration, tasks[:3], seed=0).set_state(tensors, values)
    for others in (tasks[1:], tasks, tasks[:2], tasks[2::-1]):
        with pytest.raises(InputError, match="not those"):
            Trainer(configuration, others, seed=0).set_state(tensors, values)


def test_far_larger_problems_count_and_are_tried_only_by_policies_that_solve_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = small_tasks("blocksworld", 6)
    trainer = Trainer(load_configuration("tiny", SHORT), tasks[:1], tasks[1:2], tasks[2:4], tasks[4:6], seed=0)
    played: list[list[Task]] = []
    unsolved: list[Task] = []

    def measured(policy: Policy, tasks: Sequence[Task], *_: object, **__: object) -> Coverage:
        played.append(list(tasks))
        solved = sum(task not in unsolved for task in tasks)
        return Coverage(len(tasks), solved, solved, 10 * solved)

    monkeypatch.setattr("saltus.learn.trainer.measure", measured)
    found = trainer.validate()
    assert played == [tasks[1:2], tasks[2:4], tasks[4:6]]
    assert found.larger == Coverage(4, 4, 4, 40)
    assert found.complete
    unsolved.append(tasks[5])
    assert not trainer.validate().complete
    unsolved.append(tasks[2])
    played.clear()
    found = trainer.validate()
    assert played == [tasks[1:2], tasks[2:4]]
    assert found.larger == Coverage(4, 1, 1, 10)


def test_larger_problems_are_tried_only_by_policies_worth_it() -> None:
    tasks = small_tasks("blocksworld", 4)
    far = small_tasks("blocksworld", 1)
    far[0].goal.impossible = True
    trainer = Trainer(load_configuration("tiny", SHORT), tasks, far, tasks, seed=0)
    assert trainer.validate().larger is None
    trainer.held_out = []
    found = trainer.validate().larger
    assert found is not None
    assert found.problems == 4


def test_selection() -> None:
    def entry(episode: int, solved: int, actions: int, larger: int | None, td_error: float = 1.0) -> Validation:
        wide = Coverage(8, larger, larger, 10 * larger) if larger is not None else None
        return Validation(episode, Coverage(30, solved, 5, actions), wide, td_error)

    ours = [entry(1, 30, 100, 3), entry(2, 29, 100, 8), entry(3, 29, 90, 8), entry(4, 30, 50, None)]
    assert max(ours, key=lambda value: value.key("larger")).episode == 3
    paper = [entry(1, 29, 10, 8), entry(2, 30, 100, 0, 0.5), entry(3, 30, 100, 0, 0.4), entry(4, 30, 101, 8, 0.1)]
    assert max(paper, key=lambda value: value.key("paper")).episode == 3
    assert Validation.from_json(ours[0].to_json()) == ours[0]
    assert Validation.from_json(ours[3].to_json()) == ours[3]


def test_coverage_counts_jumps_and_actions_of_solved_problems() -> None:
    class Nearest(Plays):
        lookahead = load_configuration("tiny").lookahead

        def decide(self, situations):  # type: ignore[no-untyped-def]
            trees = [lookahead(task, state, self.lookahead, goal) for task, state, goal in situations]
            return [Decision(tree, -tree.depth[1:].astype(np.float32)) for tree in trees]

    solvable, impossible = chain(6, goal=3), chain(3, goal=1)
    impossible.goal.impossible = True
    found = measure(Nearest(), [solvable, impossible])
    assert found == Coverage(problems=2, solved=1, jumps=1, actions=3, nodes=6)


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no problem"):
        Trainer(load_configuration("tiny"), [])


# -- interrupted -----------------------------------------------------------------------------------------------------

INTERRUPTED = [*SHORT, "searches=1", "average=0.9"]


class Interruption:
    """A predicate that is true from the time on that it was asked so often."""

    def __init__(self, after: int | None = None) -> None:
        self.after = after
        self.asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.after is not None and self.asked > self.after


@pytest.mark.parametrize(("kind", "parts"), [("ad", 6), ("ext", 2)])
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(kind: str, parts: int) -> None:
    """Wherever it was interrupted: in rollouts, searches, gradient steps or validations."""
    tasks = small_tasks("blocksworld", 6)
    configuration = load_configuration("tiny", [*INTERRUPTED, f"encoding.kind={kind}"])

    def fresh() -> Trainer:
        return Trainer(configuration, tasks[:4], tasks[4:], seed=7)

    whole, calls = fresh(), Interruption()
    list(whole.train(interrupt=calls))
    assert calls.asked > 300  # far more often than there are episodes
    for after in (part * calls.asked // parts for part in range(parts)):
        broken = fresh()
        events = list(broken.train(interrupt=Interruption(after)))
        assert broken.episode == len([event for event in events if event.kind == "episode"])
        assert len(broken.validations) == len(events) - broken.episode
        assert len(events) < 6
        restored = fresh()
        restored.set_state(*broken.get_state())
        for trainer in (restored, broken):  # in another process, and in the same one
            list(trainer.train())
            assert weights_hash(trainer) == weights_hash(whole)
            assert trainer.validations == whole.validations
            assert trainer.best == whole.best


def test_an_interrupted_episode_changes_nothing() -> None:
    tasks = small_tasks("blocksworld", 4)
    trainer = Trainer(load_configuration("tiny", INTERRUPTED), tasks[:3], tasks[3:], seed=7)
    steps = trainer.learner.descend
    next(iter(trainer.train()))
    before = trainer.get_state()
    asked: list[bool] = []
    trainer.learner.descend = lambda *arguments: (steps(*arguments), asked.append(True))[0]  # type: ignore[method-assign]
    assert list(trainer.train(interrupt=lambda: len(asked) == 2)) == []  # after two of three gradient steps
    after = trainer.get_state()
    assert after[1] == before[1]
    assert after[0].keys() == before[0].keys()
    assert all(torch.equal(after[0][name], value) or name.endswith("bound") for name, value in before[0].items())


def test_an_endless_validation_is_interrupted_and_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = small_tasks("blocksworld", 4)

    def endless(policy: Policy, tasks: Sequence[Task], *, check: Any, **_: Any) -> Coverage:
        while True:
            is_validating.append(True)
            check()

    is_validating: list[bool] = []
    trainer = Trainer(load_configuration("tiny", SHORT), tasks[:3], tasks[3:], seed=7)
    with monkeypatch.context() as patched:
        patched.setattr("saltus.learn.trainer.measure", endless)
        events = list(trainer.train(interrupt=lambda: len(is_validating) > 1000))
    assert [event.kind for event in events] == ["episode", "episode"]
    assert trainer.validations == []
    rest = [(event.kind, event.episode) for event in trainer.train()]
    assert rest == [("validation", 2), ("episode", 3), ("episode", 4), ("validation", 4)]


def test_measuring_asks_before_every_jump() -> None:
    """A policy that never arrives is stopped between its jumps."""
    calls = Interruption(20)

    def check() -> None:
        if calls():
            raise KeyError("stop")

    policy = GoalCountPolicy(np.random.default_rng(0), TreeSpec(kind="flat"))
    with pytest.raises(KeyError, match="stop"):
        measure(policy, [chain(90, goal=89)], check=check)
    assert calls.asked == 21


def test_what_is_not_solved_in_time_counts_as_unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = GoalCountPolicy(np.random.default_rng(0), TreeSpec(kind="flat"))
    near, away = chain(90, goal=1), chain(90, goal=5)
    assert measure(policy, [near, away], until=-1.0) == Coverage(2, 1, 1, 1, nodes=2)
    assert measure(policy, [near, away]).solved == 2
    limits: list[float] = []

    def measured(policy: Policy, tasks: Sequence[Task], *, until: float, **_: Any) -> Coverage:
        limits.append(until)
        return Coverage(len(tasks), len(tasks), 1, 1)

    monkeypatch.setattr("saltus.learn.trainer.measure", measured)
    for seconds in (0, 3600):
        settings = [*SHORT, f"validation_limit={seconds}"]
        Trainer(load_configuration("tiny", settings), [near], [near], [near], [near], seed=7).validate()
    assert limits[:3] == [np.inf] * 3
    assert limits[3] == limits[4] == limits[5] < np.inf


def test_validation_follows_the_rule_for_goal_states() -> None:
    """The first jump of a policy that prefers states far from the goal: into the goal, or away from it."""

    class Worst(GoalCountPolicy):
        def values(self, tree):
            return -tree.goals[1:].astype(np.float32)

    tasks = [chain(6, goal=3)]
    policy = Worst(np.random.default_rng(0))
    assert measure(policy, tasks).jumps == 1
    assert measure(policy.playing(PlaySpec(take_goals=False)), tasks).jumps != 1


def test_a_policy_that_has_learned_begins_with_all_problems() -> None:
    configuration = load_configuration("tiny", [*SHORT, "curriculum=100"])
    tasks = small_tasks("ferry", 10)
    first, second = (Trainer(configuration, tasks, seed=seed) for seed in range(2))
    network, encoding, trees = first.learner.network, configuration.encoding, configuration.lookahead
    assert second._problems_known() == 1
    second.start_from(PolicyFile.of(network, tasks[0].domain, encoding, trees))
    assert second._problems_known() == len(tasks)


def test_trees_are_not_made_ahead_where_most_would_never_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchMaker, "make_ahead", lambda maker, transitions: pytest.fail("made ahead"))
    settings = [*SHORT, "episodes=2", "steps=1", "batch=2"]
    trainer = Trainer(load_configuration("tiny", settings), small_tasks("blocksworld", 3, of=6), threads=AHEAD_THREADS)
    list(trainer.train())
    assert len(trainer.hindsight) > 4


@pytest.mark.parametrize("kept_nodes", [600, 12, 0])
def test_trees_that_are_made_ahead_change_nothing(kept_nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many threads, trees are made for all new transitions, unless most are too large to be kept."""
    monkeypatch.setattr("saltus.learn.batch.KEPT_NODES", kept_nodes)
    ahead: list[bool] = []
    make_ahead = BatchMaker.make_ahead

    def watched(maker: BatchMaker, transitions: Sequence[Transition]) -> bool:
        ahead.append(make_ahead(maker, transitions))
        return ahead[-1]

    monkeypatch.setattr(BatchMaker, "make_ahead", watched)
    hashes = []
    for threads in (1, AHEAD_THREADS):
        torch.set_num_threads(1)
        trainer = Trainer(
            load_configuration("tiny", ["episodes=3"]), small_tasks("blocksworld", 3, of=6), seed=3, threads=threads
        )
        list(trainer.train())
        hashes.append(weights_hash(trainer))
        assert bool(ahead) == (threads > 1)
    assert hashes[0] == hashes[1]
    if kept_nodes == 600:
        assert all(ahead)
        assert len(ahead) > 3
    if kept_nodes == 0:
        assert ahead == [False]
