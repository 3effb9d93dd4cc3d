"""Stage `model`: the description in a policy file, read without the weights and without PyTorch.

A policy file is a safetensors file whose metadata holds one JSON object: version, encoding, lookahead, sizes of the
network, vocabulary, signature of the domain, what the Q-values count, and a record of the training. `schema.py` checks
it; the weights are read in `weights.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from safetensors import SafetensorError

from saltus.errors import PolicyError
from saltus.model.schema import PolicyDescription, check_header
from saltus.model.tensor_file import DamageError, open_plain, read_header


def read_description(path: str | os.PathLike[str]) -> PolicyDescription:
    """Description of a policy file; a file that is missing, damaged or of another kind is a `PolicyError`."""
    with opened(path) as file:
        return check_header(read_header(file))


def training_seconds(record: Mapping[str, Any]) -> float | None:
    """How long the training of a policy took, by the record in its file, with that of the policy it began with; None if
    the record does not say."""
    seconds, start = record.get("seconds"), record.get("start")
    before = start.get("seconds") if isinstance(start, dict) else 0.0
    known = all(isinstance(value, int | float) for value in (seconds, before))
    return float(seconds) + float(before) if known else None  # type: ignore[arg-type]


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A policy file, open for reading; whatever is wrong with it is a `PolicyError` with its name."""
    name = os.fspath(path)
    try:
        with open_plain(path) as file:
            yield file
    except FileNotFoundError as error:
        raise PolicyError(f"{name}: cannot be read: no such file") from error
    except OSError as error:
        raise PolicyError(f"{name}: cannot be read: {error.strerror or error}") from error
    except (DamageError, SafetensorError, ValueError) as error:  # a name with a null character is a ValueError
        raise PolicyError(f"{name}: not a policy file, or damaged: {error}") from error
