"""Stage `graph`: the encodings as data, and the specification that picks one.

An encoding is a frozen entry of `ENCODINGS`, made of a few parts: the paper's section "Transition Encodings in R-GNNs".
All other modules and the kernel read the parts, never the name: `vocabulary.py` derives the relations, `assemble.py`
the graphs, `dump.py` the titles, and the model its readout.

An encoding made of existing parts is one entry here. Vocabulary, kernel, twin, dump, readout, help, configuration check
and the tests over all encodings follow from it. A named configuration (`learn/configs/aiw-id.toml`) is optional. A new
*part* also needs its relations in `vocabulary.py`, its atoms in the twin (`tests/twins/graph.py`), and both in the
kernel: its flag in `EncodingParts` (`kernel/graph.hpp`) and its atoms in `Walk::run` (`kernel/graph_walk.hpp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saltus.errors import ConfigurationError
from saltus.lookahead import TreeSpec

NULLARY = ("world", "drop")
"""How atoms without arguments are treated."""


class Candidate(Enum):
    """What a candidate, a state that the policy may jump to, is in the graphs; it determines the readout."""

    STATE_NODE = "state"
    """A node for the state, in the one graph that all candidates of a query share."""
    ACTION_NODE = "action"
    """A node for the action that leads to the state, in the one graph that all candidates share."""
    GRAPH = "graph"
    """A graph of its own, which says everything about the transition."""
    PAIR = "pair"
    """A graph of its own for the state alone, read together with the graph of the root."""


@dataclass(frozen=True)
class Encoding:
    """The parts of an encoding."""

    name: str
    text: str
    """What it is, for help and documentation."""
    candidate: Candidate
    delta: bool = False
    """Relations P+, P-, P+_G, P-_G for the differences from the root. Where candidates are nodes, the node is the first
    argument."""
    primed: bool = False
    """Relations P', P'_GT, P'_GF for the successor's state, next to those for the root's."""
    actions: bool = False
    """Relations A:schema for actions, the candidate's node being the first argument."""
    tree: bool = False
    """Relations E for the tree's edges, D and SD for depth nodes; the specification may switch them off."""

    @property
    def is_joint(self) -> bool:
        """Whether all candidates of a query share one graph, in which each is a node."""
        return self.candidate in (Candidate.STATE_NODE, Candidate.ACTION_NODE)

    @property
    def has_root_graph(self) -> bool:
        """Whether the first graph of a query is the root's, and every graph holds the state of its own tree node."""
        return self.candidate is Candidate.PAIR

    @property
    def needs_flat_lookahead(self) -> bool:
        """Whether trees must be flat: action nodes stand for actions of the root, so deeper states have none."""
        return self.candidate is Candidate.ACTION_NODE


def method_name(lookahead: TreeSpec, encoding: EncodingSpec) -> str:
    """Name of a method, a lookahead with an encoding: aiw-ad as in the paper, aiw-ad-free modulo free moves."""
    return f"{lookahead.kind}-{encoding.kind}{'-free' if lookahead.free_moves else ''}"


ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        Encoding(
            "ad",
            "one graph for the tree, with a node per state and its differences from the root",
            Candidate.STATE_NODE,
            delta=True,
            tree=True,
        ),
        Encoding("aa", "one graph, with a node per action of a flat lookahead", Candidate.ACTION_NODE, actions=True),
        Encoding("ext", "one graph per state, the root included", Candidate.PAIR),
        Encoding("int", "one graph per transition, with both states", Candidate.GRAPH, primed=True),
        Encoding(
            "id",
            "one graph per transition, with the root's state and the differences from it",
            Candidate.GRAPH,
            delta=True,
        ),
    )
}
"""All encodings by name."""

ENCODING_TEXT = "; ".join(f"{name}: {encoding.text}" for name, encoding in ENCODINGS.items())
"""All encodings in words, for help and documentation."""


@dataclass(frozen=True)
class EncodingSpec:
    """Specification of an encoding. Invalid values are refused with the name of the field."""

    kind: str = "ad"
    """Name of the encoding, one of `ENCODINGS`."""
    depth_nodes: bool = True
    """Whether the depths of the tree have nodes, with atoms `D` and `SD`; only ad has them."""
    tree_atoms: bool = True
    """Whether the edges of the tree have atoms `E`; only ad has them."""
    # Departure: in the paper, an atom without arguments sends no message, so that the network cannot see it.
    nullary: str = "world"
    """Atoms without arguments: world: they are about one extra node; drop: they are left out (the paper)."""
    negative_goals: bool = False
    """Whether there are relations for negated goal literals. Without them, goals with such literals are refused.
    A key: training sets it where goals have such literals."""

    def __post_init__(self) -> None:
        for name, known in (("kind", tuple(ENCODINGS)), ("nullary", NULLARY)):
            value = getattr(self, name)
            if value not in known:
                raise ConfigurationError(f"encoding: {name} is {value!r}, expected one of {', '.join(known)}")
        owners = " and ".join(encoding.name for encoding in ENCODINGS.values() if encoding.tree)
        for name in ("depth_nodes", "tree_atoms"):
            if not self.parts.tree and not getattr(self, name):
                raise ConfigurationError(
                    f"encoding: {name} cannot be switched off for {self.kind}, which has none; only {owners} has"
                )

    @property
    def parts(self) -> Encoding:
        """What the encoding is made of."""
        return ENCODINGS[self.kind]

    @property
    def is_joint(self) -> bool:
        """Whether all candidates of a query share one graph, in which each is a node."""
        return self.parts.is_joint

    @property
    def default_lookahead(self) -> str:
        """Kind of lookahead to use where none is asked for."""
        return "flat" if self.parts.needs_flat_lookahead else TreeSpec().kind

    def check_lookahead(self, kind: str) -> None:
        """Raises a `ConfigurationError` if the encoding cannot express trees of this kind of lookahead."""
        if self.parts.needs_flat_lookahead and kind != "flat":
            raise ConfigurationError(f"encoding: {self.kind} needs a flat lookahead, lookahead.kind is {kind}")
