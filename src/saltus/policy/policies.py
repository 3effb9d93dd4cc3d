"""Stage `policy`: what scores the states of a tree: a trained network, or a yardstick to compare it with.

On a CPU the kernel runs the network; PyTorch is imported only for a GPU.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from saltus.graph import EncodingSpec, Vocabulary, assemble
from saltus.graph.encodings import method_name
from saltus.lookahead import JUMPS, JumpCost, LookaheadTree, PlaySpec, Situation, TreeSpec, lookahead_batch
from saltus.lookahead.spec import PLAY, TREES
from saltus.pddl import Domain
from saltus.pddl.signature import Signature, check_signature
from saltus.policy.planning import Planner
from saltus.policy.rollout import Decision

if TYPE_CHECKING:
    from saltus.model.policy_file import PolicyFile
    from saltus.model.schema import PolicyDescription
    from saltus.model.scorer import Scorer

Entry = TypeVar("Entry")


class LearnedPolicy(Planner):
    """A policy whose Q-values come from a trained network."""

    def __init__(
        self,
        scorer: Scorer,
        encoding: EncodingSpec,
        lookahead: TreeSpec,
        vocabulary: Vocabulary,
        *,
        play: PlaySpec = PLAY,
        threads: int | None = None,
        layers: int | None = None,
        signature: Signature | None = None,
        name: str = "",
        domain: str = "",
        cost: JumpCost = JUMPS,
    ) -> None:
        super().__init__(lookahead, play)
        self.cost = cost
        self.scorer = scorer
        """The network."""
        self.encoding = encoding
        self.vocabulary = vocabulary
        self.threads = threads
        """Number of threads; None for one per core."""
        self.layers = layers
        """Layers of message passing; None for the network's own number."""
        self.check: Callable[[], None] = lambda: None
        """Called before and during the network passes of a decision; what it raises ends the decision."""
        self.signature = signature
        """Signature of the domain it was trained on; None if unknown."""
        self.name = name
        """The policy's name or file; empty for one that is still being trained."""
        self.domain = domain
        """Name of the domain it was trained on; empty if unknown."""

    @classmethod
    def of(cls, file: PolicyDescription | PolicyFile, scorer: Scorer) -> LearnedPolicy:
        """The policy that a file describes, with its network."""
        return cls(
            scorer,
            file.encoding,
            file.lookahead,
            file.vocabulary,
            play=file.play,
            signature=file.signature,
            domain=str(file.record.get("domain", "")),
            cost=file.cost,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], domain: Domain | None = None, device: str = "cpu") -> LearnedPolicy:
        """The policy in a file on a device, cpu or cuda, checked against a domain if one is given."""
        # Policies without a network need none of this.
        from saltus.model.scorer import make_scorer
        from saltus.model.weights import load_weights

        description, weights = load_weights(path, domain)
        policy = cls.of(description, make_scorer(description, weights, device))
        policy.name = os.fspath(path)
        return policy

    def __repr__(self) -> str:
        parts = [
            repr(self.name) if self.name else "unsaved",
            self.method,
            f"trained on {self.domain}" if self.domain else "",
            f"counts {self.cost.unit}" if self.cost.unit != "jumps" else "",
            f"{self.layers or self.scorer.spec.layers} layers",
            f"on {self.scorer.device}",
        ]
        return f"<LearnedPolicy {', '.join(part for part in parts if part)}>"

    @property
    def method(self) -> str:
        """Lookahead and encoding, such as aiw-ad."""
        return method_name(self.lookahead, self.encoding)

    def check_domain(self, domain: Domain) -> None:
        """Raises a `WrongPolicyError` that lists the differences if the policy was trained on another domain."""
        if self.signature is not None:
            check_signature(self.signature, domain)

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """One decision per situation, in as few network passes as memory allows."""
        with self.clock.timing("lookahead"):
            trees = lookahead_batch(situations, self.lookahead, self.play_spec, threads=self.threads)
        values: list[NDArray[np.float32]] = []
        # most atoms in the graphs of one pass, unless a single tree has more
        for part in batches(trees, [self._atoms(tree) for tree in trees], 2_000_000):
            self.check()
            values += self.values(part)
        return [Decision(tree, q) for tree, q in zip(trees, values, strict=True)]

    def goal_policy(self) -> GoalCountPolicy:
        """The goal-count policy with the same lookahead; it needs no network."""
        policy = GoalCountPolicy(np.random.default_rng(0), self.lookahead, self.play_spec)
        policy.clock = self.clock
        return policy

    def values(self, trees: Sequence[LookaheadTree]) -> list[NDArray[np.float32]]:
        """Q-values of the states in each tree, from one network pass."""
        if all(len(tree) == 1 for tree in trees):
            return [np.zeros(0, np.float32) for _ in trees]
        with self.clock.timing("graph"):
            batch = assemble([(tree, None) for tree in trees], self.vocabulary, self.encoding, threads=self.threads)
        with self.clock.timing("network"):
            q = self.scorer.q_values(batch, self.threads, layers=self.layers, check=self.check)
        return np.split(q, batch.candidate_offset[1:-1])

    def _atoms(self, tree: LookaheadTree) -> int:
        """The approximate number of atoms in a tree's graphs."""
        tree = tree.encoded
        task = tree.task
        state = sum(len(rows) for rows in task.static_atoms) + len(tree.root) + len(task.objects)
        changes = len(tree.added) + len(tree.deleted) + 2 * len(tree)
        return changes + state * (1 if self.encoding.is_joint else len(tree))


def batches(entries: Sequence[Entry], sizes: Sequence[int], most: int) -> Iterator[list[Entry]]:
    """The entries in order, split into parts of total size at most `most`; a larger entry is a part of its own."""
    part: list[Entry] = []
    total = 0
    for entry, size in zip(entries, sizes, strict=True):
        if part and total + size > most:
            yield part
            part, total = [], 0
        part.append(entry)
        total += size
    if part:
        yield part


class Yardstick(Planner):
    """A policy that needs no training, to compare others with."""

    def __init__(self, rng: np.random.Generator, lookahead: TreeSpec = TREES, play: PlaySpec = PLAY) -> None:
        super().__init__(lookahead, play)
        self.rng = rng

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.lookahead.label}>"

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """One decision per situation, with the yardstick's values."""
        with self.clock.timing("lookahead"):
            trees = lookahead_batch(situations, self.lookahead, self.play_spec)
        return [Decision(tree, self.values(tree)) for tree in trees]

    @abstractmethod
    def values(self, tree: LookaheadTree) -> NDArray[np.float32]:
        """A value for every state in a tree except the root."""


class RandomPolicy(Yardstick):
    """Values every state of the tree at random."""

    def values(self, tree: LookaheadTree) -> NDArray[np.float32]:
        """Random values."""
        return self.rng.random(len(tree) - 1, np.float32)


class GoalCountPolicy(Yardstick):
    """Prefers the state with the most satisfied goal literals; ties are broken at random."""

    def values(self, tree: LookaheadTree) -> NDArray[np.float32]:
        """The number of satisfied goal literals plus a random fraction."""
        return (tree.goals[1:] + 0.5 * self.rng.random(len(tree) - 1)).astype(np.float32)


YARDSTICKS: dict[str, Callable[[np.random.Generator, TreeSpec, PlaySpec], Planner]] = {
    "random": RandomPolicy,
    "goal-count": GoalCountPolicy,
}
"""Policies that need no training, by their name on the command line."""
