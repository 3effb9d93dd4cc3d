"""Stage `model`: a policy file's weights as NumPy arrays, read without PyTorch.

The description in the file is checked first (`schema.py`), then its weights; only then is anything made of them: an
engine (`engine.py`) or a PyTorch network (`policy_file.py`).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from saltus.errors import PolicyError
from saltus.graph import Vocabulary
from saltus.model.description import opened
from saltus.model.schema import PolicyDescription, check_header
from saltus.model.tensor_file import DamageError, read_header
from saltus.pddl import Domain
from saltus.pddl.signature import check_signature

Weights = dict[str, NDArray[Any]]
"""Arrays by the names of `weight_shapes`, in float16 or float32."""


def load_weights(path: str | os.PathLike[str], domain: Domain | None = None) -> tuple[PolicyDescription, Weights]:
    """Description and weights of a policy file, checked against a domain if one is given.

    A file that is missing, damaged or of another kind is a `PolicyError`, one for another domain a `WrongPolicyError`.
    """
    with opened(path) as file:
        header = read_header(file)
        description = check_header(header)
        file.seek(0)
        weights = load(file.read(header.size))
        for name, value in weights.items():
            if not np.isfinite(value).all():
                raise DamageError(f"weights {name}: some are not finite numbers")
    if domain is not None:
        check_signature(description.signature, domain)
        if description.vocabulary != Vocabulary.of(domain, description.encoding):
            raise PolicyError(f"{os.fspath(path)}: damaged: vocabulary: not that of its own domain")
    return description, weights
