"""Twin of the kernel's test for frozen goals: its definition, on Python sets.

Goals that are true in the state are frozen: actions that delete one, or that add an atom that excludes one
(`exclusion.py`), are forbidden. Is every missing goal still reachable by itself?

weak form: in the delete relaxation.

strong form: for one missing goal at a time, the goal's own objects and the agents in their way move for real, and
everything else is relaxed. In full, for a goal and its own objects:

    own atoms: atoms that mention all own objects; own actions: actions that add or delete one
    agents: walkers (`exclusion.py`) that an own action shifts, or whose moves need what an own action adds or deletes;
    one that has no place in the state, or several, is not among them
    a search state: which own atoms are true, where the agents are, and which other atoms own actions have deleted
    (or added, which matters to negative conditions) since
    an own atom is true if it is true in the search state; an agent is where the search state says
    another atom is true if the relaxation reaches it, own actions have not deleted it, and no true own atom excludes it
    a successor: the result of an own action; agents that it needs elsewhere walk there first, the others stay
    the goal is reachable if it is true in a search state, or an agent can walk to it

A goal that is about no object, and a task with conditional effects, get the weak form.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from saltus.lookahead.exclusion import GoalAnalysis, Key, analyse_goal, walkers
from saltus.task import EQUALITY, Effect, Goal, Literal, Schema, State, Task
from saltus.task.applicability import bindings
from saltus.task.cache import PerObject

Atoms = frozenset[int]
Agent = tuple[int, tuple[int, ...]]
"""Number of the group of walkers, and objects."""


@dataclass(frozen=True)
class Rule:
    """A ground action; of an action with conditional effects, what it does under the condition of one of them."""

    schema: int
    positive: Atoms
    negative: Atoms
    adds: Atoms
    deletes: Atoms

    @property
    def changes(self) -> Atoms:
        """Atoms that it adds or deletes."""
        return self.adds | self.deletes


@dataclass(frozen=True)
class SearchState:
    """A state of the search for one goal."""

    own: Atoms
    deleted: Atoms
    added: Atoms
    places: tuple[int | None, ...]
    """Where each agent is; None for nowhere."""


def keeps_goals(task: Task, state: State, goal: Goal, form: str, max_states: int = 10_000) -> bool | None:
    """Whether every missing goal is reachable by itself while reached goals stay; None if a search grows too large."""
    if goal.impossible:
        return False
    frozen = _Frozen(task, state, goal)
    missing = {*goal.missing(state).tolist()}
    if not frozen.reachable.issuperset(missing):
        return False
    if form == "weak" or any(schema.is_conditional for schema in task.schemas):
        return True
    answers = []
    for code, own in zip(goal.positive.tolist(), frozen.analysis.own, strict=True):
        if code in missing and own:
            answers.append(_Search(frozen, code, own, max_states).succeeds())
    return False if False in answers else None if None in answers else True


def _ground_all(task: Task) -> Iterator[Rule]:
    """Ground actions that the static atoms allow."""
    for number, schema in enumerate(task.schemas):
        plain = [effect for effect in schema.effects if not effect.variables and not effect.condition]
        others = [effect for effect in schema.effects if effect not in plain]
        for effect in [None, *others]:
            yield from _ground(task, number, schema, plain if effect is None else [*plain, effect], effect)


def _ground(task: Task, number: int, schema: Schema, effects: Sequence[Effect], extra: Effect | None) -> Iterator[Rule]:
    condition = [*schema.precondition, *(extra.condition if extra else ())]
    changing = [entry for entry in condition if entry.predicate != EQUALITY and task.fluent[entry.predicate]]
    variables = [*schema.parameters, *(extra.variables if extra else ())]
    for binding in bindings(task, frozenset(), variables, [entry for entry in condition if entry not in changing]):

        def codes(literals: Sequence[Literal], bound: tuple[int, ...] = binding) -> Atoms:
            return frozenset(
                task.encode(entry.predicate, [bound[term] if term >= 0 else ~term for term in entry.terms])
                for entry in literals
            )

        adds = codes([*chain.from_iterable(effect.adds for effect in effects)])
        deletes = codes([*chain.from_iterable(effect.deletes for effect in effects)])
        positive = codes([entry for entry in changing if entry.positive])
        yield Rule(number, positive, codes([e for e in changing if not e.positive]), adds, deletes - adds)


_GROUND = PerObject[Task, tuple[Rule, ...]](lambda task: tuple(_ground_all(task)))


class _Frozen:
    """A state with its reached goals frozen: allowed actions, and what the delete relaxation reaches by them."""

    def __init__(self, task: Task, state: State, goal: Goal) -> None:
        self.task = task
        self.state = frozenset(state)
        self.analysis: GoalAnalysis = analyse_goal(task, goal)
        self.rules = _GROUND.of(task)
        self.agent_of = cache(self._agent_of)
        self.walker_of = cache(self._walker_of)
        self.keys = cache(self._keys)
        reached = self.state.intersection(goal.positive.tolist())
        keys = {key for code in reached for key in self.keys(code)}
        self.allowed = [
            rule
            for rule in self.rules
            if not rule.deletes & reached and not any(keys & self.keys(code) for code in rule.adds - self.state)
        ]
        self.reachable = set(self.state)
        size = -1
        while len(self.reachable) > size:
            size = len(self.reachable)
            for rule in self.allowed:
                if rule.positive <= self.reachable:
                    self.reachable |= rule.adds

    def _keys(self, code: int) -> frozenset[Key]:
        """The keys of an atom."""
        return frozenset(self.analysis.keys(self.task, code))

    def _agent_of(self, code: int) -> Agent | None:
        """The walker whose place an atom is."""
        predicate, *arguments = self.task.decode(code)
        for number, group in enumerate(walkers(self.task)):
            if group.predicate == predicate and all(mask[i] for mask, i in zip(group.objects, arguments, strict=True)):
                return number, (*arguments[: group.place], *arguments[group.place + 1 :])
        return None

    def _walker_of(self, rule: Rule) -> Agent | None:
        """The walker that moves by a rule; None if it is no move from one place to another."""
        for number, group in enumerate(walkers(self.task)):
            if rule.schema in (move.schema for move in group.moves) and rule.deletes:
                agent = self.agent_of(next(iter(rule.deletes)))
                if agent is not None and agent[0] == number:
                    return agent
        return None


class _Search:
    """The search for one goal."""

    def __init__(self, frozen: _Frozen, goal: int, own: Sequence[int], max_states: int) -> None:
        self.frozen = frozen
        self.goal = goal
        self.max_states = max_states
        self.needed = {code for rule in frozen.rules for code in rule.positive}
        self.unwanted = {code for rule in frozen.rules for code in rule.negative}
        objects = {*own}
        known = {code for rule in frozen.rules for code in rule.changes | rule.positive | rule.negative}
        self.own_atoms = {code for code in known if objects <= {*frozen.task.decode(code)[1:]}}
        self.agents = self._agents()
        self.moves: dict[Agent, list[Rule]] = {agent: [] for agent in self.agents}
        self.own_rules: list[Rule] = []
        for rule in frozen.allowed:
            walker = frozen.walker_of(rule)
            if walker in self.moves:
                self.moves[walker].append(rule)
            elif rule.changes & self.own_atoms:
                self.own_rules.append(rule)

    def _agents(self) -> list[Agent]:
        """Walkers that own actions concern and that have one place."""
        frozen = self.frozen
        changed = {
            code
            for rule in frozen.rules
            if rule.changes & self.own_atoms and frozen.walker_of(rule) is None
            for code in rule.changes
        }
        concerned = {agent for code in changed if (agent := frozen.agent_of(code)) is not None}
        for rule in frozen.rules:
            walker = frozen.walker_of(rule)
            if walker is not None:
                needed = {code for code in rule.positive | rule.negative if frozen.agent_of(code) != walker}
                concerned |= {walker} if needed & changed else set()
        places = [frozen.agent_of(code) for code in frozen.state]
        return sorted(agent for agent in concerned if places.count(agent) == 1)

    def succeeds(self) -> bool | None:
        """Whether the goal is reachable; None if there are too many search states."""
        frozen = self.frozen
        places = {frozen.agent_of(code): code for code in frozen.state}
        first = SearchState(
            frozenset(code for code in frozen.state & self.own_atoms if frozen.agent_of(code) not in self.moves),
            frozenset(),
            frozenset(),
            tuple(places[agent] for agent in self.agents),
        )
        known = {first}
        queue = deque(known)
        while queue:
            state = queue.popleft()
            walked = [self._walk(state, i) for i in range(len(self.agents))]
            if self.goal in state.own or any(self.goal in reached for reached in walked):
                return True
            for rule in self.own_rules:
                after = self._apply(state, rule, walked)
                if after is not None and after not in known:
                    known.add(after)
                    queue.append(after)
            if len(known) > self.max_states:
                return None
        return False

    def _number(self, code: int) -> int | None:
        """Number of the agent whose place an atom is."""
        agent = self.frozen.agent_of(code)
        return self.agents.index(agent) if agent in self.moves else None

    def _holds(self, state: SearchState, code: int) -> bool:
        """Whether an atom that is no agent's place is true."""
        if code in self.own_atoms:
            return code in state.own
        excluded = any(self.frozen.keys(code) & self.frozen.keys(own) for own in state.own)
        return code in self.frozen.reachable and code not in state.deleted and not excluded

    def _allows(self, state: SearchState, code: int) -> bool:
        """Whether an atom that is no agent's place may be false."""
        return code not in (state.own if code in self.own_atoms else state.added)

    def _walk(self, state: SearchState, number: int) -> set[int]:
        """Places that an agent can walk to."""
        start = state.places[number]
        reached = set() if start is None else {start}
        queue = deque(reached)
        while queue:
            here = queue.popleft()
            for rule in self.moves[self.agents[number]]:
                if here in rule.deletes:
                    needed = [code for code in rule.positive if self._number(code) != number]
                    unwanted = [code for code in rule.negative if self._number(code) != number]
                    if all(self._holds(state, code) for code in needed) and all(
                        self._allows(state, code) for code in unwanted
                    ):
                        queue.extend(rule.adds - reached)
                        reached |= rule.adds
        return reached

    def _apply(self, state: SearchState, rule: Rule, walked: Sequence[set[int]]) -> SearchState | None:
        """The result of an own action after the walks that it needs; None if it is not applicable."""
        places = list(state.places)
        for code in rule.positive:
            number = self._number(code)
            if number is None:
                if not self._holds(state, code):
                    return None
            elif code not in walked[number] or len([c for c in rule.positive if self._number(c) == number]) > 1:
                return None
            else:
                places[number] = code
        for code in rule.negative:
            number = self._number(code)
            if places[number] == code if number is not None else not self._allows(state, code):
                return None
        own, deleted, added = {*state.own}, {*state.deleted}, {*state.added}
        for code in rule.deletes:
            number = self._number(code)
            if number is not None:
                places[number] = None if places[number] == code else places[number]
            elif code in self.own_atoms:
                own.discard(code)
            else:
                deleted |= {code} & self.needed
                added.discard(code)
        for code in rule.adds:
            number = self._number(code)
            if number is not None:
                places[number] = code
            elif code in self.own_atoms:
                own.add(code)
            else:
                added |= {code} & self.unwanted
                deleted.discard(code)
        return SearchState(frozenset(own), frozenset(deleted), frozenset(added), tuple(places))
