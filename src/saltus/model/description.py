"""Stage `model`: the description in a policy file, read without the weights and without PyTorch.

A policy file is a safetensors file whose metadata holds one JSON object: version, encoding, lookahead, sizes of the
network, vocabulary, signature of the domain, and a record of the training. Its parts are in `policy_file.py`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safetensors import SafetensorError, safe_open

from saltus.errors import PolicyError
from saltus.files import check_plain_file
from saltus.pddl.signature import Signature

FORMAT = "saltus-policy"
VERSION = 1


@dataclass(frozen=True)
class PolicyDescription:
    """What a policy file says about its policy."""

    values: Mapping[str, Any]
    """The whole description, as plain values."""
    weights: int
    """Number of weights."""

    @property
    def method(self) -> str:
        """Lookahead and encoding, such as aiw-ad."""
        return f"{self.values['lookahead']['kind']}-{self.values['encoding']['kind']}"

    @property
    def layers(self) -> int:
        """Layers of message passing."""
        return int(self.values["model"]["layers"])

    @property
    def signature(self) -> Signature:
        """Of the domain it was trained on."""
        signature: Signature = self.values["domain"]
        return signature

    @property
    def record(self) -> Mapping[str, Any]:
        """How it was trained; plain values."""
        record: Mapping[str, Any] = self.values["record"]
        return record


def read_description(path: str | os.PathLike[str]) -> PolicyDescription:
    """Description of a policy file; a file that is missing, damaged or of another kind is a `PolicyError`."""
    name = os.fspath(path)
    try:
        check_plain_file(path)
        with safe_open(name, framework="numpy") as file:
            values = parse_description(name, file.metadata() or {})
            weights = sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118 (no mapping)
    except FileNotFoundError as error:
        raise PolicyError(f"{name}: cannot be read: no such file") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise PolicyError(f"{name}: no policy file, or damaged: {error}") from error
    for key in ("lookahead", "encoding", "model", "domain", "record"):
        if not isinstance(values.get(key), dict):
            raise PolicyError(f"{name}: damaged policy file: no {key!r} in its description")
    return PolicyDescription(values, weights)


def parse_description(name: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    """Plain values of the description in a file's metadata; its format and version are checked."""
    if FORMAT not in metadata:
        raise PolicyError(f"{name}: no policy file, or damaged: it has tensors, but no {FORMAT!r} description")
    values = json.loads(metadata[FORMAT])
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise PolicyError(f"{name}: no policy file, or damaged: its description is of another kind")
    version = values.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise PolicyError(f"{name}: format version {version}, this program reads up to {VERSION}; update saltus")
    return values
