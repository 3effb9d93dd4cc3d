"""Stage `grow`: goals that can be reached, and how that is known.

A made goal is tried by a search with few decisions. If it finds a plan, the goal stays. If not, the state with the most
goals that it came across has a goal of the same shape: the atoms of this state that have the predicates and kinds of
the goal, and are about the same objects. The way there is a plan for it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, permutations

import numpy as np

from saltus.grow.draft import Atom, Draft
from saltus.grow.guides import Guide, GuidedPolicy
from saltus.grow.rules import Rules
from saltus.grow.values import DEAD_END_WORK, MOST_DECISIONS, MOST_WORK
from saltus.lookahead import PlaySpec, TreeSpec, is_dead_end, lookahead
from saltus.lookahead.actions import successor_state
from saltus.policy.policies import GoalCountPolicy
from saltus.policy.rollout import Policy
from saltus.policy.search import JumpSearch
from saltus.task import Action, Goal, State, Task

TREES = TreeSpec(kind="iw", free_moves=True)
PLAY = PlaySpec(max_better=32, max_nodes=20_000)
"""Trees of the search and of walks."""


@dataclass(frozen=True)
class Reached:
    """A state and the actions that lead to it from the initial state."""

    state: State
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Found:
    """What a search came across: a plan, or the state with the most goals."""

    plan: tuple[Action, ...] | None
    best: Reached | None
    decisions: int = 0


def search_goal(draft: Draft, task: Task, seed: int, check: Callable[[], None] = lambda: None) -> Found:
    """What bounded searches for the goal of a draft's task come by; what `check` raises ends them.

    The first one is for the whole goal. Where a goal predicate is about objects of different kinds, others are for one
    kind after another, in different orders: what is scarce may be needed for some kind, and be wasted on another.
    """
    if task.goal.impossible or is_dead_end(
        task, task.initial_state, task.goal, work=DEAD_END_WORK, ground_atoms=DEAD_END_WORK
    ):
        return Found(None, None)
    policy = GoalCountPolicy(np.random.default_rng(seed), TREES, PLAY)
    first = _Search(task, MOST_WORK, check).run([task.goal], policy, MOST_DECISIONS)
    if first.plan is not None:
        return first
    search = _Search(task, MOST_WORK, check)  # for all kinds of goals together
    shapes = _shapes(draft, draft.goal_atoms(), draft.relations.goal)
    kinds = len({shape[0] for shape in shapes}) < len(shapes)
    for order in islice(permutations(shapes.values()), 4 if kinds else 0):
        stages = []
        reached: list[int] = []
        for atoms in order:
            reached += [task.encode(atom[0] - draft.relations.goal, atom[1:]) for atom in atoms]
            stages.append(Goal(reached))
        policy = GoalCountPolicy(np.random.default_rng(seed), TREES, PLAY)
        staged = search.run([*stages[:-1], task.goal], policy, MOST_DECISIONS)
        if staged.plan is not None:
            return staged
    return first


def search_with_guides(task: Task, guides: Sequence[Guide], seed: int, check: Callable[[], None]) -> Found:
    """What searches with one guide after another come by, the first plan or nothing."""
    for guide in guides:
        policy = GuidedPolicy(np.random.default_rng(seed), guide)
        found = _Search(task, MOST_WORK, check).run([task.goal], policy, MOST_DECISIONS)
        if found.plan is not None:
            return found
    return Found(None, None)


def find_guides(drafts: Sequence[Draft], check: Callable[[], None] = lambda: None) -> list[Guide]:
    """The guides that lead to plans for all of the given problems with the fewest decisions; empty if none does."""
    relations = drafts[0].relations
    fluent = [number for number in range(relations.predicates) if not relations.static[number]]
    ranked: list[tuple[int, Guide]] = []
    for guide in (Guide(number, sign) for number in fluent for sign in (1, -1)):
        total = 0
        for draft in drafts:
            policy = GuidedPolicy(np.random.default_rng(0), guide)
            found = _Search(draft.task, MOST_WORK, check).run([draft.task.goal], policy, MOST_DECISIONS)
            if found.plan is None:
                break
            total += found.decisions
        else:
            ranked.append((total, guide))
    return [guide for _, guide in sorted(ranked, key=lambda entry: entry[0])[:2]]


class _Search:
    """Searches for goals of one task, which share a budget of work."""

    def __init__(self, task: Task, most_work: int, check: Callable[[], None]) -> None:
        self.task = task
        self.most_work = most_work
        self.check = check
        self.work = 0

    def run(self, stages: Sequence[Goal], policy: Policy, most_decisions: int) -> Found:
        """What a search for one goal after another comes by."""
        task = self.task
        best: Reached | None = None
        state, before = task.initial_state, list[Action]()
        decisions = 0
        for goal in stages:
            if goal.holds(state):
                continue
            # one queue goes where most goals are, one tries short ways first
            search = JumpSearch(policy, task, goal=goal, weights=(1000.0, 1.0))
            steps = chain([search.expand(state, None, ())], search.run())
            most, better, done = -1, decisions, self.work
            for node, decision in steps:
                self.check()
                tree = decision.tree
                candidate = int(tree.goals.argmax())
                if int(tree.goals[candidate]) > most:
                    most, better, done = int(tree.goals[candidate]), decisions, self.work
                    best = Reached(tree.state_of(candidate), (*before, *node.path(), *tree.path_to(candidate)))
                self.work, decisions = self.work + len(tree) * len(task.objects), decisions + 1
                if self.work > self.most_work or decisions >= most_decisions:
                    break
                if decisions > better + 60 and self.work > done + 4_000_000:
                    break  # it has had no more goals for long
            if search.solution is None:
                return Found(None, best, decisions)
            for action in search.solution:
                state = successor_state(task, state, action)
            before += search.solution
        return Found(tuple(before), best, decisions)


def drop_unreachable_goals(draft: Draft, rules: Rules, task: Task) -> bool:
    """Whether the draft lost goals, those that cannot be reached even if nothing is deleted, and no rule broke."""
    relations = draft.relations
    mark = draft.mark()
    for atom in draft.goal_atoms():
        if relations.goal <= atom[0] < relations.negated:
            goal = Goal([task.encode(atom[0] - relations.goal, atom[1:])])
            if is_dead_end(task, task.initial_state, goal, work=DEAD_END_WORK // 10, ground_atoms=DEAD_END_WORK):
                draft.remove(atom)
    removed = draft.changes(mark)[1]
    if removed and draft.goal_atoms() and rules.fits(draft, mark, ()):
        return True
    draft.undo(mark)
    return False


def walk(task: Task, rng: random.Random, jumps: int, check: Callable[[], None] = lambda: None) -> list[Reached]:
    """States of a walk of random jumps, without the first one; shorter where there is nowhere to jump."""
    state = task.initial_state
    actions: tuple[Action, ...] = ()
    reached: list[Reached] = []
    for _ in range(jumps):
        check()
        tree = lookahead(task, state, TREES, task.goal, PLAY)
        if len(tree) < 2:
            break
        node = rng.randrange(1, len(tree))
        state, actions = tree.state_of(node), (*actions, *tree.path_to(node))
        reached.append(Reached(state, actions))
    return reached


def goal_of_state(draft: Draft, rules: Rules, task: Task, state: State, rng: random.Random) -> list[Atom] | None:
    """A goal that holds in a state of the draft's task and has the shape of the draft's goal; None if there is none.

    A goal that the initial state satisfies is no goal.
    """
    relations = draft.relations
    goal = draft.goal_atoms()
    atoms = [task.decode(code) for code in state]
    true = set(atoms)
    wanted = _shapes(draft, goal, relations.goal)
    by_shape: dict[tuple[int, ...], list[Atom]] = defaultdict(list)
    for atom in atoms:
        by_shape[(atom[0], *(draft.kind[number] for number in atom[1:]))].append(atom)
    found: list[Atom] = []
    own = {shape: [i for i in range(1, len(shape)) if _is_own(rules, relations.goal, shape, i - 1)] for shape in wanted}
    subjects = {atom[i] for shape, old in wanted.items() for atom in old for i in own[shape]}
    for shape, old in wanted.items():
        fitting = by_shape.get(shape, [])
        if own[shape]:
            fitting = [atom for atom in fitting if any(atom[i] in subjects for i in own[shape])]
        elif len(fitting) > len(old):
            fitting = rng.sample(fitting, len(old))
        found += [(atom[0] + relations.goal, *atom[1:]) for atom in fitting]
    for atom in goal:
        if atom[0] >= relations.negated and (atom[0] - relations.negated, *atom[1:]) not in true:
            found.append(atom)
    if not found or all(_holds(draft, atom) for atom in found):
        return None
    mark = draft.mark()
    draft.set_goal(found)
    fits = rules.whole_goal_fits(draft) and all(
        draft.total[relation] == total for relation, total in rules.totals.items()
    )
    draft.undo(mark)
    return found if fits else None


def _shapes(draft: Draft, goal: Sequence[Atom], first: int) -> dict[tuple[int, ...], list[Atom]]:
    """Positive goal atoms by predicate and kinds."""
    shapes: dict[tuple[int, ...], list[Atom]] = defaultdict(list)
    for atom in goal:
        if first <= atom[0] < draft.relations.negated:
            shapes[(atom[0] - first, *(draft.kind[number] for number in atom[1:]))].append(atom)
    return shapes


def _is_own(rules: Rules, first: int, shape: tuple[int, ...], position: int) -> bool:
    """Whether objects at a position of a goal's shape have at most one such atom."""
    kinds = shape[1:]
    families = tuple(rules.family(kind) for kind in kinds)
    feature = (shape[0] + first, position, families[:position] + families[position + 1 :])
    return rules.is_functional(kinds[position], feature)


def _holds(draft: Draft, atom: Atom) -> bool:
    """Whether a goal atom is satisfied in the initial state."""
    relations = draft.relations
    if atom[0] >= relations.negated:
        return (atom[0] - relations.negated, *atom[1:]) not in draft.atoms
    return (atom[0] - relations.goal, *atom[1:]) in draft.atoms
