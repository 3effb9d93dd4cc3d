"""The contest behind `saltus train`: who goes on and why, what is saved, and how it goes on after a kill."""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.conftest import ROOT
from tests.learn.small import small_tasks
from tests.learn.test_run import FAST, SWITCHES, options, suite, wait_until
from tests.process.doubles import PROGRAM

from saltus.cli.main import run as command
from saltus.cli.train import contest_shown
from saltus.errors import ConfigurationError, InputError
from saltus.learn import Budget, Contest, ContestEvent, Coverage, Validation, open_contest
from saltus.learn.candidates import CANDIDATES, candidates_for
from saltus.learn.contest_opening import affordable, slots_for
from saltus.learn.contest_state import LEAST_SHARE, ContestState, share
from saltus.learn.log import log_entry, read_log
from saltus.learn.ranking import Standing, parts_from, ranked, reason, survivors
from saltus.learn.train_job import TrainJob, TrainResult
from saltus.model.policy_file import load_policy_file
from saltus.policy.outcome import Outcome

__all__ = ["suite"]  # the fixture

TINY = [*FAST, "far_problems=0"]


def validation(episode: int, solved: int, larger: int | None = None, actions: int = 100, jumps: int = 50) -> Validation:
    """A validation on ten problems, and on ten larger ones."""
    more = None if larger is None else Coverage(10, larger, jumps, actions)
    return Validation(episode, Coverage(10, solved, jumps, actions), more, 0.5)


def standing(name: str, *validations: Validation) -> Standing:
    """How a run stands."""
    return Standing(name, validations)


class TestRanking:
    """Pure functions of made-up scores."""

    def test_coverage_then_actions_then_jumps_then_the_order_of_the_list(self) -> None:
        order = [
            standing("unvalidated"),
            standing("small", validation(1, 9)),
            standing("tied", validation(1, 10, 9, 200, 40)),
            standing("first", validation(1, 10, 9, 200, 40)),
            standing("jumpy", validation(1, 10, 9, 200, 41)),
            standing("long", validation(1, 10, 9, 201, 10)),
            standing("spread", validation(1, 9, 9, 10, 10)),
            standing("best", validation(1, 2), validation(2, 10, 10, 900, 900), validation(3, 0)),
        ]
        names = [entry.name for entry in ranked(order)]
        assert names == ["best", "tied", "first", "jumpy", "long", "spread", "small", "unvalidated"]

    def test_small_trees_count_among_plans_that_are_about_as_short(self) -> None:
        def run(name: str, solved: int, actions: int, nodes: int) -> Standing:
            return Standing(name, (Validation(1, Coverage(10, solved, 5, actions, None, nodes), None, 0.0),))

        order = [run("large", 10, 100, 900), run("small", 10, 105, 20), run("long", 10, 106, 1), run("few", 9, 50, 1)]
        assert [entry.name for entry in ranked(order)] == ["small", "large", "long", "few"]
        assert [entry.name for entry in ranked([run("b", 0, 0, 9), run("a", 0, 0, 1)])] == ["b", "a"]  # nothing solved

    def test_costs_count_where_the_run_counts_them(self) -> None:
        def cost(name: str, actions: int, price: float) -> Standing:
            return Standing(name, (Validation(1, Coverage(1, 1, 1, actions, price), None, 0.0),), "costs")

        assert [entry.name for entry in ranked([cost("short", 5, 90.0), cost("cheap", 9, 10.0)])] == ["cheap", "short"]
        assert str(cost("cheap", 9, 10.0)) == "cheap: 1 of 1, cost 10"

    def test_the_better_half_goes_on(self) -> None:
        runs = [standing(str(i), validation(1, i)) for i in range(5)]
        assert [entry.name for entry in survivors(runs)] == ["4", "3", "2"]
        assert [entry.name for entry in survivors(runs[:2])] == ["1"]

    def test_more_than_half_are_dropped_where_the_time_allows_no_round_of_half(self) -> None:
        runs = [standing(str(i), validation(1, i)) for i in range(8)]
        assert [entry.name for entry in survivors(runs, fits=lambda count: count < 4)] == ["7", "6"]
        assert [entry.name for entry in survivors(runs, fits=lambda count: False)] == ["7"]

    def test_those_that_look_for_dead_ends_go_on_where_hardly_anything_is_solved(self) -> None:
        able = [replace(standing(name, validation(1, 0)), looks_for_dead_ends=True) for name in "ab"]
        for scores, kept in (((1,), "ab"), ((0, 1, 0), "ab"), ((1, 1), "da"), ((0, 2), "da"), ((1, 3), "da")):  # of 10
            other = standing("d", *(validation(i, count) for i, count in enumerate(scores)))
            assert "".join(entry.name for entry in survivors([standing("c"), *able, other])) == kept

    @pytest.mark.parametrize(("runs", "rounds"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3)])
    def test_rounds(self, runs: int, rounds: int) -> None:
        assert parts_from(runs) == rounds + 2
        left, counted = [standing(str(i), validation(1, i)) for i in range(runs)], 0
        while len(left) > 1:
            left, counted = survivors(left), counted + 1
        assert counted == rounds

    def test_the_reason_names_the_next(self) -> None:
        runs = [standing("iw", validation(1, 7, 6, 50)), standing("aiw-free", validation(1, 10, 10, 150))]
        assert reason(runs) == (
            "aiw-free: 10 of 10 and 10 of 10 larger, 300 actions; next: iw: 7 of 10 and 6 of 10 larger, 100 actions"
        )
        assert reason(runs[:1]) == "iw: 7 of 10 and 6 of 10 larger, 100 actions"


class TestCandidates:
    """Which configurations compete."""

    def test_free_moves_only_where_there_are_any(self) -> None:
        free = candidates_for(small_tasks("ferry", 2), "cpu")
        assert [entry.name for entry in free] == list(CANDIDATES)
        assert sum(entry.configuration.lookahead.free_moves for entry in free) == 4
        fixed = candidates_for(small_tasks("blocksworld", 2), "cpu")
        assert [entry.name for entry in fixed] == ["aiw", "iw", "aiw-dead-ends", "iw-dead-ends"]
        assert not any(entry.configuration.lookahead.free_moves for entry in fixed)

    def test_all_share_what_their_scores_depend_on(self) -> None:
        specs = [entry.configuration for entry in candidates_for(small_tasks("ferry", 2), "cuda", seed=7)]
        assert {(spec.training.cost, spec.training.larger_problems, spec.model.embedding) for spec in specs} == {
            ("actions", 12, 32)
        }
        assert {(spec.play.max_encoded, spec.play.max_better) for spec in specs} == {(10_000, None)}
        assert {spec.play.dead_ends: spec.training.searches for spec in specs} == {False: 0, True: 4}
        assert {entry.seed for entry in candidates_for(small_tasks("ferry", 2), "cpu", seed=7)} == {7}

    def test_a_validation_takes_a_tenth_of_the_time_at_most(self) -> None:
        tasks = small_tasks("blocksworld", 2)
        limited = candidates_for(tasks, "cuda", seconds=600)
        assert {entry.configuration.training.validation_limit for entry in limited} == {60}
        assert {entry.configuration.training.validation_limit for entry in candidates_for(tasks, "cuda")} == {0}

    def test_settings_change_all_and_merge_those_that_they_make_equal(self) -> None:
        tasks = small_tasks("ferry", 2)
        wide = candidates_for(tasks, "cpu", ["embedding=24"])
        assert {entry.configuration.model.embedding for entry in wide} == {24}
        same = candidates_for(tasks, "cpu", ["lookahead.kind=iw"])
        assert [entry.name for entry in same] == ["iw-free", "iw-free-dead-ends", "iw", "iw-dead-ends"]
        assert len(candidates_for(tasks, "cpu", ["width=2"])) == 4  # free moves need width 1

    def test_limits_on_trees_that_the_user_set_are_kept(self) -> None:
        limited = candidates_for(small_tasks("ferry", 2), "cpu", ["max_encoded=500"])
        assert {entry.configuration.play.max_encoded for entry in limited} == {500}

    def test_settings_that_suit_no_candidate_are_an_error(self) -> None:
        with pytest.raises(ConfigurationError, match="epsiodes"):
            candidates_for(small_tasks("ferry", 2), "cpu", ["epsiodes=1"])

    def test_free_moves_asked_for_in_vain(self) -> None:
        (only,) = candidates_for(small_tasks("blocksworld", 2), "cpu", ["free_moves=true"])
        assert only.name == "aiw"


@pytest.mark.parametrize(
    ("seconds", "runs", "slots", "each"),
    [(100, 8, 8, 94), (100, 8, 2, 19), (100, 3, 2, 44), (5, 8, 2, 1), (100, 0, 2, 0)],
)
def test_shares(seconds: float, runs: int, slots: int, each: float) -> None:
    assert share(seconds, runs, slots, 6.0) == each


def test_runs_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU one per core, on a GPU as many as its memory and the cores allow, eight at most."""
    monkeypatch.setattr("saltus.learn.contest_opening.cores", lambda: 16)
    assert [slots_for("cpu", threads, 8) for threads in (None, 4, 32)] == [8, 4, 1]
    assert slots_for("cpu", None, 3) == 3
    for gigabytes, slots in ((139, 8), (24, 6), (2, 1)):
        monkeypatch.setattr("torch.cuda.mem_get_info", lambda free=gigabytes: (free * 2**30, 139 * 2**30))
        assert slots_for("cuda", None, 8) == slots
    assert slots_for("cuda", None, 20) == 1


def test_fewer_candidates_where_time_is_short() -> None:
    assert [affordable(8, seconds, 8) for seconds in (600, 100, 99)] == [8, 8, 4]
    assert [affordable(8, seconds, 2) for seconds in (3600, 300, 120, 10)] == [8, 4, 2, 1]


# -- contests with runs that are made up -----------------------------------------------------------------------------


@dataclass
class Script:
    """Runs that solve what they are told to at every episode, which takes a second, and how often each was started."""

    solves: Callable[[str, int], Validation]
    stops: Callable[[TrainJob], bool] = lambda job: False
    """Whether the job is interrupted after its first episode."""
    fails: str = ""
    started: list[tuple[str, int]] = field(default_factory=list)
    """Name and target of every job."""
    now: float = 0.0

    def __call__(self, job: TrainJob, watch: Any, stop: Any = None) -> TrainResult:
        folder, name = Path(job.out), Path(job.out).name
        assert job.seconds is not None
        target = int(job.seconds)
        self.started.append((name, target))
        if name == self.fails:
            return TrainResult("failed, exit code 32: boom", Outcome.CRASH)
        folder.mkdir(parents=True, exist_ok=True)
        known = list(read_log(folder / "log.jsonl").validations)
        for episode in range(len(known) + 1, target + 1):
            self.now += 1.0
            event = self.solves(name, episode)
            known.append(event)
            with (folder / "log.jsonl").open("a") as log:
                for entry in ({"kind": "episode", "episode": episode}, log_entry(event)):
                    log.write(json.dumps({**entry, "elapsed": float(episode)}) + "\n")
            (folder / "policy.safetensors").write_text(f"{name} {event.held_out.solved}")
            watch({"event": "validation", "elapsed": 1.0, **event.to_json()}, TrainResult("running"))
            if self.stops(job):
                raise KeyboardInterrupt
            if [entry.complete for entry in known[-4:]] == [True] * 4:
                return TrainResult("done", None, is_finished=True, is_stable=True)
        return TrainResult("done", None)


def by_rank(order: list[str], complete: bool = True) -> Callable[[str, int], Validation]:
    """Runs that solve all the more problems, the earlier they are in a list; unless `complete`, none solves all."""

    def solves(name: str, episode: int) -> Validation:
        place = order.index(name) if name in order else len(order)
        return validation(episode, 10, 10 - place if complete else 9 - place, 100 + place)

    return solves


@pytest.fixture
def ferries(tmp_path: Path) -> Path:
    """A folder of problems whose domain has free moves."""
    assert command(["generate", "ferry", "--split", "training", "--count", "4", "--out", str(tmp_path / "ferry")]) == 0
    return tmp_path / "ferry"


def opened(folder: Path, out: Path, script: Script, seconds: float = 200, **other: Any) -> Contest:
    """A contest with made-up runs, one after the other, that take no time to start and nothing is held for."""
    with pytest.MonkeyPatch.context() as patched:
        for module in ("contest", "contest_opening"):
            patched.setattr(f"saltus.learn.{module}.STARTUP", 0.0)
        patched.setattr("saltus.learn.contest_opening.final_sizes", lambda problems: [])
        contest = open_contest(
            folder, out, budget=Budget(seconds), device="cpu", run=script, clock=lambda: script.now, **other
        )
    contest.slots = 1
    return contest


def comparable(out: Path) -> dict[str, Any]:
    """The state of a contest."""
    values: dict[str, Any] = json.loads((out / "contest.json").read_text())
    return values


def test_the_better_half_goes_on_until_one_is_left(ferries: Path, tmp_path: Path) -> None:
    order = ["iw", "aiw-free", "iw-free-dead-ends", "aiw-dead-ends", "iw-free", "aiw"]
    script, told = Script(by_rank(order)), list[ContestEvent]()
    contest = opened(ferries, tmp_path / "out", script)
    contest.play(told.append)
    names = [name for name, _ in script.started]
    assert sorted(names[:8]) == sorted(CANDIDATES)
    # All that solve everything stably wait; others go on.
    assert [sorted(entry.targets) for entry in contest.state.rounds] == [
        sorted(CANDIDATES),
        sorted(order[:4]),
        sorted(order[:2]),
    ]
    assert "iw" not in names[8:]
    assert contest.state.ended_by == "the winner's last validations solved every problem, and plans got no shorter"
    assert contest.state.winner == "iw"
    assert contest.policy.read_text() == "iw 10"
    lines = contest.summary()
    assert (
        "chosen: iw: 10 of 10 and 10 of 10 larger, 200 actions; next: aiw-free: 10 of 10 and 9 of 10 larger" in lines[1]
    )
    assert lines[-1] == f"policy: {tmp_path / 'out' / 'policy.safetensors'}"
    rounds = [event.text for event in told if event.kind == "round"]
    assert rounds[0] == f"round 1: 8 candidates: {', '.join(CANDIDATES)}; 5 s each"
    assert rounds[1].startswith("round 1 is over: iw: 10 of 10 and 10 of 10 larger, 200 actions; dropped: ")
    used = [event.used for event in told]
    assert used == sorted(used)
    assert used[-1] <= 200


def test_negated_goals_of_validation_problems_count_for_all_candidates(tmp_path: Path) -> None:
    """Runs that begin with a candidate's policy must encode goals as it does."""
    folder = tmp_path / "switches"
    for split, goal in (("training", "(on b)"), ("validation", "(and (on b) (not (on a)))")):
        (folder / split).mkdir(parents=True)
        (folder / split / "p.pddl").write_text(
            f"(define (problem p) (:domain switches) (:objects a b) (:init (on a) (next a b)) (:goal {goal}))"
        )
    (folder / "domain.pddl").write_text(SWITCHES)
    contest = opened(folder, tmp_path / "out", Script(by_rank([])))
    assert {entry.configuration.encoding.negative_goals for entry in contest.state.candidates} == {True}


def test_a_policy_that_solves_nothing_is_no_success(ferries: Path, tmp_path: Path) -> None:
    contest = opened(ferries, tmp_path / "out", Script(lambda name, episode: validation(episode, 0, 0, 0)))
    contest.play()
    assert any("the policy solves no problem that it was chosen by" in line for line in contest.summary())


def test_the_best_policy_so_far_is_always_there(ferries: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def solves(name: str, episode: int) -> Validation:
        if (tmp_path / "out" / "policy.safetensors").exists():
            leader, count = (tmp_path / "out" / "policy.safetensors").read_text().split()
            seen.append((leader, int(count)))
        return validation(episode, {"aiw-free": 3, "iw": 5}.get(name, 1))

    contest = opened(ferries, tmp_path / "out", Script(solves), 80)
    told: list[ContestEvent] = []
    contest.play(told.append)
    assert seen[0] == ("aiw-free", 3)
    assert seen[-1] == ("iw", 5)
    assert [count for _, count in seen] == sorted(count for _, count in seen)
    assert [event.text for event in told if event.kind == "leader"] == ["ahead now: iw: 5 of 10, 100 actions"]


def test_an_incomplete_winner_goes_on_until_the_time_is_up(ferries: Path, tmp_path: Path) -> None:
    contest = opened(ferries, tmp_path / "out", Script(by_rank(["iw"], complete=False)), seed=3)
    contest.play()
    assert [entry.kind for entry in contest.state.rounds] == [*["halving"] * 3, "winner"]
    assert {entry.seed for entry in contest.state.candidates} == {3}
    assert contest.state.winner == "iw"
    assert contest.policy.read_text() == "iw 10"
    assert contest.state.ended_by == "the time limit"


@pytest.mark.parametrize("validating", [2.0, 40.0])
def test_rounds_are_few_and_end_in_time_where_validations_take_long(
    ferries: Path, tmp_path: Path, validating: float
) -> None:
    now = 0.0

    def train(job: TrainJob, watch: Any, stop: Any = None) -> TrainResult:
        nonlocal now
        out = Path(job.out)
        out.mkdir(parents=True, exist_ok=True)
        log = read_log(out / "log.jsonl")
        assert job.seconds is not None
        trained = max(log.seconds + 1.0, job.seconds - (log.validation_seconds or 0.0))
        event = validation(log.episodes + 1, 9)
        with (out / "log.jsonl").open("a") as lines:
            lines.write(json.dumps({"kind": "episode", "episode": event.episode, "elapsed": trained}) + "\n")
            lines.write(json.dumps({**log_entry(event), "elapsed": trained + validating}) + "\n")
        now += 5.0 + trained + validating - log.seconds
        return TrainResult("done")

    contest = open_contest(
        ferries, tmp_path / "out", budget=Budget(2000.0), device="cpu", run=train, clock=lambda: now, threads=None
    )
    contest.slots = 1
    contest.play()
    kinds = [entry.kind for entry in contest.state.rounds]
    assert kinds.count("halving") == (3 if validating == 2.0 else 2)
    assert contest.state.used <= 2000.0 + 2 * LEAST_SHARE
    assert contest.state.used >= 1800.0


def test_a_longer_budget_lets_the_winner_go_on(ferries: Path, tmp_path: Path) -> None:
    script = Script(by_rank(["iw"], complete=False))
    opened(ferries, tmp_path / "out", script, 160).play()
    first = len(script.started)
    again = opened(ferries, tmp_path / "out", script, 200, resume=True)
    again.play()
    assert [name for name, _ in script.started[first:]] == ["iw"]
    assert again.state.rounds[-1].kind == "winner"
    opened(ferries, tmp_path / "out", script, 200, resume=True).play()  # nothing is left
    assert len(script.started) == first + 1


def test_those_that_look_for_dead_ends_go_on_if_nothing_is_solved(ferries: Path, tmp_path: Path) -> None:
    contest = opened(ferries, tmp_path / "out", Script(lambda name, episode: validation(episode, 0)))
    contest.play()
    assert [len(entry.targets) for entry in contest.state.rounds] == [8, 4, 2, 1]
    assert all("dead-ends" in name for name in contest.state.rounds[1].targets)


def test_a_run_that_fails_is_dropped_and_named(ferries: Path, tmp_path: Path) -> None:
    told: list[str] = []
    contest = opened(ferries, tmp_path / "out", Script(by_rank(["iw"]), fails="aiw"), warn=told.append)
    contest.play()
    assert contest.state.failed == {"aiw": "failed, exit code 32: boom"}
    assert "aiw: failed, exit code 32: boom" in told
    assert "aiw: failed, exit code 32: boom" in contest.summary()
    only = opened(ferries, tmp_path / "all", Script(by_rank([]), fails="aiw"), settings=["free_moves=false"])
    only.state.candidates, only.state.contestants = [only.state.candidate("aiw")], ["aiw"]
    with pytest.raises(InputError, match="no candidate can be trained; failed, exit code 32: boom"):
        only.play()


def test_a_winner_that_fails_keeps_its_policy_and_is_tried_again(ferries: Path, tmp_path: Path) -> None:
    script = Script(by_rank(["iw"], complete=False))
    contest = opened(ferries, tmp_path / "out", script)

    def fail_next(job: TrainJob) -> bool:
        script.fails = "iw" if (Path(job.out).name, job.seconds) == ("iw", 35) else ""
        return False

    script.stops = fail_next  # in its own round, after the last halving
    contest.play()
    assert script.started[-1] == ("iw", 115)
    assert contest.state.failed.keys() == {"iw"}
    assert (contest.state.winner, contest.state.ended_by) == ("iw", "no run that is left can go on")
    assert contest.policy.read_text() == "iw 10"
    assert "chosen: iw: " in "".join(contest.summary())
    script.fails, script.stops = "", lambda job: False
    again = opened(ferries, tmp_path / "out", script, resume=True)
    again.play()
    assert (again.state.winner, again.state.failed) == ("iw", {})
    assert again.state.ended_by == "the time limit"


def test_logs_keep_validations_whole(tmp_path: Path) -> None:
    events = [
        Validation(1, Coverage(3, 2, 5, 9, 2.5, 77), Coverage(8, 8, 3, 10, 4.0, 123), 0.5),
        Validation(2, Coverage(3, 2, 5, 9, None, 7), None, 0.25),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({**log_entry(event), "elapsed": 1.0}) + "\n" for event in events))
    assert read_log(path).validations == tuple(events)
    older = {key: value for key, value in log_entry(events[0]).items() if not key.endswith("nodes")}
    path.write_text(json.dumps({**older, "elapsed": 1.0}) + "\n")
    assert [entry.held_out.nodes for entry in read_log(path).validations] == [0]


@pytest.mark.parametrize("stopped", [0, 5, 9, 13, 14])
def test_a_contest_that_was_interrupted_ends_as_if_it_was_not(ferries: Path, tmp_path: Path, stopped: int) -> None:
    """Rounds and jobs that were finished are not repeated; the interrupted job goes on to its target."""
    order = ["iw", "aiw-free", "iw-free-dead-ends", "aiw-dead-ends", "iw-free", "aiw"]
    whole = Script(by_rank(order, complete=False))
    opened(ferries, tmp_path / "whole", whole).play()
    assert len(whole.started) == 8 + 4 + 2 + 1
    script = Script(by_rank(order, complete=False))
    script.stops = lambda job: len(script.started) == stopped + 1
    with pytest.raises(KeyboardInterrupt):
        opened(ferries, tmp_path / "out", script).play()
    assert (tmp_path / "out" / "policy.safetensors").exists()
    assert len(script.started) == stopped + 1
    script.stops = lambda job: False
    opened(ferries, tmp_path / "out", script, resume=True).play()
    assert script.started[: stopped + 1] == whole.started[: stopped + 1]
    assert script.started[stopped + 1 :] == whole.started[stopped:]
    assert comparable(tmp_path / "out") == comparable(tmp_path / "whole")


def test_time_is_divided_by_the_clock(ferries: Path, tmp_path: Path) -> None:
    """A budget in seconds: shares are what the clock leaves, less what runs take to start."""
    now = [1000.0]
    asked: list[tuple[str, float]] = []

    def run(job: TrainJob, watch: Any, stop: Any = None) -> TrainResult:
        assert job.seconds is not None
        folder = Path(job.out)
        folder.mkdir(parents=True, exist_ok=True)
        before = read_log(folder / "log.jsonl")
        asked.append((folder.name, job.seconds))
        now[0] += job.seconds - before.seconds + 10  # ten seconds to start
        event = validation(before.episodes + 1, 5 + ("iw" in folder.name))
        with (folder / "log.jsonl").open("a") as log:
            for entry in ({"kind": "episode", "episode": event.episode}, log_entry(event)):
                log.write(json.dumps({**entry, "elapsed": job.seconds}) + "\n")
        (folder / "policy.safetensors").write_text("policy")
        return TrainResult("stopped")

    contest = open_contest(
        ferries, tmp_path / "out", budget=Budget(2000), device="cpu", threads=10**6, run=run, clock=lambda: now[0]
    )
    assert contest.slots == 1
    contest.play()
    # A tenth is kept for the final. 8 candidates, five parts: 360 s for the first round, 45 s each, of which ten
    # are expected for the start.
    assert [seconds for _, seconds in asked[:8]] == [35.0] * 8
    assert contest.state.used == pytest.approx(1800, abs=12)  # these runs have no checkpoints to play with
    assert contest.is_out_of_time
    kinds = [entry.kind for entry in contest.state.rounds]
    assert kinds == ["halving"] * 3 + ["winner"]
    assert any("longer" in line or "time limit" in line for line in contest.summary())


@pytest.mark.parametrize("width", [60, 120])
def test_progress_fits_the_terminal(ferries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """The line that stays at the bottom does; others are as long as they are."""
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, width=width, soft_wrap=True, color_system=None)
    monkeypatch.setattr("saltus.cli.output.error_console", lambda: terminal)
    contest = opened(ferries, tmp_path / "out", Script(by_rank(["iw-free-dead-ends"])))
    with contest_shown(contest) as show:
        contest.play(show)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", written.getvalue().replace("\r", "\n")).splitlines()
    bars = [line.rstrip() for line in lines if "/200 " in line]
    assert bars
    assert max(len(line) for line in bars) <= width
    assert any("round 1" in line for line in bars)
    assert any(line.startswith("iw-free: episode 1: validation 10 of 10") for line in lines)


class TestRefused:
    """What cannot be resumed, or is no contest."""

    @pytest.fixture
    def played(self, ferries: Path, tmp_path: Path) -> Path:
        """The folder of a contest that has ended."""
        opened(ferries, tmp_path / "out", Script(by_rank(["iw"])), settings=["embedding=8"]).play()
        return tmp_path / "out"

    def test_other_settings_or_seeds(self, ferries: Path, played: Path) -> None:
        with pytest.raises(ConfigurationError, match="other settings"):
            open_contest(ferries, played, settings=["embedding=16"], resume=True, device="cpu")
        with pytest.raises(ConfigurationError, match="seed is 0"):
            open_contest(ferries, played, seed=1, resume=True, device="cpu")
        with pytest.raises(ConfigurationError, match="already holds a run"):
            open_contest(ferries, played, device="cpu")

    def test_other_problems(self, ferries: Path, played: Path, tmp_path: Path) -> None:
        """The folder may have moved, but its problems are the same; nothing is written otherwise."""
        before = (played / "contest.json").read_bytes()
        options = ["generate", "ferry", "--split", "training", "--count", "4", "--seed", "5"]
        assert command([*options, "--out", str(tmp_path / "other")]) == 0
        for folder in (tmp_path / "other", ROOT / "examples" / "gardener"):
            with pytest.raises(ConfigurationError, match="other problems"):
                open_contest(folder, played, resume=True, device="cpu")
        assert (played / "contest.json").read_bytes() == before
        shutil.copytree(ferries, tmp_path / "moved")
        open_contest(tmp_path / "moved", played, resume=True, device="cpu")
        values = json.loads(before)
        del values["digest"]
        (played / "contest.json").write_text(json.dumps({**values, "version": 1}))
        open_contest(ferries, played, resume=True, device="cpu")

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ('"version": 2', '"version": 3', "another version"),
            ('"used": ', '"used": "x" ', "not JSON"),
            ('"kind": "halving"', '"kind": "fun"', "kind is 'fun'"),
            ('"winner": "iw"', '"winner": "nobody"', "no candidate 'nobody'"),
            ('"name": "iw"', '"name": "../iw"', "is no name"),
            ('"unit": "seconds"', '"unit": "miles"', "budget"),
            ('"reason"', '"season"', "reason: missing"),
            ('"reason"', '"more": 1, "reason"', "unknown field 'more'"),
            ('"stable": [', '"stable": [3, ', r"stable\[0\]: expected a text, found 3"),
        ],
    )
    def test_damage_is_told(self, ferries: Path, played: Path, old: str, new: str, words: str) -> None:
        text = (played / "contest.json").read_text()
        assert old in text
        (played / "contest.json").write_text(text.replace(old, new, 1))
        with pytest.raises(InputError, match=words):
            open_contest(ferries, played, resume=True, device="cpu")

    def test_the_state_survives_writing(self, played: Path, tmp_path: Path) -> None:
        state = ContestState.read(played)
        state.write(tmp_path)
        assert ContestState.read(tmp_path) == state
        assert replace(state, used=state.used + 1) != state

    def test_a_contest_is_no_single_run(self, ferries: Path, played: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for option in (["--config", "tiny"], ["--from", "ferry"]):
            assert command(["train", str(ferries), "--out", str(played), "--resume", *option]) == 33
            assert f"{option[0]} is for single runs" in capsys.readouterr().err

    def test_no_limit(self, ferries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert command(["train", str(ferries), "--out", str(tmp_path / "new"), "--time-limit", "none"]) == 33
        assert "a contest divides its time" in capsys.readouterr().err
        assert not (tmp_path / "new").exists()


# -- contests with runs that train -----------------------------------------------------------------------------------


def short(*extra: str, episodes: int = 1) -> list[str]:
    """Options of a contest whose runs end after so many episodes."""
    settings = [*TINY, "generated_problems=0", f"episodes={episodes}", "free_moves=false", *extra]
    return ["--device", "cpu", *(part for text in settings for part in ("--set", text))]


def test_train_chooses_by_itself(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder of a contest serves as the folder of a run: it plans, it is listed, it is reported on."""
    out = tmp_path / "out"
    limited = ["--time-limit", "10h"]
    assert command(["train", str(suite), "--out", str(out), *limited, *short("lookahead.kind=aiw")]) == 0
    shown = capsys.readouterr()
    assert "chosen: aiw" in shown.out
    assert "round 1: 2 candidates: aiw, aiw-dead-ends; " in shown.err
    state = comparable(out)
    record = load_policy_file(out / "policy.safetensors").record
    assert record["configuration"]["play"]["dead_ends"] is ("dead-ends" in state["winner"])
    assert record["configuration"]["training"]["cost"] == "actions"
    assert {path.parent.name for path in (out / "candidates").glob("*/log.jsonl")} == {"aiw", "aiw-dead-ends"}
    assert command(["policies", str(out / "policy.safetensors")]) == 0
    capsys.readouterr()
    assert command(["report", "--run", str(out), "--json"]) == 0
    contests, table = json.loads(capsys.readouterr().out)["tables"]
    assert contests["rows"][0]["cells"][2] == state["winner"]
    assert {row["cells"][1] for row in table["rows"]} == {"aiw", "aiw-dead-ends"}
    problem = next((suite / "validation").glob("*.pddl"))
    plan = ["plan", str(suite / "domain.pddl"), str(problem), "--policy", str(out), "--max-jumps", "1"]
    assert command([*plan, "--plan-file", str(tmp_path / "plan"), "--device", "cpu"]) in (0, 12)
    assert command(["train", str(suite), "--out", str(out), *short("lookahead.kind=aiw")]) == 33
    assert "already holds a run" in capsys.readouterr().err
    assert command(["train", str(suite), "--out", str(out), "--resume", "--device", "cpu"]) == 0
    assert comparable(out)["rounds"] == state["rounds"]


def test_a_configuration_bypasses_the_contest(suite: Path, tmp_path: Path) -> None:
    assert command(["train", str(suite), "--out", str(tmp_path / "out"), *options(episodes=1)]) == 0
    assert not (tmp_path / "out" / "contest.json").exists()
    assert (tmp_path / "out" / "config.json").exists()


def test_an_interrupted_contest_says_so_and_goes_on(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = short("lookahead.kind=aiw", "searches=0", "steps=20", episodes=100_000)  # it cannot end by itself
    arguments = [*PROGRAM, "train", str(suite), "--out", str(out), "--time-limit", "10h", *settings]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(path.stat().st_size for path in out.glob("candidates/*/log.jsonl")))
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in errors) == (130, False)
    assert "to continue: the same command with --resume" in shown
    assert not comparable(out)["ended_by"]


def test_a_killed_contest_goes_on(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = short("lookahead.kind=aiw", "searches=0", "steps=20", episodes=3)
    arguments = [*PROGRAM, "train", str(suite), "--out", str(out), "--time-limit", "10h", *settings]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: any(path.stat().st_size for path in out.glob("candidates/*/log.jsonl")))
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert not comparable(out)["ended_by"]
    done = subprocess.run([*arguments, "--resume"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    state = comparable(out)
    assert state["ended_by"]
    assert state["failed"] == {}
    assert {path.parent.name for path in out.glob("candidates/*/log.jsonl")} == {
        entry["name"] for entry in state["candidates"]
    }
    assert all(read_log(path).episodes == 3 for path in out.glob("candidates/*/log.jsonl"))


def test_ipc_learn_writes_every_better_policy(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its final is played on small problems: policies that have hardly been trained need long for others."""
    final = small_tasks("blocksworld", 2)
    monkeypatch.setattr("saltus.learn.larger.Maker.final", lambda maker: final)
    problems = [str(path) for path in sorted((suite / "training").glob("*.pddl"))[:3]]
    arguments = ["ipc-learn", str(tmp_path / "dk"), str(suite / "domain.pddl"), "--time-limit", "30s"]
    assert command([*arguments, *problems, *short("lookahead.kind=aiw", "play.dead_ends=true")]) == 0
    shown = capsys.readouterr()
    written = sorted(path.name for path in tmp_path.glob("dk.*"))
    assert written[0] == "dk.1"
    assert f"the last one in {tmp_path / written[-1]}" in shown.out
    broken = tmp_path / "broken.pddl"
    broken.write_text("(define")
    assert command([*arguments, *problems, str(broken), *short()]) == 31
    assert "broken.pddl:1" in capsys.readouterr().err


def test_a_folder_of_three_problems_and_of_one(suite: Path, tmp_path: Path) -> None:
    """Validation is by larger problems, and by the training problems themselves."""
    for count in (3, 1):
        folder = tmp_path / f"of-{count}"
        (folder / "training").mkdir(parents=True)
        shutil.copy(suite / "domain.pddl", folder)
        for path in sorted((suite / "training").glob("*.pddl"))[:count]:
            shutil.copy(path, folder / "training")
        told: list[str] = []
        contest = open_contest(folder, folder / "out", device="cpu", budget=Budget(1000.0), warn=told.append)
        assert any(f"{count} training problem" in line and "too few to hold any out" in line for line in told)
        assert len(contest.state.contestants) == 4


def test_where_time_is_short_those_that_look_for_dead_ends_are_tried(ferries: Path, tmp_path: Path) -> None:
    warnings: list[str] = []
    script = Script(by_rank(["iw-dead-ends"]))
    contest = open_contest(
        ferries,
        tmp_path / "out",
        budget=Budget(700),
        device="cpu",
        threads=10**6,
        run=script,
        warn=warnings.append,
    )
    names = [name for name in CANDIDATES if name.endswith("dead-ends")]
    assert [entry.name for entry in contest.state.candidates] == names
    assert [line for line in warnings if "too short" in line] == [
        "the time limit is too short for 8 candidates; left out: aiw-free, iw-free, aiw, iw"
    ]
