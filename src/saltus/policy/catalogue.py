"""Stage `policy`: from what a user calls a policy to the policy itself.

A policy is named by the name of a bundled policy (a file of the package's folder `policies/`), by a policy file, by the
folder of a training run, which holds `policy.safetensors`, or by a yardstick's name. Where the domain is known, `auto`
and a folder of policies stand for the policy in it that fits: the one trained on a domain with the same signature
(types, predicates and schemas). Names of files and domains play no part in that, and only the descriptions in the files
are read.

What reads a domain or opens a policy is imported only for that: a command needs no more than the names before it starts
a process to plan in.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from saltus.errors import ConfigurationError, NoPolicyError, PolicyError, shorten, suggestion
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.lookahead.spec import PLAY, TREES
from saltus.model.device import find_device

if TYPE_CHECKING:
    from saltus.pddl import Domain
    from saltus.policy.planning import Planner
    from saltus.policy.policies import LearnedPolicy

POLICIES = Path(__file__).parent.parent / "policies"
"""Folder of the bundled policies."""

YARDSTICK_NAMES = ("random", "goal-count")
"""Names of the policies that need no training; `policies.YARDSTICKS` holds the policies."""

AUTO = "auto"
"""Name that stands for the bundled policy that fits the domain."""

SUFFIX = ".safetensors"

RUN_POLICY = f"policy{SUFFIX}"
"""File name of the best policy in the folder of a training run."""

FALLBACK = "goal-count"
"""Policy of `auto` where no bundled policy fits."""

FALLBACK_TREES = TreeSpec(kind="iw", free_moves=True)
"""Its trees: no others that were tried solve more (`benchmarks/fallback.py`)."""

FALLBACK_PLAY = PlaySpec(dead_ends=True, max_better=32)
"""How it plays, by the same measurement."""


def load_policy(
    name: str | os.PathLike[str],
    *,
    device: str = "auto",
    seed: int = 0,
    lookahead: TreeSpec | None = None,
    play: Sequence[str] = (),
) -> Planner:
    """The policy of that name: a bundled policy, a policy file, a run folder, or a yardstick (random, goal-count).

    `device` is auto, cpu or cuda; `seed` is for the random decisions of a yardstick. `lookahead` is for yardsticks:
    other policies have the one that they were trained with. `play` changes how any policy plays, by texts `key=value`
    such as `roles=8` (`PlaySpec`).
    """
    if isinstance(name, str) and name in YARDSTICK_NAMES:
        return _yardstick(name, seed, lookahead or TREES, PlaySpec.of(play))
    check_lookahead(os.fspath(name), lookahead)
    return _load(policy_path(name), None, device, play)


def check_lookahead(name: str, lookahead: TreeSpec | None) -> None:
    """Raises a `ConfigurationError` if a policy that is no yardstick should get other trees."""
    if lookahead is None or name in YARDSTICK_NAMES:
        return
    raise ConfigurationError(
        f"the lookahead of policy {shorten(name)} cannot be changed: it is the one that it was trained with; "
        f"only {' and '.join(YARDSTICK_NAMES)} take another (how a policy plays can be changed: --play)"
    )


def open_policy(
    name: str,
    domain: Domain,
    *,
    device: str = "auto",
    seed: int = 0,
    threads: int | None = None,
    lookahead: TreeSpec | None = None,
    play: Sequence[str] = (),
) -> tuple[Planner, str]:
    """The policy for a domain, and its name or file; one that does not fit the domain is a `WrongPolicyError`.

    `lookahead` is for yardsticks; `play` changes how any policy plays.
    """
    if name in YARDSTICK_NAMES:
        return _yardstick(name, seed, lookahead or TREES, PlaySpec.of(play)), name
    check_lookahead(name, lookahead)
    policy = _load(policy_file_for(name, domain), domain, device, play)
    policy.threads = threads
    return policy, policy.name


def fallback_policy(seed: int = 0, play: Sequence[str] = ()) -> tuple[Planner, str]:
    """The policy of `auto` for domains that no bundled policy fits, and its name; meant to be followed by a search.

    `play` changes how it plays.
    """
    return _yardstick(FALLBACK, seed, FALLBACK_TREES, FALLBACK_PLAY.changed(play)), FALLBACK


def fallback_note(domain: Domain) -> str:
    """What users are told when the fallback is used."""
    return (
        f"no policy for domain {domain.name!r}: using {FALLBACK}, which goes by the number of goals alone; "
        "`saltus train FOLDER --out RUN` learns one"
    )


def open_learned(
    prefix: str | os.PathLike[str], domain: Domain, *, device: str = "auto", threads: int | None = None
) -> tuple[LearnedPolicy, str, list[str]]:
    """Of `prefix`.1, `prefix`.2, … the last policy that is intact and fits, its file, and why later ones are not.

    If there is none, the file `prefix` is tried, which is how the last of the files is handed on.
    """
    refused: list[str] = []
    for path in (*numbered_files(prefix), *([Path(prefix)] if Path(prefix).is_file() else [])):
        try:
            policy = _load(path, domain, device, ())
        except PolicyError as error:
            refused.append(str(error))
            continue
        policy.threads = threads
        return policy, str(path), refused
    reason = f": {'; '.join(refused)}" if refused else f"; expected {os.fspath(prefix)}.1, …"
    raise PolicyError(f"{os.fspath(prefix)}: no policy{reason}")


def numbered_files(prefix: str | os.PathLike[str]) -> list[Path]:
    """Files `prefix`.1, `prefix`.2, …, last one first."""
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
    """Name of a bundled policy, given its file; any other file, or a yardstick's name, is returned as it is."""
    place = Path(path)
    return place.stem if place.parent == POLICIES else os.fspath(path)


def full_name(name: str) -> str:
    """The policy's name with a path that means the same in every folder; a name that is no path stays as it is."""
    is_name = name == AUTO or name in YARDSTICK_NAMES or name in bundled_policies()
    return os.path.abspath(name) if not is_name and os.path.exists(name) else name


def policy_file_for(name: str, domain: Domain) -> Path:
    """File of a policy for a domain: what `policy_path` takes, and `auto` or a folder of policies, by what fits.

    That the file fits the domain is checked only in the latter two cases.
    """
    if name == AUTO:
        return find_policy(domain)
    folder = policy_folder(name)
    return find_policy(domain, folder) if folder is not None else policy_path(name)


def policy_path(name: str | os.PathLike[str], folder: Path | None = None) -> Path:
    """File of a policy, by the name of a bundled one, its file, or the folder of its run; else a `PolicyError`.

    A file need not exist: it is refused when it is read.
    """
    text = os.fspath(name)
    known = bundled_policies(folder)
    if text in known:
        return known[text]
    path = Path(text)
    if path.is_dir():
        if not (path / RUN_POLICY).is_file():
            raise PolicyError(f"{text}: this folder holds no {RUN_POLICY}; expected the folder of a training run")
        return path / RUN_POLICY
    if path.is_file() or path.suffix == SUFFIX or os.sep in text:
        return path
    names = [*known, *YARDSTICK_NAMES]
    known_names = suggestion(text, names) or f"; known are {', '.join(names)}"
    raise PolicyError(f"there is no policy {text!r}, neither a file nor a name{known_names}")


def policy_folder(name: str) -> Path | None:
    """The folder of policies of that name; None if it is a bundled policy's name, a run folder, or no folder."""
    folder = Path(name)
    is_folder = name not in bundled_policies() and folder.is_dir() and not (folder / RUN_POLICY).is_file()
    return folder if is_folder else None


def bundled_policies(folder: Path | None = None) -> dict[str, Path]:
    """Policy files by name: the bundled ones, or those of another folder."""
    return {path.stem: path for path in sorted((folder or POLICIES).glob(f"*{SUFFIX}"))}


def find_policy(domain: Domain, folder: Path | None = None) -> Path:
    """The first file by name, bundled or in a folder, whose policy fits the domain.

    A `NoPolicyError` says in what the domain differs from that of the nearest policy.
    """
    from saltus.model.description import read_description
    from saltus.pddl.signature import domain_signature, shared_lines, signature_differences

    known = bundled_policies(folder)
    if folder is not None and not known:
        raise NoPolicyError(
            f"{folder}: this folder holds no policies, neither {RUN_POLICY} of a training run nor others"
        )
    signature = domain_signature(domain)
    differences: dict[str, list[str]] = {}
    shared: dict[str, int] = {}
    for name, path in known.items():
        own = read_description(path).signature
        differences[name] = signature_differences(own, signature)
        shared[name] = shared_lines(own, signature)
        if not differences[name]:
            return path
    where = "no bundled policy" if folder is None else f"no policy in {folder}"
    raise NoPolicyError(
        f"{where} fits the domain {domain.name!r} ({domain.file}); {_nearest(differences, shared)}. "
        "`saltus train` learns a policy; `--policy goal-count` plans without one"
    )


def _nearest(differences: dict[str, list[str]], shared: dict[str, int]) -> str:
    """What to say about the policy whose domain is most alike; where none is alike, which policies there are."""
    from saltus.pddl.signature import listed

    alike = [name for name, count in shared.items() if count]
    if not alike:
        return f"there are {', '.join(differences)}" if differences else "there is none at all"
    nearest = min(alike, key=lambda name: (len(differences[name]), -shared[name]))
    return f"the nearest is {nearest}, but in this domain {listed(differences[nearest], 3)}"


def _yardstick(name: str, seed: int, lookahead: TreeSpec, play: PlaySpec = PLAY) -> Planner:
    import numpy as np

    from saltus.policy.policies import YARDSTICKS

    return YARDSTICKS[name](np.random.default_rng(seed), lookahead, play)


def _load(path: Path, domain: Domain | None, device: str, play: Sequence[str]) -> LearnedPolicy:
    from saltus.policy.policies import LearnedPolicy

    policy = LearnedPolicy.load(path, domain, find_device(device))
    policy.play_spec = policy.play_spec.changed(play)
    policy.name = policy_name(path)
    return policy
