"""Stage `lab.baselines`: heuristics of WL-GOOSE: features of the package `wlplan`, weights, and their file.

A heuristic is linear in Weisfeiler-Leman features of the instance learning graph of a state (Chen, Trevizan and
Thiébaux: Return to Tradition, ICAPS 2024). Graphs, features and predictions are computed by `wlplan` (extra
`baselines`); here tasks and states are handed to it, and files are read and written. A file is `wlplan`'s own JSON with
one more entry, `saltus`, which says what domain it belongs to and how it was trained.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltus.errors import ConfigurationError, InputError, PolicyError, UnsupportedError
from saltus.files import RECORD_BYTES, read_whole, write_whole
from saltus.model.schema import read_signature
from saltus.model.tensor_file import DamageError
from saltus.pddl import Domain
from saltus.pddl.signature import Signature
from saltus.task import State, Task

WL_GOOSE = "wl-goose"
"""Name of planner and method."""
FORMAT = "saltus-wl-goose"
ENTRY = "saltus"
"""Entry of the file that `wlplan` ignores."""
ITERATIONS = 4
"""Rounds of colour refinement, as in the paper."""
GRAPH = "ilg"
FEATURES = "wl"


def find_wlplan() -> tuple[Any, Any]:
    """The modules of features and of planning; if they are missing, a `ConfigurationError` says how to install them.

    Those of planning are taken from `_wlplan`, since `wlplan.planning` imports a PDDL parser that is not needed here.
    """
    try:
        return importlib.import_module("wlplan.feature_generator"), importlib.import_module("_wlplan.planning")
    except ImportError as error:
        raise ConfigurationError(
            f"WL-GOOSE needs the package wlplan: pip install 'saltus[baselines]' ({error})"
        ) from error


def wl_domain(domain: Domain) -> Any:
    """The domain as `wlplan` has it: predicates by name and arity, without types; schemas are not needed.

    Predicates are in the order of their texts: a saved model has them in this order, and colours depend on it.
    """
    _, planning = find_wlplan()
    predicates = [planning.Predicate(entry.name, len(entry.parameters)) for entry in domain.predicates]
    constants = sorted(entry.name for entry in domain.constants)
    return planning.Domain(
        name=domain.name,
        predicates=sorted(predicates, key=repr),
        functions=[],
        schemata=[],
        constant_objects=constants,
    )


class WLTask:
    """A task as `wlplan` has it. States hold fluent atoms alone, as those of Fast Downward in the authors' planner."""

    def __init__(self, task: Task) -> None:
        if task.has_derived_goals:
            raise UnsupportedError("WL-GOOSE takes goals that are conjunctions of literals")
        self.task = task
        _, self._planning = find_wlplan()
        domain = wl_domain(task.domain)
        self._predicates = {entry.name: entry for entry in domain.predicates}
        self._atoms: dict[int, Any] = {}
        constants = {entry.name for entry in task.domain.constants}
        self.problem = self._planning.Problem(
            domain=domain,
            objects=[name for name in task.objects if name not in constants],
            positive_goals=[self._atom(code) for code in task.goal.positive.tolist()],
            negative_goals=[self._atom(code) for code in task.goal.negative.tolist()],
        )

    def state(self, state: State) -> Any:
        """The state as `wlplan` has it."""
        known = self._atoms
        return self._planning.State([known.get(code) or self._atom(code) for code in state.codes.tolist()])

    def _atom(self, code: int) -> Any:
        if code not in self._atoms:
            predicate, *arguments = self.task.decode(code)
            names = [self.task.objects[number] for number in arguments]
            self._atoms[code] = self._planning.Atom(self._predicates[self.task.predicates[predicate]], names)
        return self._atoms[code]


@dataclass(frozen=True)
class WLModel:
    """A trained heuristic."""

    features: Any
    """Feature generator with weights."""
    signature: Signature
    training: Mapping[str, Any]
    """How it was trained."""

    @property
    def summary(self) -> str:
        """How it was trained, in a line."""
        facts = self.training
        return (
            f"{facts['states']:,} states of {facts['problems']:,} of {facts['problems_given']:,} problems,"
            f" {facts['feature_count']:,} features, {facts['seconds']:,.0f} s"
        )

    def heuristic(self, task: WLTask) -> Callable[[State], float]:
        """Estimates of the distance to the goal in one task; only one task at a time can use a model."""
        self.features.set_problem(task.problem)
        return lambda state: float(self.features.predict(task.state(state)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all."""
        with tempfile.TemporaryDirectory(prefix="saltus-") as folder:
            inner = Path(folder) / "model.json"
            self.features.save(str(inner))
            content = json.loads(inner.read_bytes())
        entry = {
            "format": FORMAT,
            "version": 1,
            "signature": self.signature,
            "training": self.training,
        }
        write_whole(path, json.dumps({ENTRY: entry, **content}, separators=(",", ":")) + "\n")


def read_model_entry(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says about itself; another kind of file is a `PolicyError`. Does not need `wlplan`."""
    name = os.fspath(path)
    try:
        content = json.loads(read_whole(path, RECORD_BYTES))
        entry = content[ENTRY]
        read_signature(entry["signature"])
        if (entry["format"], entry["version"]) != (FORMAT, 1) or not isinstance(entry.get("training", {}), dict):
            raise ValueError
    except InputError as error:
        raise PolicyError(str(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, DamageError):
        raise PolicyError(f"{name}: not a model of WL-GOOSE; 'saltus wl-goose' trains one") from None
    found: dict[str, Any] = entry
    return found


def model_digest(path: str | os.PathLike[str]) -> str:
    """A short text that differs for models that may play differently, however long they were trained."""
    read_model_entry(path)
    content = {key: value for key, value in json.loads(read_whole(path, RECORD_BYTES)).items() if key != ENTRY}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def load_model(path: str | os.PathLike[str]) -> WLModel:
    """The model in a file."""
    entry = read_model_entry(path)
    features, _ = find_wlplan()
    try:
        loaded = features.load_feature_generator(os.fspath(path), quiet=True)
    except Exception as error:  # whatever the C++ code makes of a damaged file
        raise PolicyError(f"{os.fspath(path)}: wlplan cannot read this model: {error}") from error
    return WLModel(loaded, entry["signature"], entry.get("training", {}))


def new_features(domain: Domain) -> Any:
    """A feature generator that has not seen a graph yet."""
    features, _ = find_wlplan()
    return features.init_feature_generator(
        feature_algorithm=FEATURES,
        domain=wl_domain(domain),
        graph_representation=GRAPH,
        iterations=ITERATIONS,
        pruning="none",
        multiset_hash=False,
    )
