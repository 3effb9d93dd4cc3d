"""Stage `graph`: which encoding is wanted."""

from __future__ import annotations

from dataclasses import dataclass

from saltus.errors import ConfigurationError

ENCODINGS = {"ad": 0, "aa": 1, "ext": 2, "int": 3, "id": 4}
"""Encodings and their numbers in the kernel."""

NULLARY = ("world", "drop")
"""What becomes of predicates without arguments."""


@dataclass(frozen=True)
class EncodingSpec:
    """Description of an encoding; senseless values are refused with the field's name."""

    kind: str = "ad"
    """ad: one graph for the tree, every state a node with its differences to the root; aa: one graph, every action of a
    flat lookahead a node; ext: one graph for the root and one for every other state; int: one graph for every
    transition, with both states; id: one graph for every transition, with the differences."""
    depth_nodes: bool = True
    """Nodes for the depths of the tree and their atoms `D` and `SD`; only ad has them."""
    tree_atoms: bool = True
    """Atoms `E` for the edges of the tree; only ad has them."""
    nullary: str = "world"
    """world: atoms without arguments are about one extra node; drop: they are left out."""
    negative_goals: bool = False
    """Relations for negated goal literals; without them a goal that has such literals is refused."""

    def __post_init__(self) -> None:
        for name, known in (("kind", tuple(ENCODINGS)), ("nullary", NULLARY)):
            value = getattr(self, name)
            if value not in known:
                raise ConfigurationError(f"encoding: {name} is {value!r}, expected one of {', '.join(known)}")
        for name in ("depth_nodes", "tree_atoms"):
            if self.kind != "ad" and not getattr(self, name):
                raise ConfigurationError(f"encoding: {name} cannot be switched off, {self.kind} has none; only ad has")

    @property
    def is_joint(self) -> bool:
        """Whether all candidates of a query share one graph, in which each is a node."""
        return self.kind in ("ad", "aa")
