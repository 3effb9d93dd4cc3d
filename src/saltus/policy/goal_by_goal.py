"""Stage `policy`: a policy plays the missing goals one at a time, where it loses its way among many.

Takes states to begin with; gives the actions from one of them to the goal. A policy that was trained on problems with
few goals may know how to reach each of them and still wander among hundreds. Here it sees the goals that hold and one
that is missing. Once they all hold, so that one more goal holds than before, the next one comes. A goal that is not
reached within some jumps is left for later, until another one has been reached; if none of them can be, the next state
is begun with. So every state takes a bounded number of jumps. Nothing is random, and nothing depends on the time.

A goal is tried with fewer objects first: without all that other goals are about and what is tied to it by static atoms,
such as the ingredients of another dish; then without what other goals are about; then without that of goals that hold.
What is left is as small as the problems that the policy knows, however large the whole is. Goals that hold stay
reached: what they are about is not there. It is tried with all objects if it cannot be reached otherwise, as when
something lies on something else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from saltus.lookahead.actions import successor_state
from saltus.lookahead.view import view_without
from saltus.policy.admissible import Admissible
from saltus.policy.rollout import Decision, Ending, Policy, Rollout, play
from saltus.policy.sight import Literal, missing_literals, with_more
from saltus.policy.values import MOST_IN_VAIN, MOST_JUMPS
from saltus.task import Action, Goal, State, Task
from saltus.task.part import can_be_parted


@dataclass(frozen=True)
class Beginning:
    """A state to begin with, and the actions that lead to it."""

    state: State
    actions: tuple[Action, ...] = ()


class GoalByGoal:
    """Missing goals one at a time; `run` plays, and `solution` is set at the end if all of them were reached."""

    def __init__(
        self, policy: Policy, task: Task, beginnings: Sequence[Beginning], *, tested: Admissible | None = None
    ) -> None:
        self.policy = policy.playing(
            replace(policy.play_spec, goals_in_sight=None, frozen_goals=False, take_goals=True)
        )
        self.task = task
        self.beginnings = beginnings
        self.tested = Admissible(task, task.goal, policy.play_spec) if tested is None else tested
        """Knows from which states the whole goal is out of reach; they are avoided."""
        self.solution: list[Action] | None = None
        self.work = 0
        """States of all trees so far."""
        self.next_work = 0
        self.goals = 0
        """Most goals that held at once when one had been reached."""
        self._everything = self._objects_of(literals_of(task.goal))
        """The objects that the goal is about."""
        self._vain: list[int] = []
        """How often each way to put objects away has been in vain, less how often it has not."""
        self._can_be_parted = can_be_parted(task)

    def run(self) -> Iterator[Decision]:
        """Decisions as they are made, until `solution` is set or nothing is left to try; stop at any time."""
        for beginning in self.beginnings:
            yield from self._play(beginning)
            if self.solution is not None:
                return

    def _play(self, beginning: Beginning) -> Iterator[Decision]:
        state, actions = beginning.state, list(beginning.actions)
        self._vain = [0] * 5  # one for each of `_less_to_see`
        given_up: set[Literal] = set()
        while not self.task.goal.holds(state):
            missing = next((one for one in missing_literals(self.task.goal, state) if one not in given_up), None)
            if missing is None:
                return
            goal = with_more(self.task.goal, state, [missing])
            found = yield from self._reach(state, goal, missing)
            if found is None:
                given_up.add(missing)
                continue
            for action in found:
                state = successor_state(self.task, state, action)
            actions += found
            given_up.clear()
            self.goals = max(self.goals, goal.size)
        self.solution = actions

    def _reach(self, state: State, goal: Goal, missing: Literal) -> Generator[Decision, None, list[Action] | None]:
        """The actions to a goal in which one literal is missing: with few objects if possible, or else with all."""
        tried: set[frozenset[int]] = set()
        for way, put_away in enumerate(self._less_to_see(state, missing)):
            if not put_away or put_away in tried:
                continue
            tried.add(put_away)  # also where it is not tried: another way to the same objects would be in vain, too
            if self._vain[way] >= MOST_IN_VAIN:
                continue
            found = yield from self._reach_without(put_away, state, goal)
            if found is not None:
                self._vain[way] -= 1
                return found
            self._vain[way] += 1
        return (yield from self._roll_out(play(self.policy, self.task, goal=goal, state=state, tested=self.tested)))

    def _less_to_see(self, state: State, missing: Literal) -> Iterator[frozenset[int]]:
        """Objects to be put away: those of all other goals with what is tied to them alone; these without what occupies
        others (`held`); those of all other goals; these without what occupies others; and those of goals that hold and
        no others, without what occupies others."""
        if not self._can_be_parted or min(self._vain) >= MOST_IN_VAIN:
            return
        needed = self._objects_of([missing])
        others = self._everything - needed
        more = others | (self._tied(others, self._tied(needed, others)) - needed)
        yield more
        yield more - held(self.task, state, more)
        yield others
        yield others - held(self.task, state, others)
        done = self._everything - self._objects_of(missing_literals(self.task.goal, state))
        yield done - held(self.task, state, done)

    def _tied(self, objects: frozenset[int], others: frozenset[int]) -> frozenset[int]:
        """Some objects with those that chains of static atoms tie to them; chains end at the others."""
        found, waiting = set(objects), list(objects)
        while waiting:
            for number in self._neighbours[waiting.pop()]:
                if number not in found and number not in others:
                    found.add(number)
                    waiting.append(number)
        return frozenset(found)

    @cached_property
    def _neighbours(self) -> list[set[int]]:
        """For every object, those in static atoms with it, without constants."""
        constants = len(self.task.domain.constants)
        found: list[set[int]] = [set() for _ in self.task.objects]
        for rows in self.task.static_atoms:
            for row in rows.tolist():
                objects = {number for number in row if number >= constants}
                for number in objects:
                    found[number] |= objects
        return found

    def _objects_of(self, literals: Sequence[Literal]) -> frozenset[int]:
        """The objects that literals are about, without constants."""
        constants = len(self.task.domain.constants)
        found = {number for _, code in literals for number in self.task.decode(code)[1:]}
        return frozenset(number for number in found if number >= constants)

    def _reach_without(
        self, put_away: frozenset[int], state: State, goal: Goal
    ) -> Generator[Decision, None, list[Action] | None]:
        """The actions to the goal in a task that lacks some objects; None if it is not reached there."""
        # making a part of a task takes as long as states of a tree, one for ten of its objects and atoms
        self.work += (len(self.task.objects) + len(state)) // 10
        view = view_without(self.task, put_away, state, goal)
        rollout = play(self.policy, view.task)
        if view.state in rollout.admissible.dead_ends:
            return None
        found = yield from self._roll_out(rollout)
        if found is None:
            return None
        actions = [view.part.action_of_whole(action) for action in found]
        for action in actions:
            state = successor_state(self.task, state, action)
        is_lost = not goal.holds(state) or self.tested.is_avoided(state)
        return None if is_lost else actions

    def _roll_out(self, rollout: Rollout) -> Generator[Decision, None, list[Action] | None]:
        """The actions of a rollout, decision by decision; None if it has not reached its goal within some jumps."""
        actions: list[Action] = []
        while rollout.ending is None and rollout.jumps < MOST_JUMPS:
            decision = self.policy.decide([rollout.situation])[0]
            self.work += len(decision.tree)
            step = rollout.advance(decision)
            if step is not None:
                actions += step.actions
            yield decision
        return actions if rollout.ending is Ending.SOLVED else None


def held(task: Task, state: State, objects: Collection[int]) -> frozenset[int]:
    """Those of some objects that occupy others, as what a hand holds, and what is in or on that: the only one in the
    fluent atoms of another object with one predicate, or the only object with a fluent unary predicate."""
    away, found = set(objects), set[int]()
    about: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    tied: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for atom in map(task.decode, state):
        predicate, *numbers = atom
        if len(numbers) == 1:
            tied[(predicate,)].add(numbers[0])
        elif others := away.intersection(numbers):
            for number in others:
                about[number].append(atom)
            for position, number in enumerate(numbers):
                if number not in away:
                    tied[predicate, position, number] |= others
    waiting = [number for others in tied.values() if len(others) == 1 for number in others]
    while waiting:
        back = waiting.pop()
        if back not in away:
            continue
        away.remove(back)
        found.add(back)
        changed: dict[int, set[int]] = {}
        for predicate, *numbers in about[back]:
            for position, number in enumerate(numbers):
                if number not in away:
                    others = tied[predicate, position, number]
                    others |= away.intersection(numbers)
                    others.discard(back)
                    changed[id(others)] = others
        waiting += [number for others in changed.values() if len(others) == 1 for number in others]
    return frozenset(found)


def literals_of(goal: Goal) -> list[Literal]:
    """All literals of a goal."""
    return [(True, code) for code in goal.positive.tolist()] + [(False, code) for code in goal.negative.tolist()]
