"""The final of a contest: who takes part, who wins, on which problems, and what a contest makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.conftest import ROOT
from tests.learn.small import small_tasks
from tests.learn.test_contest import ferries, standing, validation
from tests.learn.test_lean_problems import is_lean, problems

from saltus.learn import Budget, Contest, ContestEvent, Validation, load_configuration, measure, open_contest
from saltus.learn.contest import STABLE, HoldFinal
from saltus.learn.contest_opening import final_for
from saltus.learn.final import (
    BEST,
    MOST_ENTRANTS,
    WAYS,
    Entrant,
    Placing,
    Played,
    Player,
    entrants_of,
    hold_final,
    in_ways,
)
from saltus.learn.folder import NumberedPolicies
from saltus.learn.larger import FINAL_TIMES, Maker, final_sizes
from saltus.learn.log import log_entry, read_log
from saltus.learn.problems import Problems, load_problems
from saltus.learn.ranking import ranked
from saltus.learn.train_job import TrainJob, TrainResult
from saltus.learn.values import MOST_OBJECTS
from saltus.lookahead import PlaySpec
from saltus.model.policy_file import PolicyFile, load_policy_file, save_policy
from saltus.policy import LearnedPolicy
from saltus.policy.catalogue import find_policy
from saltus.policy.planning import plan_of
from saltus.task import Action, Task, validate

__all__ = ["ferries"]  # the fixture

TASKS = small_tasks("ferry", 6, of=16)


def entrant(name: str, solved: int = 20, length: float = 100.0) -> Entrant:
    """An entrant of a run of its name."""
    return Entrant(name, 1, Path(name), solved, length)


@dataclass
class Plays:
    """Plays that end as they are told, on a clock of their own."""

    ends: Callable[[str, int], tuple[bool, float, float]]
    """Whether a run solves the problem of a number, the length of its plan, and the seconds."""
    now: float = 0.0
    limits: dict[tuple[str, int], float] = field(default_factory=dict)
    """Seconds that a run was given for a problem."""
    plan: tuple[Action, ...] = ()

    def __call__(self, entrant: Entrant, task: Task, seconds: float) -> Played:
        number = TASKS.index(task) if task in TASKS else -1
        self.limits[entrant.run, number] = seconds
        is_solved, length, took = self.ends(entrant.run, number)
        is_solved, took = is_solved and took <= seconds, min(took, seconds)
        self.now += took
        return Played(self.plan if is_solved else None, length, took, is_late=took == seconds)

    def hold(self, *entrants: Entrant, seconds: float = 1000.0, **other: Any) -> list[Placing]:
        """The final."""
        return hold_final(entrants, TASKS, seconds, self, clock=lambda: self.now, **other)

    def names(self, *entrants: Entrant, seconds: float = 1000.0) -> list[str]:
        """Runs, best first."""
        return [entry.run for entry in self.hold(*entrants, seconds=seconds)]


class TestEntrants:
    """Whose policies play."""

    def entrants(self, folder: Path, runs: dict[str, list[Validation]], most: int = MOST_ENTRANTS) -> list[Entrant]:
        for name, validations in runs.items():
            for entry in validations:
                (folder / f"{name}-{entry.episode}").touch()
        order = ranked([standing(name, *validations) for name, validations in runs.items()])
        return entrants_of(order, lambda name, episode: folder / f"{name}-{episode}", most)

    def test_all_that_solve_about_as_many_problems_as_the_best(self, tmp_path: Path) -> None:
        runs = {
            "a": [validation(1, 10, 8), validation(2, 10, 9, 90), validation(3, 10, 10, 80), validation(4, 3)],
            "b": [validation(1, 10, 9, 50), validation(2, 10, 9, 60)],
            "c": [validation(1, 10, 8)],
        }
        found = self.entrants(tmp_path, runs)
        # The best one of every run comes first; one problem of twenty may be missing.
        assert [(entry.run, entry.episode) for entry in found] == [("a", 3), ("b", 1), ("a", 2), ("b", 2)]
        assert [(entry.solved, entry.length) for entry in found] == [(20, 160), (19, 100), (19, 180), (19, 120)]

    def test_no_more_than_so_many_spread_over_the_episodes(self, tmp_path: Path) -> None:
        runs = {"a": [validation(i, 10, 10, 500 - i) for i in range(1, 101)], "b": [validation(1, 10, 10)]}
        found = self.entrants(tmp_path, runs, 6)
        assert [(entry.run, entry.episode) for entry in found[:2]] == [("b", 1), ("a", 100)]
        assert [entry.episode for entry in found[2:]] == [1, 34, 66, 99]

    def test_only_those_whose_policies_are_there(self, tmp_path: Path) -> None:
        order = [standing("gone", validation(1, 10, 10))]
        assert entrants_of(order, lambda name, episode: tmp_path / name) == []
        assert entrants_of([standing("new")], lambda name, episode: tmp_path) == []
        assert self.entrants(tmp_path, {"a": [validation(1, 0, 0)]}) == []


class TestFinal:
    """Who wins."""

    def test_who_solves_more_far_larger_problems_wins(self) -> None:
        plays = Plays(lambda name, number: (name != "fragile" or number < 2, 9.0 if name == "fragile" else 10.0, 1.0))
        first, second = plays.hold(entrant("fragile", 20, 50.0), entrant("robust", 20, 100.0))
        assert first == Placing("robust", 1, 6, 6, 60.0, 6.0)
        assert (second.run, second.solved, second.problems) == ("fragile", 2, 4)  # two problems behind, it is out
        assert str(first) == "robust, episode 1: 6 of 6 far larger, plans of length 60, 6.0 s"

    def test_one_slip_is_allowed(self) -> None:
        plays = Plays(lambda name, number: (number != {"a": 0, "b": 3}[name], 1.0, 1.0))
        assert [(entry.solved, entry.problems) for entry in plays.hold(entrant("a"), entrant("b"))] == [(5, 6), (5, 6)]

    def test_of_those_that_tie_the_shortest_plans_win_and_the_fastest_of_about_as_short_ones(self) -> None:
        lengths = {"short": 100.0, "about": 104.0, "long": 150.0}
        seconds = {"short": 8.0, "about": 1.0, "long": 0.5}
        plays = Plays(lambda name, number: (True, lengths[name], seconds[name]))
        entrants = [entrant(name, 20, lengths[name]) for name in lengths]
        assert plays.names(*entrants) == ["about", "short", "long"]
        seconds["about"] = 4.1  # less than twice as fast
        assert plays.names(*entrants) == ["short", "about", "long"]

    def test_a_way_of_a_policy_that_is_behind_wins_by_what_it_solves_alone(self) -> None:
        """Not by its speed, nor by shorter plans; among the ways of the first policy both count."""
        behind = [replace(entrant("behind", 25), play=way) for way in ((), ("roles=8",))]
        first = [replace(entrant("first"), play=way) for way in ((), ("roles=8",), ("goals_in_sight=1",))]
        seconds = {("first", ()): 9.0, ("first", ("roles=8",)): 4.0, ("first", ("goals_in_sight=1",)): 5.0}

        def winner(failing: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
            def play(entrant: Entrant, task: Task, limit: float) -> Played:
                plan = None if entrant.run in failing and task is TASKS[0] else ()
                return Played(
                    plan, 10.0 if entrant.run == "first" else 5.0, seconds.get((entrant.run, entrant.play), 1)
                )

            found = hold_final([*first, *behind], TASKS, 10_000, play, clock=lambda: 0.0)
            assert len(found) == 5
            return found[0].run, found[0].play

        assert winner(()) == ("first", ("roles=8",))
        assert winner(("first",)) == ("behind", ())

    def test_what_was_solved_before_counts_among_those_that_tie(self) -> None:
        plays = Plays(lambda name, number: (True, 10.0, 1.0))
        assert plays.names(entrant("fewer", 19), entrant("more", 20)) == ["more", "fewer"]

    def test_others_get_a_few_times_as_long_as_the_fastest_and_a_sixth_of_the_time_before(self) -> None:
        plays = Plays(lambda name, number: (name != "lost", 10.0, {"quick": 2.0, "slow": 9.0, "lost": 999.0}[name]))
        plays.hold(entrant("lost"), entrant("quick"), entrant("slow"), seconds=800.0)
        assert plays.limits["lost", 0] == pytest.approx(800.0 / 6)
        assert plays.limits["quick", 0] == pytest.approx(800.0 / 12)
        assert plays.limits["slow", 0] == 8.0  # so it fails, and is behind
        assert ("slow", 3) not in plays.limits

    def test_a_problem_that_nobody_solves_leaves_time_for_others(self) -> None:
        plays = Plays(lambda name, number: (bool(number), 10.0, 1.0 if number else 1000.0))
        names = [f"e{i}" for i in range(MOST_ENTRANTS)]
        found = plays.hold(*map(entrant, names))
        given = [plays.limits[name, 0] for name in names]
        assert given[:3] == pytest.approx([1000 / 6, 1000 / 12, 1000 / 24])
        assert given == sorted(given, reverse=True)
        assert plays.now < 1000 / 3 + 5 * MOST_ENTRANTS
        assert {(entry.solved, entry.problems) for entry in found} == {(5, 5)}  # the first one does not count

    def test_where_nobody_solves_anything_in_time_no_problem_counts(self) -> None:
        plays = Plays(lambda name, number: (False, 0.0, 9999.0))
        first, _ = plays.hold(entrant("a"), entrant("b"))
        assert (first.solved, first.problems) == (0, 0)

    def test_a_policy_that_cannot_be_played_has_not_solved_the_problem(self) -> None:
        plays, told = Plays(lambda name, number: (True, 10.0, 1.0)), list[str]()

        def play(entrant: Entrant, task: Task, seconds: float) -> Played:
            if entrant.run == "broken":
                raise RuntimeError("out of memory")
            return plays(entrant, task, seconds)

        found = hold_final(
            [entrant("broken", 21), entrant("a")], TASKS, 1000.0, play, clock=lambda: plays.now, tell=told.append
        )
        assert [(entry.run, entry.solved, entry.problems) for entry in found] == [("a", 6, 6), ("broken", 0, 2)]
        assert told[0] == f"broken, episode 1: {TASKS[0].name} cannot be played: out of memory"

    def test_the_last_ones_do_not_play_problems_that_take_long(self) -> None:
        plays = Plays(lambda name, number: (True, 10.0, 10.0 if number else 1.0))
        names = [f"e{i}" for i in range(8)]
        found = plays.hold(*map(entrant, names), seconds=130.0)
        assert all((name, 0) in plays.limits for name in names)
        assert [name for name in names if (name, 1) in plays.limits] == names[:5]
        assert [entry.run for entry in found[:2]] == ["e0", "e1"]
        assert found[-1].problems == 1

    def test_a_problem_that_the_time_is_not_enough_for_does_not_count(self) -> None:
        plays = Plays(lambda name, number: (True, 10.0, 1.0 + number))
        assert {entry.problems for entry in plays.hold(entrant("a"), entrant("b"), seconds=23.0)} == {2}
        assert plays.limits["a", 2] == pytest.approx(17 / 6)  # the third one takes 3 s
        assert plays.limits["b", 2] == pytest.approx(17 / 12)
        assert plays.hold(entrant("a"), seconds=-1.0) == []
        assert hold_final([entrant("a")], [], 10.0, plays) == []

    def test_what_was_solved_is_played_again_with_nothing_to_spare(self) -> None:
        (task,) = small_tasks("spanner", 1, "validation")
        found = find_policy(task.domain)
        player = Player("cpu", 1, "actions")
        own = Entrant("a", 1, found)
        told: list[str] = []
        (placing,) = hold_final([own], [task], 100.0, player, is_lean=True, tell=told.append)
        assert (placing.solved, placing.problems) == (2, 2)
        assert told[0].startswith(f"{task.name}, {len(task.objects)} objects: solved by 1 of 1")
        fewer = int(told[1].removeprefix(f"{task.name}, ").partition(" ")[0])
        assert fewer < len(task.objects)
        (placing,) = hold_final([own], [task], 100.0, player)
        assert placing.problems == 1


def placing(name: str, solved: int = 6, *play: str) -> Placing:
    """How an entrant of that name did with six problems."""
    return Placing(name, 1, solved, 6, 60.0, 6.0, play)


class TestWays:
    """In which ways the best policies play once more."""

    def test_every_way_leads_to_a_way_to_play(self) -> None:
        for way in WAYS:
            assert PlaySpec.of(way).settings != ()

    def test_the_best_ones_in_every_way_that_of_their_training_first(self) -> None:
        entrants = [entrant(name) for name in ("third", "second", "first")]
        found = in_ways([placing("first"), placing("second"), placing("third")], entrants)
        assert [(entry.run, entry.play) for entry in found] == [
            (name, way) for name in ("first", "second") for way in ((), *WAYS)
        ]
        assert BEST == 2
        assert [replace(entry, play=()) for entry in found[: len(WAYS) + 1]] == [entrants[2]] * (len(WAYS) + 1)

    def test_only_those_that_solved_something(self) -> None:
        entrants = [entrant("a"), entrant("b")]
        assert {entry.run for entry in in_ways([placing("a"), placing("b", 0)], entrants)} == {"a"}
        assert in_ways([placing("a", 0), placing("b", 0)], entrants) == []
        assert in_ways([], entrants) == []

    @pytest.mark.parametrize(
        ("fixed", "left"),
        [
            (["layers", "kind"], [(), *WAYS]),
            (["roles"], [(), ("goals_in_sight=1",), ("frozen_goals=true",)]),
            (["goals_in_sight"], [(), ("roles=8",)]),
            (["frozen_goals"], [(), ("roles=8",)]),
            (["roles", "frozen_goals"], [()]),
        ],
    )
    def test_what_the_user_has_set_stays(self, fixed: list[str], left: list[tuple[str, ...]]) -> None:
        """With one goal in sight no goals can be frozen, and the other way round."""
        assert [entry.play for entry in in_ways([placing("a")], [entrant("a")], fixed)] == left

    def test_placings_say_how_they_were_reached(self) -> None:
        assert str(placing("iw", 5, "goals_in_sight=1", "roles=8")) == (
            "iw, episode 1, goals_in_sight=1, roles=8: 5 of 6 far larger, plans of length 60, 6.0 s"
        )

    @pytest.mark.parametrize("better", [True, False])
    def test_the_way_of_training_stays_unless_another_one_is_better(self, better: bool) -> None:
        """Where they tie, the way of training is the first; another one wins that solves more, or is far faster."""
        seconds = {(): 2.0, ("roles=8",): 0.9 if better else 1.1}

        def play(entrant: Entrant, task: Task, limit: float) -> Played:
            return Played((), 10.0, seconds[entrant.play])

        ways = [replace(entrant("a"), play=way) for way in seconds]
        first, second = hold_final(ways, TASKS, 1000.0, play)
        assert (first.play, second.play) == ((("roles=8",), ()) if better else ((), ("roles=8",)))


class TestFinalInWays:
    """The final that contests hold: the checkpoints as they were trained, then the best of them in several ways."""

    def hold(
        self, monkeypatch: pytest.MonkeyPatch, found: list[Placing], chosen: list[Placing], *settings: str
    ) -> tuple[list[Placing], list[tuple[list[Entrant], float]]]:
        """The placings of a final whose two parts end as told, and who played in each and for how long."""
        asked: list[tuple[list[Entrant], float]] = []

        def part(entrants: Sequence[Entrant], tasks: Any, seconds: float, play: Any, **other: Any) -> list[Placing]:
            asked.append((list(entrants), seconds))
            return chosen if len(asked) > 1 else found

        monkeypatch.setattr("saltus.learn.contest_opening.hold_final", part)
        monkeypatch.setattr(Maker, "final", lambda self: TASKS)
        final = final_for(problems("ferry"), load_configuration(None), Path("grown"), "cpu", 1, settings)
        assert final is not None
        return final([entrant("a"), entrant("b")], 1000.0, lambda text: None), asked

    def test_the_best_play_once_more_and_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found, chosen = [placing("b"), placing("a", 5)], [placing("a", 6, "roles=8"), placing("b", 5)]
        placings, ((_, first), (again, second)) = self.hold(monkeypatch, found, chosen)
        assert placings == [*chosen, *found]
        assert [entry.run for entry in again] == ["b"] * (len(WAYS) + 1) + ["a"] * (len(WAYS) + 1)
        assert first == pytest.approx(500.0, abs=10)
        assert second == pytest.approx(1000.0, abs=10)  # what is left: no time has passed

    def test_ways_that_time_cut_off_change_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = [placing("b"), placing("a", 5)]
        for chosen in ([placing("a", 5, "roles=8")], []):
            assert self.hold(monkeypatch, found, chosen)[0] == found

    def test_where_nobody_solved_anything_there_is_no_second_part(self, monkeypatch: pytest.MonkeyPatch) -> None:
        placings, asked = self.hold(monkeypatch, [placing("a", 0)], [placing("b")])
        assert placings == [placing("a", 0)]
        assert len(asked) == 1

    def test_settings_of_the_user_are_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for setting in ("play.roles=3", " roles = 3"):
            _, (_, (again, _)) = self.hold(monkeypatch, [placing("a")], [], setting, "layers=4")
            assert [entry.play for entry in again] == [(), ("goals_in_sight=1",), ("frozen_goals=true",)]


class TestPlayer:
    """Plays with policies from files."""

    def test_it_plays_in_the_way_that_is_asked_for(self) -> None:
        (task,) = small_tasks("childsnack", 1, "validation")
        found = find_policy(task.domain)
        player, policy = Player("cpu", 1, "actions"), LearnedPolicy.load(found, None, "cpu")
        for way in ((), ("roles=1",), ("goals_in_sight=1", "roles=1"), ()):
            played = player(Entrant("a", 1, found, play=way), task, 100.0)
            measured = measure(policy.playing(policy.play_spec.changed(way)), [task])
            assert (played.plan is not None, played.length) == (bool(measured.solved), measured.actions)

    @pytest.mark.parametrize("name", ["spanner", "ferry", "miconic", "transport"])
    def test_it_plays_as_validations_do(self, name: str) -> None:
        tasks = small_tasks(name, 3, "validation")
        found = find_policy(tasks[0].domain)
        player, policy = Player("cpu", 1, "actions"), LearnedPolicy.load(found, None, "cpu")
        for task in tasks:
            played, measured = player(Entrant("a", 1, found), task, 100.0), measure(policy, [task])
            assert (played.plan is not None) == bool(measured.solved)
            assert played.length == measured.actions
            assert played.plan is None or validate(task, plan_of(task, played.plan))

    def test_it_stops_in_time(self) -> None:
        (task,) = small_tasks("ferry", 1, "validation")
        found = find_policy(task.domain)
        played = Player("cpu", 1, "actions")(Entrant("a", 1, found), task, 0.0)
        assert (played.plan, played.length, played.is_late) == (None, 0.0, True)

    def test_costs_count_where_the_policy_counts_them(self) -> None:
        (task,) = small_tasks("transport", 1, "validation")
        found = find_policy(task.domain)
        own = Entrant("a", 1, found)
        played = Player("cpu", 1, "costs")(own, task, 100.0)
        assert played.plan is not None
        assert played.length == sum(task.action_cost(action) for action in played.plan)


class TestProblems:
    """What is played."""

    def test_they_are_far_larger_and_kept(self, tmp_path: Path) -> None:
        given = load_problems(ROOT / "examples" / "gardener", load_configuration(None))
        made = Maker(given, load_configuration(None), tmp_path).final()
        largest = max(len(task.objects) for task in (*given.training, *given.held_out))
        sizes = [len(task.objects) for task in made]
        assert sizes == sorted(sizes)
        assert len(sizes) > len(FINAL_TIMES)
        assert sizes[0] > 4 * largest
        assert sizes[-1] <= 1.1 * MOST_OBJECTS
        assert max(sizes) > 20 * largest
        (folder,) = tmp_path.iterdir()
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        again = Maker(given, load_configuration(None), tmp_path).final()
        assert [task.initial_state for task in again] == [task.initial_state for task in made]
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    def test_half_of_them_come_from_a_generator_if_there_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        given = problems("ferry")
        names = [task.name for task in Maker(given, load_configuration(None)).final()]
        grown = [name for name in names if "grown" in name]
        assert 0 < len(grown) < len(names)
        monkeypatch.setattr("saltus.learn.larger.find_domain", lambda domain: None)
        assert all("grown" in task.name for task in Maker(given, load_configuration(None)).final())

    def test_growing_ends_in_time(self, tmp_path: Path) -> None:
        assert Maker(problems("ferry"), load_configuration(None), tmp_path, lambda: True).final() == []
        assert list(tmp_path.iterdir()) == []  # with more time, they are made again

    def test_those_of_a_generator_are_about_as_large_as_wanted(self) -> None:
        for name in ("ferry", "logistics"):
            given = problems(name)
            sizes = final_sizes(given)
            made = [task for task in Maker(given, load_configuration(None)).final() if "grown" not in task.name]
            for task in made:
                assert any(0.75 * size <= len(task.objects) <= 1.25 * size for size in sizes)

    def test_problems_too_large_to_be_made_larger(self) -> None:
        task = small_tasks("ferry", 1, "hard")[0]
        assert len(task.objects) * 4 > MOST_OBJECTS
        assert Maker(Problems("ferry", task.domain, [task], [task]), load_configuration(None)).final() == []

    def test_they_can_be_solved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Goals are not known to be reachable, but in domains such as this one they are."""
        given = problems("spanner")
        found = find_policy(given.domain)
        player = Player("cpu", 1, "actions")
        monkeypatch.setattr("saltus.learn.larger.find_domain", lambda domain: None)
        made = Maker(given, load_configuration(None)).final()
        assert not all(is_lean(task) for task in made)
        played = [player(Entrant("a", 1, found), task, 60.0) for task in made[:4]]
        assert all(entry.plan is not None for entry in played)


# -- contests with runs that are made up -----------------------------------------------------------------------------


@dataclass
class Runs:
    """Runs on a clock of their own that solve everything from their third validation on, with shorter and shorter
    plans, unless `solves` says something else; and finals that end as they are told."""

    places: Callable[[list[Entrant]], list[Placing]]
    solves: Callable[[str, int], Validation] = lambda name, episode: validation(episode, 10, 10, 100 - episode)
    stable_after: int = 6
    now: float = 0.0
    finals: list[tuple[list[str], float]] = field(default_factory=list)
    """Who took part in each final, and for how long."""
    interrupts: bool = False
    policy: PolicyFile | None = None
    """What the policy files hold, with the run and the episode in their records; None for some text."""

    def save(self, path: Path, name: str, episode: int) -> None:
        """Writes the policy of a run."""
        if self.policy is None:
            path.write_text(f"{name} {episode}")
        else:
            save_policy(path, replace(self.policy, record={"run": name, "episode": episode}))

    def __call__(self, job: TrainJob, watch: Any, stop: Any = None) -> TrainResult:
        folder = Path(job.out)
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
        assert job.seconds is not None
        log = read_log(folder / "log.jsonl")
        seconds, episode = log.seconds, log.episodes
        self.now += 1.0
        while seconds + 5.0 <= job.seconds and episode < self.stable_after:
            seconds, episode = seconds + 5.0, episode + 1
            self.now += 5.0
            event = self.solves(folder.name, episode)
            with (folder / "log.jsonl").open("a") as lines:
                lines.write(json.dumps({"kind": "episode", "episode": episode, "elapsed": seconds}) + "\n")
                lines.write(json.dumps({**log_entry(event), "elapsed": seconds}) + "\n")
            for path in (folder / "policy.safetensors", folder / "checkpoints" / f"{episode:04}.safetensors"):
                self.save(path, folder.name, episode)
            watch({"event": "validation", "elapsed": 1.0, **event.to_json()}, TrainResult("running"))
        is_stable = episode >= self.stable_after
        return TrainResult("done", None, is_finished=is_stable, is_stable=is_stable)

    def final(self, entrants: list[Entrant], seconds: float, tell: Callable[[str], None]) -> list[Placing]:
        """A final."""
        if self.interrupts:
            self.interrupts = False
            raise KeyboardInterrupt
        self.finals.append(([f"{entry.run} {entry.episode}" for entry in entrants], seconds))
        self.now += 10.0
        tell("a problem")
        return self.places(entrants)

    def contest(self, folder: Path, out: Path, amount: float = 2000.0, **other: Any) -> Contest:
        """A contest of these runs, one after the other."""
        hold: HoldFinal = self.final  # type: ignore[assignment]
        contest = open_contest(
            folder,
            out,
            budget=Budget(amount),
            device="cpu",
            threads=10**6,
            run=self,
            final=hold,
            clock=lambda: self.now,
            settings=["free_moves=false"],
            **other,
        )
        assert contest.slots == 1
        return contest


def first_wins(entrants: list[Entrant]) -> list[Placing]:
    """The first entrant of all solves all."""
    return [Placing(entry.run, entry.episode, 4, 4, 9.0, 1.0) for entry in entrants]


def early_wins(entrants: list[Entrant]) -> list[Placing]:
    """The first policy that solved everything solves most."""
    order = sorted(entrants, key=lambda entry: entry.episode)
    return [Placing(entry.run, entry.episode, 4 - (i > 0), 4, 9.0, 1.0) for i, entry in enumerate(order)]


def test_the_policy_of_the_best_of_the_final_is_chosen(ferries: Path, tmp_path: Path) -> None:
    runs, told = Runs(early_wins), list[ContestEvent]()
    contest = runs.contest(ferries, tmp_path / "out", 1000.0)
    contest.play(told.append)
    state = contest.state
    kinds = [entry.kind for entry in state.rounds]
    assert kinds[-1] == "final"
    assert kinds.count("final") == 1
    assert state.ended_by == STABLE
    (entrants, seconds) = runs.finals[0]
    assert len(entrants) == MOST_ENTRANTS
    assert seconds == pytest.approx((1000.0 - (runs.now - 10.0)) / 2)  # half of what is left: more than a tenth of all
    winner = state.placings[0]
    assert (state.winner, winner.episode) == (winner.run, 1)
    assert contest.policy.read_text() == f"{winner.run} 1"
    assert state.reason.startswith(f"{winner.run}, episode 1: 4 of 4 far larger, plans of length 9, 1.0 s; next: ")
    assert state.rounds[-1].scores[0] == str(winner)
    assert any(event.kind == "final" and event.text == "a problem" for event in told)
    rounds = [event.text for event in told if event.kind == "round"]
    assert f"round {len(kinds)}: final: 16 checkpoints on far larger problems; at most {seconds:,.0f} s" in rounds
    assert rounds[-1] == f"round {len(kinds)} is over: {winner}"
    assert any(line.startswith(f"chosen: {winner.run}, episode 1") for line in contest.summary())


def test_a_final_takes_place_where_time_runs_out_and_time_is_kept_for_it(ferries: Path, tmp_path: Path) -> None:
    def solves(name: str, episode: int) -> Validation:
        return validation(episode, 9, 5)

    runs = Runs(first_wins, solves, stable_after=10**6)
    contest = runs.contest(ferries, tmp_path / "out")
    contest.play()
    assert contest.is_out_of_time
    assert contest.state.rounds[-1].kind == "final"
    ((entrants, seconds),) = runs.finals
    assert len(entrants) == MOST_ENTRANTS
    assert seconds == pytest.approx(200.0, abs=15)
    assert contest.state.used <= 2000


def test_a_final_that_comes_to_nothing_changes_nothing(ferries: Path, tmp_path: Path) -> None:
    runs = Runs(lambda entrants: [])
    contest = runs.contest(ferries, tmp_path / "out")
    contest.play()
    assert contest.state.placings == []
    assert contest.state.rounds[-1].scores == ["no problem could be played"]
    assert contest.state.ended_by == STABLE
    assert len(runs.finals) == 1
    assert "far larger" not in contest.state.reason


def test_an_interrupted_final_is_held_again(ferries: Path, tmp_path: Path) -> None:
    runs = Runs(early_wins, interrupts=True)
    with pytest.raises(KeyboardInterrupt):
        runs.contest(ferries, tmp_path / "out").play()
    assert runs.finals == []
    again = runs.contest(ferries, tmp_path / "out", resume=True)
    again.play()
    assert len(runs.finals) == 1
    assert again.state.ended_by == STABLE
    assert again.policy.read_text() == f"{again.state.winner} 1"
    more = runs.contest(ferries, tmp_path / "out", resume=True)
    more.play()  # nothing is left
    assert len(runs.finals) == 1
    assert more.policy.read_text() == again.policy.read_text()


def test_a_final_in_which_nobody_solved_anything_chooses_nothing(ferries: Path, tmp_path: Path) -> None:
    runs = Runs(lambda entrants: [Placing(entry.run, entry.episode, 0, 0, 0.0, 0.0) for entry in entrants])
    contest = runs.contest(ferries, tmp_path / "out")
    contest.play()
    assert "far larger" not in contest.state.reason
    assert contest.policy.read_text().startswith(contest.state.winner)


def test_a_final_that_fails_leaves_the_policy_of_the_validations(ferries: Path, tmp_path: Path) -> None:
    def fails(entrants: list[Entrant]) -> list[Placing]:
        raise RuntimeError("out of memory")

    warnings: list[str] = []
    runs = Runs(fails)
    contest = runs.contest(ferries, tmp_path / "out", warn=warnings.append)
    contest.play()
    assert warnings[-1] == "final: out of memory"
    assert contest.state.rounds[-1].scores == ["ended by an error: out of memory"]
    assert contest.state.ended_by == STABLE
    assert contest.policy.is_file()


def test_policies_that_become_better_after_a_final_are_chosen(ferries: Path, tmp_path: Path) -> None:
    """A contest that ran out of time before anything was solved, resumed with more time."""

    def solves(name: str, episode: int) -> Validation:
        return validation(episode, 5, 0) if runs.now < 600 else validation(episode, 10, 10, 100 - episode)

    runs = Runs(early_wins, solves, stable_after=10**6)
    first = runs.contest(ferries, tmp_path / "out", 400.0)
    first.play()
    assert first.is_out_of_time
    assert (first.state.placings[0].episode, first.policy.read_text()) == (1, f"{first.state.winner} 1")
    runs.now = 600.0
    runs.places = lambda entrants: []
    again = runs.contest(ferries, tmp_path / "out", 2000.0, resume=True)
    again.play()
    assert "far larger" not in again.state.reason
    run, episode = again.policy.read_text().split()
    assert run == again.state.winner
    assert int(episode) > 1


def test_without_its_checkpoint_the_best_of_the_final_is_not_chosen(ferries: Path, tmp_path: Path) -> None:
    runs = Runs(early_wins)
    contest = runs.contest(ferries, tmp_path / "out")
    contest.play()
    best = contest.state.placings[0]
    (tmp_path / "out" / "candidates" / best.run / "checkpoints" / f"{best.episode:04}.safetensors").unlink()
    contest.policy.unlink()
    again = runs.contest(ferries, tmp_path / "out", resume=True)
    again.play()
    assert again.policy.is_file()
    assert again.policy.read_text() != f"{best.run} {best.episode}"


def test_no_time_is_kept_where_there_can_be_no_final(
    ferries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["free_moves=false"]
    with monkeypatch.context() as patched:
        patched.setattr("saltus.learn.contest_opening.final_sizes", lambda problems: [])
        contest = open_contest(ferries, tmp_path / "none", budget=Budget(1000.0), device="cpu", settings=settings)
    assert contest._hold_final is None
    assert contest._left() == pytest.approx(1000.0, abs=1)
    other = open_contest(ferries, tmp_path / "some", budget=Budget(1000.0), device="cpu", settings=settings)
    assert other._hold_final is not None
    assert 800 < other._left() < 901


# -- ways to play that a final chooses -------------------------------------------------------------------------------


def roles_win(entrants: list[Entrant]) -> list[Placing]:
    """The first policy that solved everything solves most, and all if it sees few objects of every role."""
    found = early_wins(entrants)
    return [replace(found[0], solved=5, problems=5, play=("roles=8",)), *found]


def trained_wins(entrants: list[Entrant]) -> list[Placing]:
    """The way of training is the best one."""
    found = early_wins(entrants)
    return [found[0], replace(found[0], solved=2, play=("roles=8",)), *found[1:]]


def ferry_policy() -> PolicyFile:
    """A policy for the domain of these contests."""
    return load_policy_file(find_policy(TASKS[0].domain))


def is_same_network(first: PolicyFile, second: PolicyFile) -> bool:
    """Whether two policies have the same weights, bit for bit."""
    one, other = first.network.state_dict(), second.network.state_dict()
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_way_to_play_that_won_is_in_the_policy_file(ferries: Path, tmp_path: Path) -> None:
    runs = Runs(roles_win, policy=ferry_policy())
    contest = runs.contest(ferries, tmp_path / "out", 1000.0)
    contest.play()
    best = contest.state.placings[0]
    assert contest.state.reason.startswith(f"{best.run}, episode 1, roles=8: 5 of 5 far larger")
    trained = load_policy_file(tmp_path / "out" / "candidates" / best.run / "checkpoints" / "0001.safetensors")
    chosen = load_policy_file(contest.policy)
    assert (trained.play.roles, chosen.play) == (None, trained.play.changed(["roles=8"]))
    assert is_same_network(chosen, trained)
    assert chosen.record == trained.record == {"run": best.run, "episode": 1}
    assert contest.best_policy().play_spec.roles == 8
    assert not list((tmp_path / "out").glob("chosen*"))
    before = contest.policy.read_bytes()
    contest.policy.unlink()
    again = runs.contest(ferries, tmp_path / "out", 1000.0, resume=True)
    assert again.state.placings[0] == best  # contest.json keeps it
    again.play()
    assert again.policy.read_bytes() == before


def test_numbered_policies_end_with_the_way_that_won(ferries: Path, tmp_path: Path) -> None:
    output = NumberedPolicies(tmp_path / "dk")
    runs = Runs(roles_win, policy=ferry_policy())
    contest = runs.contest(ferries, tmp_path / "out", 1000.0, publish=output.take)
    contest.play()
    assert not contest.policy.exists()
    files = [load_policy_file(tmp_path / f"dk.{number}") for number in range(1, output.written + 1)]
    assert [entry.play.roles for entry in files] == [None] * (output.written - 1) + [8]
    assert files[-1].record == {"run": contest.state.winner, "episode": 1}
    assert is_same_network(files[-1], files[0])


def test_without_a_better_way_the_policy_plays_as_it_was_trained(ferries: Path, tmp_path: Path) -> None:
    runs = Runs(trained_wins, policy=ferry_policy())
    contest = runs.contest(ferries, tmp_path / "out", 1000.0)
    contest.play()
    best = contest.state.placings[0]
    checkpoint = tmp_path / "out" / "candidates" / best.run / "checkpoints" / "0001.safetensors"
    assert contest.policy.read_bytes() == checkpoint.read_bytes()
