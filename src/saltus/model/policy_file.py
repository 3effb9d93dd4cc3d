"""Stage `model`: policy files: the weights as safetensors, everything else as JSON in the same file.

A file holds the format's version, encoding, vocabulary, lookahead, sizes of the network, the signature of the domain it
was trained on, and a record of its training (`description.py` reads these alone). It contains no code, and nothing is
unpickled. A policy is used only with a domain of the same signature; the domain's name does not matter.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from saltus.errors import ConfigurationError, PolicyError, SaltusError
from saltus.files import check_plain_file, write_whole
from saltus.graph import EncodingSpec, Vocabulary
from saltus.lookahead import LookaheadSpec
from saltus.model.description import FORMAT, VERSION, parse_description
from saltus.model.rgnn import RelationalNetwork
from saltus.model.spec import ModelSpec
from saltus.pddl import Domain
from saltus.pddl.signature import Signature, check_signature, domain_signature

Spec = TypeVar("Spec")


@dataclass(frozen=True)
class PolicyFile:
    """A network with everything needed to use it."""

    network: RelationalNetwork
    encoding: EncodingSpec
    lookahead: LookaheadSpec
    vocabulary: Vocabulary
    signature: Signature
    record: Mapping[str, Any] = field(default_factory=dict)
    """How it was trained: plain values."""

    @classmethod
    def of(
        cls,
        network: RelationalNetwork,
        domain: Domain,
        encoding: EncodingSpec,
        lookahead: LookaheadSpec,
        record: Mapping[str, Any] | None = None,
    ) -> PolicyFile:
        """Policy file of a network that was made for the domain's vocabulary; any other network is refused."""
        vocabulary = Vocabulary.of(domain, encoding)
        if network.arities != tuple(relation.arity for relation in vocabulary) or network.encoding != encoding.kind:
            raise ConfigurationError("the network was not made for this domain and encoding")
        return cls(network, encoding, lookahead, vocabulary, domain_signature(domain), dict(record or {}))

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
        "model": asdict(policy.network.spec),
        "vocabulary": policy.vocabulary.to_json(),
        "domain": policy.signature,
        "record": policy.record,
    }
    kind = torch.float16 if half else torch.float32
    tensors = {name: value.detach().to("cpu", kind).contiguous() for name, value in policy.network.state_dict().items()}
    write_whole(path, save(tensors, {FORMAT: json.dumps(description)}))


def load_policy_file(path: str | os.PathLike[str], domain: Domain | None = None) -> PolicyFile:
    """The policy in a file, on the CPU and ready for inference; checked against a domain if one is given."""
    name = os.fspath(path)
    try:
        check_plain_file(path)
        with safe_open(name, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no mapping)
    except FileNotFoundError as error:
        raise PolicyError(f"{name}: cannot be read: no such file") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise PolicyError(f"{name}: no policy file, or damaged: {error}") from error
    try:
        policy = _build(name, metadata, tensors)
    except PolicyError:
        raise
    except (SaltusError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise PolicyError(f"{name}: damaged policy file: {error}") from error
    if domain is not None:
        policy.check_domain(domain)
    return policy


def _build(name: str, metadata: Mapping[str, str], tensors: dict[str, torch.Tensor]) -> PolicyFile:
    description = parse_description(name, metadata)
    encoding = _spec(EncodingSpec, description["encoding"])
    vocabulary = Vocabulary.from_json(description["vocabulary"])
    arities = tuple(relation.arity for relation in vocabulary)
    network = RelationalNetwork(arities, encoding.kind, _spec(ModelSpec, description["model"]))
    network.load_state_dict(tensors)
    if not all(torch.isfinite(value).all() for value in tensors.values()):
        raise PolicyError(f"{name}: damaged policy file: some weights are not finite numbers")
    lookahead = _spec(LookaheadSpec, description["lookahead"])
    return PolicyFile(network.eval(), encoding, lookahead, vocabulary, description["domain"], description["record"])


def _spec(kind: type[Spec], values: Mapping[str, Any]) -> Spec:
    """Specification with plain values; an unknown field is an error."""
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(values.keys() - known)
    if unknown:
        raise ConfigurationError(f"unknown field {unknown[0]!r} of {kind.__name__}")
    return kind(**values)
