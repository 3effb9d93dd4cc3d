"""Stage `policy`: policies by name, by file, or by the domain they are for.

Policies that come with Saltus are the files of the folder `policies/` of the package. A policy fits a domain if it was
trained on one with the same signature (types, predicates and schemas); names of files and domains mean nothing. To
find it only the description in each file is read, not the weights.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from saltus.errors import ConfigurationError, InputError, NoPolicyError, PolicyError, suggestion
from saltus.pddl import Domain
from saltus.pddl.signature import domain_signature, signature_difference
from saltus.policy.planning import Planner
from saltus.policy.policies import YARDSTICKS, LearnedPolicy

POLICIES = Path(__file__).parent.parent / "policies"
"""Folder of the policies that come with Saltus."""

AUTO = "auto"
"""Name that stands for: the policy of that folder that fits the domain."""

SUFFIX = ".safetensors"
DEVICES = ("auto", "cpu", "cuda")


def load_policy(name: str | os.PathLike[str], *, device: str = "auto", seed: int = 0) -> Planner:
    """The policy of a name (one that comes with Saltus, or a yardstick) or of a file; `seed` is for yardsticks."""
    if isinstance(name, str) and name in YARDSTICKS:
        return YARDSTICKS[name](np.random.default_rng(seed), None)
    return LearnedPolicy.load(policy_path(name), device=find_device(device))


def open_policy(
    name: str, domain: Domain, *, device: str = "auto", seed: int = 0, threads: int | None = None
) -> tuple[Planner, str]:
    """The policy for a domain, and its name or file; one that does not fit the domain is a `WrongPolicyError`."""
    if name in YARDSTICKS:
        return YARDSTICKS[name](np.random.default_rng(seed), None), name
    path = find_policy(domain) if name == AUTO else policy_path(name)
    policy = LearnedPolicy.load(path, domain, find_device(device))
    policy.threads = threads
    return policy, policy_name(path)


def open_learned(
    prefix: str | os.PathLike[str], domain: Domain, *, device: str = "auto", threads: int | None = None
) -> tuple[LearnedPolicy, str, list[str]]:
    """The last policy that is sound and fits among `prefix`.1, `prefix`.2, …, its file, and why later ones are not."""
    refused: list[str] = []
    for path in numbered_files(prefix):
        try:
            policy = LearnedPolicy.load(path, domain, find_device(device))
        except PolicyError as error:
            refused.append(str(error))
            continue
        policy.threads = threads
        return policy, str(path), refused
    reason = f": {'; '.join(refused)}" if refused else f"; expected {os.fspath(prefix)}.1, …"
    raise PolicyError(f"{os.fspath(prefix)}: no policy{reason}")


def numbered_files(prefix: str | os.PathLike[str]) -> list[Path]:
    """Files `prefix`.1, `prefix`.2, …, the last one first."""
    start = Path(prefix)
    found: list[tuple[int, Path]] = []
    try:
        paths = sorted(start.parent.iterdir())
    except OSError:
        paths = []
    for path in paths:
        number = path.name.removeprefix(f"{start.name}.")
        if path.name.startswith(f"{start.name}.") and number.isascii() and number.isdigit() and len(number) < 10:
            found.append((int(number), path))
    return [path for _, path in sorted(found, reverse=True)]


def policy_name(path: str | os.PathLike[str]) -> str:
    """Name of a policy that comes with Saltus, by its file; any other file, or a yardstick's name, as it is."""
    place = Path(path)
    return place.stem if place.parent == POLICIES else os.fspath(path)


def policy_path(name: str | os.PathLike[str], folder: Path | None = None) -> Path:
    """File of a policy that comes with Saltus, or the file itself; an unknown name is a `PolicyError`."""
    text = os.fspath(name)
    known = bundled_policies(folder)
    if text in known:
        return known[text]
    path = Path(text)
    if path.is_file() or path.suffix == SUFFIX or os.sep in text:
        return path
    names = [*known, *YARDSTICKS]
    known_names = suggestion(text, names) or f"; known are {_listed(names)}"
    raise PolicyError(f"there is no policy {text!r}, neither a file nor a name{known_names}")


def policy_folder(name: str) -> Path | None:
    """The folder of that name, unless a policy that comes with Saltus is called so; None where there is none."""
    folder = Path(name)
    return folder if folder.is_dir() and name not in bundled_policies() else None


def bundled_policies(folder: Path | None = None) -> dict[str, Path]:
    """Policy files of a folder, by default those that come with Saltus, by name."""
    return {path.stem: path for path in sorted((folder or POLICIES).glob(f"*{SUFFIX}"))}


def find_policy(domain: Domain, folder: Path | None = None) -> Path:
    """The first file of a folder, by name, whose policy fits the domain; a `NoPolicyError` says what there is."""
    known = bundled_policies(folder)
    signature = domain_signature(domain)
    for path in known.values():
        if not signature_difference(read_description(path).get("domain", {}), signature):
            return path
    where = "that comes with Saltus" if folder is None else f"in {folder}"
    there = f"there are {_listed(list(known))}" if known else "there is none at all"
    raise NoPolicyError(
        f"no policy {where} fits the domain {domain.name!r} ({domain.file}); {there}. "
        "`saltus train` learns one; goal-count plans without"
    )


def read_description(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Description in a policy file, read without its weights; a file without one is a `PolicyError`."""
    from safetensors import SafetensorError, safe_open

    from saltus.model.policy_file import FORMAT

    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            description = json.loads((file.metadata() or {})[FORMAT])
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise PolicyError(f"{os.fspath(path)}: no policy file, or damaged: {error}") from error
    if not isinstance(description, dict):
        raise PolicyError(f"{os.fspath(path)}: no policy file, or damaged: the description is no object")
    return description


def find_device(name: str) -> str:
    """cpu or cuda; a GPU that is asked for and missing is an `InputError`."""
    if name not in DEVICES:
        raise ConfigurationError(f"device is {name!r}, expected one of {', '.join(DEVICES)}")
    if name == "cpu":
        return name
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if name == "cuda":
        raise InputError("device is 'cuda', but PyTorch finds no GPU")
    return "cpu"


def _listed(names: list[str]) -> str:
    return ", ".join(names)
