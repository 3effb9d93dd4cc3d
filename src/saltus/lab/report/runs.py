"""Stage `lab.report`: curves from folders of training runs.

A run is a folder with `log.jsonl`: one JSON object per line, of kind `episode` or `validation`; others are ignored. If
two lines of one kind have the same episode, the later one counts: a resumed run repeats what it did after its last
checkpoint. Runs that differ only in their seed form one curve: mean, least and most.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltus.errors import InputError, shorten
from saltus.files import SETTINGS_BYTES, parse_object, read_lines, read_whole
from saltus.lab.bench.records import limited

LOG = "log.jsonl"
CONFIG = "config.json"
CANDIDATES = "candidates"
"""Folder of the runs of a contest, each named after its configuration."""

_SEED_FOLDER = re.compile(r"(?:seed|run|s)?[-_]?\d+", re.IGNORECASE)
_SEED_ENDING = re.compile(r"[-_. ]?(?:seed|s)[-_]?\d+$", re.IGNORECASE)

Entry = dict[str, float]
"""The figures in one line of the log."""


@dataclass(frozen=True, eq=False)
class RunLog:
    """One training run."""

    path: str
    name: str
    """Runs of one name differ only in their seed."""
    domain: str
    episodes: dict[int, Entry]
    validations: dict[int, Entry]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class CurvePoint:
    """One figure of several runs at one episode."""

    episode: int
    mean: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Curve:
    """One figure over episodes, for the runs of one name."""

    name: str
    points: tuple[CurvePoint, ...]
    runs: int


@dataclass(frozen=True)
class RunGroup:
    """The runs of one domain, which are drawn together."""

    domain: str
    runs: tuple[RunLog, ...] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the runs, each once."""
        return list(dict.fromkeys(run.name for run in self.runs))

    def curves(self, value: Callable[[RunLog], dict[int, float]]) -> list[Curve]:
        """One curve per name that has any values."""
        found = [_curve(name, [value(run) for run in self.runs if run.name == name]) for name in self.names]
        return [curve for curve in found if curve.points]


def find_runs(folder: str | Path) -> list[Path]:
    """The folder itself if it is a run, otherwise the runs in it; an `InputError` if there are none."""
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root}: {'not a folder' if root.exists() else 'no such folder'}")
    if (root / LOG).is_file():
        return [root]
    found = sorted(path.parent for path in files_below(root, LOG))
    if not found:
        raise InputError(f"{root}: no training run found: no {LOG} in this folder or up to 3 levels below")
    return found


def files_below(folder: str | Path, name: str) -> list[Path]:
    """Files of that name in a folder and up to three levels below, the nearest first."""
    patterns = ("/".join(["*"] * depth + [name]) for depth in range(4))
    return [path for pattern in patterns for path in sorted(Path(folder).glob(pattern))]


def read_run(folder: str | Path) -> RunLog:
    """The run in a folder; damaged lines are warnings."""
    root = Path(folder)
    path = root / LOG
    warnings: list[str] = []
    kinds: dict[str, dict[int, Entry]] = {"episode": {}, "validation": {}}
    lines = 0
    for number, line in enumerate(read_lines(str(path)), 1):
        if not line.strip():
            continue
        lines += 1
        try:
            entry = parse_object(line)
        except ValueError as error:
            warnings.append(f"{path}:{number}: damaged line ignored: {error}")
            continue
        kind = entry.get("kind")
        if isinstance(kind, str) and kind in kinds:
            episode = entry.get("episode")
            if type(episode) is not int or not 0 <= episode < 2**31:
                found = shorten(repr(episode))
                warnings.append(f"{path}:{number}: line ignored: episode is {found}, expected a whole number")
                continue
            kinds[kind][episode] = _numbers(entry)
    if lines and not any(kinds.values()):
        reason = f": {warnings[0]}" if warnings else ""
        raise InputError(f"{path}: not a training log: no line of kind episode or validation{reason}")
    config, complaint = _read_config(root / CONFIG)
    name, domain = name_run(root, config)
    shown = (*limited(warnings, f"{path}: %d more lines ignored"), *complaint)
    return RunLog(str(root), name, domain, kinds["episode"], kinds["validation"], shown)


def _numbers(entry: dict[str, Any]) -> Entry:
    return {
        key: float(value)
        for key, value in entry.items()
        if type(value) in (int, float) and abs(value) < 1e300 and math.isfinite(value)
    }


def _read_config(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The run's configuration, empty if there is none, and warnings about it."""
    if not path.exists():
        return {}, []
    try:
        content = json.loads(read_whole(path, SETTINGS_BYTES))
    except (InputError, ValueError, RecursionError) as error:
        return {}, [f"{path}: cannot be read, so the run is named after its folder: {error}"]
    return (content, []) if isinstance(content, dict) else ({}, [f"{path}: not a JSON object"])


def name_run(folder: Path, config: dict[str, Any]) -> tuple[str, str]:
    """The name and domain of a run: from its configuration, or else from its folder without what looks like a seed."""
    own = folder.resolve()
    problems = config.get("problems")
    domain = Path(problems).name if isinstance(problems, str) else ""
    if domain.endswith(".pddl"):
        domain = Path(str(problems)).resolve().parent.name
    if _SEED_FOLDER.fullmatch(own.name):
        name = own.parent.name or own.name
    elif _SEED_ENDING.search(own.name):
        name = _SEED_ENDING.sub("", own.name) or own.parent.name
    else:
        is_candidate = own.parent.name == CANDIDATES  # of a contest: candidates differ in more than their seed
        name = domain if domain and "seed" in config and not is_candidate else own.name
    return name, domain or name


def read_runs(folders: Iterable[str | Path]) -> tuple[list[RunGroup], list[str]]:
    """The runs in all folders by domain, and warnings; a folder given twice counts once."""
    found: dict[Path, Path] = {}
    for folder in folders:
        for path in find_runs(folder):
            found.setdefault(path.resolve(), path)
    runs = [read_run(path) for path in found.values()]
    domains: dict[str, list[RunLog]] = {}
    for run in runs:
        domains.setdefault(run.domain, []).append(run)
    warnings = [message for run in runs for message in run.warnings]
    warnings += [f"{run.path}: no episodes logged yet" for run in runs if not run.episodes and not run.validations]
    return [RunGroup(domain, tuple(entries)) for domain, entries in sorted(domains.items())], warnings


def _curve(name: str, runs: Sequence[dict[int, float]]) -> Curve:
    episodes = sorted({episode for run in runs for episode in run})
    points: list[CurvePoint] = []
    for episode in episodes:
        values = [run[episode] for run in runs if episode in run]
        points.append(CurvePoint(episode, math.fsum(values) / len(values), min(values), max(values), len(values)))
    return Curve(name, tuple(points), sum(bool(run) for run in runs))


def coverage_of(run: RunLog, prefix: str = "") -> dict[int, float]:
    """The share of problems solved at every validation; with the prefix `larger_`, of the larger problems."""
    shares: dict[int, float] = {}
    for episode, entry in run.validations.items():
        solved, problems = entry.get(f"{prefix}solved"), entry.get(f"{prefix}problems")
        if solved is not None and problems:
            shares[episode] = solved / problems
    return shares


def episode_figure(run: RunLog, name: str) -> dict[int, float]:
    """One figure of the log, by episode."""
    return {episode: entry[name] for episode, entry in run.episodes.items() if name in entry}
