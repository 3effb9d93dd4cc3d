"""Stage `policy`: what scores the states of a tree: a trained network, or a yardstick to compare it with.

PyTorch is imported where a network is used and not before: yardsticks start seven times faster without.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from saltus.graph import EncodingSpec, GraphBatch, Vocabulary, assemble
from saltus.lookahead import LookaheadSpec, LookaheadTree, lookahead_batch
from saltus.pddl import Domain
from saltus.pddl.signature import Signature, check_signature
from saltus.policy.planning import Planner
from saltus.policy.rollout import Decision, Situation

if TYPE_CHECKING:
    from saltus.model import RelationalNetwork
    from saltus.model.policy_file import PolicyFile
    from saltus.model.recorded_pass import RecordedPass

Entry = TypeVar("Entry")

BATCH_ATOMS = 2_000_000
"""Most atoms of graphs that one pass of the network takes, unless a single tree has more: bounds the memory."""


class LearnedPolicy(Planner):
    """Q-values by a network."""

    def __init__(
        self,
        network: RelationalNetwork,
        encoding: EncodingSpec,
        lookahead: LookaheadSpec,
        vocabulary: Vocabulary,
        *,
        threads: int | None = None,
        layers: int | None = None,
        signature: Signature | None = None,
        name: str = "",
        domain: str = "",
    ) -> None:
        super().__init__(lookahead)
        self.network = network
        self.encoding = encoding
        self.vocabulary = vocabulary
        self.threads = threads
        """Of lookahead and graphs; None for all cores."""
        self.layers = layers
        """Rounds of message passing; None for the network's own number."""
        self.graphs = self._recorded_pass()
        self.signature = signature
        """Of the domain it was trained on; None where nobody recorded it."""
        self.name = name
        """The policy's name or file; empty for one that is still being trained."""
        self.domain = domain
        """Name of the domain it was trained on; empty where nobody recorded it."""

    @classmethod
    def of(cls, file: PolicyFile, device: str = "cpu", *, threads: int | None = None) -> LearnedPolicy:
        """The policy of a file on a device."""
        network = file.network.to(device).eval()
        return cls(
            network,
            file.encoding,
            file.lookahead,
            file.vocabulary,
            threads=threads,
            signature=file.signature,
            domain=str(file.record.get("domain", "")),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], domain: Domain | None = None, device: str = "cpu") -> LearnedPolicy:
        """The policy in a file, checked against a domain if one is given."""
        from saltus.model.policy_file import load_policy_file

        policy = cls.of(load_policy_file(path, domain), device)
        policy.name = os.fspath(path)
        return policy

    def __repr__(self) -> str:
        parts = [
            repr(self.name) if self.name else "unsaved",
            f"{self.lookahead.kind}-{self.encoding.kind}",
            f"trained on {self.domain}" if self.domain else "",
            f"{self.layers or self.network.spec.layers} layers",
            f"on {next(self.network.parameters()).device.type}",
        ]
        return f"<LearnedPolicy {', '.join(part for part in parts if part)}>"

    def check_domain(self, domain: Domain) -> None:
        """Raises a `WrongPolicyError` that lists the differences if the policy was trained on another domain."""
        if self.signature is not None:
            check_signature(self.signature, domain)

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """Trees and their Q-values, in as few passes of the network as memory allows."""
        with self.clock.timing("lookahead"):
            trees = lookahead_batch(situations, self.lookahead, threads=self.threads)
        values: list[NDArray[np.float32]] = []
        for part in batches(trees, [self._atoms(tree) for tree in trees], BATCH_ATOMS):
            values += self.values(part)
        return [Decision(tree, q) for tree, q in zip(trees, values, strict=True)]

    def goal_policy(self) -> GoalCountPolicy:
        """Goals reached: no pass of the network."""
        policy = GoalCountPolicy(np.random.default_rng(0), self.lookahead)
        policy.clock = self.clock
        return policy

    def values(self, trees: Sequence[LookaheadTree]) -> list[NDArray[np.float32]]:
        """Q-values of the states of some trees, by one pass of the network."""
        if all(len(tree) == 1 for tree in trees):
            return [np.zeros(0, np.float32) for _ in trees]
        with self.clock.timing("graph"):
            batch = assemble([(tree, None) for tree in trees], self.vocabulary, self.encoding, threads=self.threads)
        with self.clock.timing("network"):
            q = self._q(batch)
        return np.split(q, batch.candidate_offset[1:-1])

    def _q(self, batch: GraphBatch) -> NDArray[np.float32]:
        """Q-values of a batch's candidates."""
        import torch

        from saltus.model import make_layout

        layers = self.layers or self.network.spec.layers
        if self.graphs is not None:
            return self.graphs.q(batch, layers)
        device = next(self.network.parameters()).device
        with torch.inference_mode():
            layout = make_layout(batch, self.network.arities).to(device)
            q: NDArray[np.float32] = self.network(layout, layers).q.cpu().numpy()
            return q

    def _recorded_pass(self) -> RecordedPass | None:
        """Recorded passes of the network, where it is on a GPU that can replay them."""
        from saltus.model.recorded_pass import recorded_pass

        return recorded_pass(self.network, self.encoding.is_joint)

    def _atoms(self, tree: LookaheadTree) -> int:
        """About the atoms of a tree's graphs."""
        task = tree.task
        state = sum(len(rows) for rows in task.static_atoms) + len(tree.root) + len(task.objects)
        changes = len(tree.added) + len(tree.deleted) + 2 * len(tree)
        return changes + state * (1 if self.encoding.is_joint else len(tree))


def batches(entries: Sequence[Entry], sizes: Sequence[int], most: int) -> Iterator[list[Entry]]:
    """The entries in order, in parts whose sizes add up to at most `most`, or of one entry."""
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
    """A policy without training, to compare others with."""

    def __init__(self, rng: np.random.Generator, lookahead: LookaheadSpec | None = None) -> None:
        super().__init__(lookahead or LookaheadSpec())
        self.rng = rng

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """Trees with the yardstick's values."""
        with self.clock.timing("lookahead"):
            trees = lookahead_batch(situations, self.lookahead)
        return [Decision(tree, self.values(tree)) for tree in trees]

    @abstractmethod
    def values(self, tree: LookaheadTree) -> NDArray[np.float32]:
        """A value for every state of a tree but the root's."""


class RandomPolicy(Yardstick):
    """Every state of the tree is as good as any other."""

    def values(self, tree: LookaheadTree) -> NDArray[np.float32]:
        """Random values."""
        return self.rng.random(len(tree) - 1, np.float32)


class GoalCountPolicy(Yardstick):
    """The state with the most goal literals, ties at random."""

    def values(self, tree: LookaheadTree) -> NDArray[np.float32]:
        """The number of satisfied goal literals and a random fraction."""
        return (tree.goals[1:] + 0.5 * self.rng.random(len(tree) - 1)).astype(np.float32)


YARDSTICKS: dict[str, Callable[[np.random.Generator, LookaheadSpec | None], Planner]] = {
    "random": RandomPolicy,
    "goal-count": GoalCountPolicy,
}
"""Policies that need no training, by their names on the command line."""
