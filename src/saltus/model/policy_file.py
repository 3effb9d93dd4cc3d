"""Stage `model`: policy files: the weights as safetensors, everything else as JSON in the same file.

A file holds the format's version, encoding, vocabulary, lookahead, how the policy plays, sizes of the network, the
signature of the domain it was trained on, what its Q-values count, and a record of its training (`description.py` reads
these alone). It contains no code, and nothing is unpickled. A file is checked (`schema.py`, `weights.py`) before a
network is made of it. A policy is used only with a domain of the same signature; the domain's name does not matter.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from safetensors.torch import save

from saltus.errors import ConfigurationError
from saltus.files import write_whole
from saltus.graph import EncodingSpec, Vocabulary
from saltus.lookahead import JUMPS, JumpCost, PlaySpec, TreeSpec
from saltus.lookahead.spec import PLAY
from saltus.model.rgnn import RelationalNetwork
from saltus.model.schema import FORMAT, VERSION, PolicyDescription
from saltus.model.weights import Weights, load_weights
from saltus.pddl import Domain
from saltus.pddl.signature import check_signature, domain_signature


@dataclass(frozen=True, kw_only=True)
class PolicyFile(PolicyDescription):
    """A network with everything needed to use it."""

    network: RelationalNetwork

    @classmethod
    def of(
        cls,
        network: RelationalNetwork,
        domain: Domain,
        encoding: EncodingSpec,
        lookahead: TreeSpec,
        record: Mapping[str, Any] | None = None,
        cost: JumpCost = JUMPS,
        play: PlaySpec = PLAY,
    ) -> PolicyFile:
        """Policy file of a network that was made for the domain's vocabulary; any other network is refused."""
        vocabulary = Vocabulary.of(domain, encoding)
        if network.arities != tuple(relation.arity for relation in vocabulary) or network.encoding != encoding.kind:
            raise ConfigurationError("the network was not made for this domain and encoding")
        return cls(
            encoding,
            lookahead,
            network.spec,
            vocabulary,
            domain_signature(domain),
            dict(record or {}),
            cost,
            play,
            network=network,
        )

    def check_domain(self, domain: Domain) -> None:
        """Raises a `WrongPolicyError` that lists the differences if the policy was trained on another domain."""
        check_signature(self.signature, domain)


def save_policy(path: str | os.PathLike[str], policy: PolicyFile, *, half: bool = False) -> None:
    """Writes a policy file, whole or not at all; `half` stores the weights as float16."""
    description = {
        "format": FORMAT,
        "version": VERSION,
        "encoding": asdict(policy.encoding),
        "lookahead": asdict(policy.lookahead),
        "play": asdict(policy.play),
        "model": asdict(policy.network.spec),
        "vocabulary": policy.vocabulary.to_json(),
        "domain": policy.signature,
        "cost": asdict(policy.cost),
        "record": policy.record,
    }
    kind = torch.float16 if half else torch.float32
    tensors = {name: value.detach().to("cpu", kind).contiguous() for name, value in policy.network.state_dict().items()}
    write_whole(path, save(tensors, {FORMAT: json.dumps(description)}))


def load_policy_file(path: str | os.PathLike[str], domain: Domain | None = None) -> PolicyFile:
    """The policy in a file, on the CPU and ready for inference; checked against a domain if one is given."""
    description, weights = load_weights(path, domain)
    return PolicyFile(**vars(description), network=make_network(description, weights))


def make_network(description: PolicyDescription, weights: Weights) -> RelationalNetwork:
    """The network of a policy file on the CPU, ready for inference."""
    network = RelationalNetwork(description.arities, description.encoding.kind, description.model)
    network.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    return network.eval()
