"""Stage `lab.report`: records in, `Series` out: what one column of a report shows.

Records of one file belong together if the same method made them in the same way; the policy may differ from domain to
domain. If that leaves several records of one problem, they are separated by policy, then by configuration; of records
that nothing separates, the last one counts. Files that were made in the same way and share no problem (one file per
domain, for example) are one series; files that share problems are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from saltus.lab.bench.record import Problem, Record
from saltus.lab.bench.records import RecordList, limited

Way = tuple[str, str, bool, bool]
"""Method, protocol, search, improve."""


@dataclass(frozen=True, eq=False)
class Series:
    """At most one record per problem."""

    label: str
    method: str
    protocol: str
    search: bool
    improve: bool
    files: tuple[str, ...]
    records: dict[Problem, Record]

    @property
    def solved(self) -> list[Record]:
        """Records with a plan."""
        return [record for record in self.records.values() if record.solved]

    @property
    def unexplained(self) -> list[Record]:
        """Records that need an explanation."""
        return [record for record in self.records.values() if record.unexplained]


@dataclass
class _Group:
    """A series in the making."""

    way: Way
    files: list[str]
    records: dict[Problem, Record]
    policy: str = ""
    configuration: str = ""


def make_series(files: Sequence[RecordList]) -> tuple[list[Series], list[str]]:
    """Series in the order of the files, and warnings about duplicate records and mixed versions."""
    warnings: list[str] = []
    groups: list[_Group] = []
    for file in files:
        for group in _split(file, warnings):
            home = next((entry for entry in groups if _joinable(entry, group)), None)
            if home is None:
                groups.append(group)
            else:
                home.records |= group.records
                home.files += [name for name in group.files if name not in home.files]
    series = [
        Series(label, *group.way, tuple(group.files), group.records)
        for label, group in zip(_labels(groups), groups, strict=True)
    ]
    for entry in series:
        versions = Counter(filter(None, (record.saltus_version for record in entry.records.values())))
        if len(versions) > 1:
            parts = ", ".join(f"{version} ({count} records)" for version, count in sorted(versions.items()))
            warnings.append(f"{', '.join(entry.files)}: {entry.label} mixes records of saltus {parts}")
    return series, warnings


def _joinable(home: _Group, group: _Group) -> bool:
    """Whether a group of another file continues a series."""
    same = home.way == group.way and (home.policy, home.configuration) == (group.policy, group.configuration)
    return same and not set(home.files) & set(group.files) and not home.records.keys() & group.records.keys()


def _split(file: RecordList, warnings: list[str]) -> list[_Group]:
    """Groups of one file, as few as possible."""
    ways: dict[Way, list[Record]] = {}
    for record in file.records:
        ways.setdefault((record.method, record.protocol, record.search, record.improve), []).append(record)
    groups: list[_Group] = []
    duplicates: list[str] = []
    for way, records in ways.items():
        tried = {(record.name, record.policy, record.configuration) for record in records}
        level = next(i for i in (0, 1, 2) if i == 2 or _separates(tried, i))
        parts: dict[tuple[str, ...], dict[Problem, Record]] = {}
        for record in records:
            part = parts.setdefault((record.policy, record.configuration)[:level], {})
            if record.name in part:
                duplicates.append(_duplicate(part[record.name], record))
            part[record.name] = record
        groups += [_Group(way, [file.path], part, *name) for name, part in parts.items()]
    warnings += limited(duplicates, f"{file.path}: %d more duplicate records; the last ones count")
    return groups


def _separates(tried: Iterable[tuple[Problem, str, str]], level: int) -> bool:
    """Whether problem and the first `level` of policy and configuration identify every record."""
    counts = Counter((entry[0], *entry[1 : 1 + level]) for entry in tried)
    return max(counts.values(), default=1) == 1


def _duplicate(before: Record, after: Record) -> str:
    same = before.outcome == after.outcome
    outcomes = f"both '{after.outcome}'" if same else f"was '{before.outcome}', now '{after.outcome}'"
    name = " ".join(after.name)
    return f"{after.place}: duplicate record of {name}, first in line {before.line} ({outcomes}); the last one counts"


def _labels(groups: Sequence[_Group]) -> list[str]:
    """Short names that distinguish the groups: the method, and what else is needed."""
    labels = [_way_name(group.way) for group in groups]
    for part in (
        lambda group: group.way[1],
        lambda group: PurePath(group.policy).name,
        lambda group: ", ".join(Path(name).stem for name in group.files),
        lambda group: group.configuration,
        lambda group: ", ".join(group.files),
    ):
        counts = Counter(labels)
        extra = [part(group) for group in groups]
        labels = [
            f"{label} · {text}" if counts[label] > 1 and text and _differ(label, labels, extra) else label
            for label, text in zip(labels, extra, strict=True)
        ]
    counts = Counter(labels)
    seen: Counter[str] = Counter()
    for i, label in enumerate(labels):
        seen[label] += 1
        if counts[label] > 1:
            labels[i] = f"{label} ({seen[label]})"
    return labels


def _differ(label: str, labels: Sequence[str], extra: Sequence[str]) -> bool:
    """Whether groups with the same label have different texts."""
    return len({text for name, text in zip(labels, extra, strict=True) if name == label}) > 1


def _way_name(way: Way) -> str:
    method, _, search, improve = way
    return method + (" + search" if search else "") + (" + improve" if improve else "")
