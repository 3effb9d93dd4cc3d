"""Stage `model`: what the description in a policy file must be like: the one place that says so.

Plain values in, specifications out. The specifications are dataclasses: types are checked by their fields, ranges by
the dataclasses themselves. From the sizes follow names and shapes of all weights (`weight_shapes`), which the header of
the file must claim before any of them is read. Anything wrong is a `DamageError` that names the field.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from saltus.errors import ConfigurationError, InputError, shorten
from saltus.graph import ENCODINGS, Candidate, EncodingSpec, Vocabulary
from saltus.graph.encodings import method_name
from saltus.lookahead import JUMPS, JumpCost, PlaySpec, TreeSpec
from saltus.lookahead.spec import PLAY, newer_play, split_older
from saltus.model.older import without_removed
from saltus.model.spec import ModelSpec
from saltus.model.tensor_file import DamageError, Header, TensorEntry, kind_of, parse_json
from saltus.pddl.signature import AXIOM_START, KINDS, SCHEMA_START, Signature

FORMAT = "saltus-policy"
VERSION = 2
"""Of the format. In version 1, `lookahead` held the keys of `play`, too."""

WEIGHT_KINDS = ("F16", "F32")
"""Types of weights that are read; `save_policy` writes no others."""

Spec = TypeVar("Spec")

WORDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text", dict: "an object"}
"""What to say where a value of some type is expected."""


@dataclass(frozen=True)
class PolicyDescription:
    """What a policy file says about its policy; it has been checked."""

    encoding: EncodingSpec
    lookahead: TreeSpec
    model: ModelSpec
    vocabulary: Vocabulary
    signature: Signature
    """Of the domain it was trained on."""
    record: Mapping[str, Any]
    """How it was trained: any plain values."""
    cost: JumpCost = JUMPS
    """What its Q-values count; jumps if the file does not say."""
    play: PlaySpec = PLAY
    """How it plays where nothing else is asked for."""

    @property
    def method(self) -> str:
        """Lookahead and encoding, such as aiw-ad."""
        return method_name(self.lookahead, self.encoding)

    @property
    def arities(self) -> tuple[int, ...]:
        """Arities of the relations."""
        return tuple(relation.arity for relation in self.vocabulary)

    @property
    def weights(self) -> int:
        """Number of weights."""
        return sum(math.prod(shape) for shape in weight_shapes(self.arities, self.encoding.kind, self.model).values())

    def recorded(self, *keys: str) -> str | int | float | None:
        """The number or text under a key of the record, or under a key of an object in it; None if there is none."""
        value: Any = self.record
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value if type(value) in (str, int, float) else None


def check_header(header: Header) -> PolicyDescription:
    """The description in the header of a policy file, whose tensors are those that the description asks for."""
    if FORMAT not in header.metadata:
        raise DamageError(f"it has no {FORMAT!r} description")
    try:
        values = parse_json(header.metadata[FORMAT])
    except DamageError as error:
        raise DamageError(f"description: {error}") from None
    description = check_description(values)
    check_weights(description, header.tensors)
    return description


def check_description(values: Mapping[str, Any]) -> PolicyDescription:
    """The description of plain values."""
    if values.get("format") != FORMAT:
        raise DamageError("its description is of another kind")
    version = values.get("version")
    if type(version) is not int or version < 1:
        raise DamageError(f"version: expected a whole number from 1 on, found {kind_of(version)}")
    if version > VERSION:
        raise DamageError(f"format version {version}, this program reads up to {VERSION}; update saltus")
    needed = ["format", "version", "encoding", "lookahead", "model", "vocabulary", "domain", "record"]
    if version > 1:
        needed.append("play")
    for key in needed:
        if key not in values:
            raise DamageError(f"{key}: missing")
    for key in values:
        if key not in (*needed, "cost"):
            raise DamageError(f"unknown field {shorten(key)!r}")
    if version == 1 and isinstance(values["lookahead"], dict):
        trees, play = split_older(values["lookahead"])
        values = {**values, "lookahead": trees, "play": play}
    elif isinstance(values.get("play"), dict):
        values = {**values, "play": newer_play(values["play"])}
    encoding = read_section(EncodingSpec, values, "encoding")
    lookahead = read_section(TreeSpec, values, "lookahead")
    try:
        encoding.check_lookahead(lookahead.kind)
    except ConfigurationError as error:
        raise DamageError(str(error)) from None
    if not isinstance(values["record"], dict):
        raise DamageError(f"record: expected an object, found {kind_of(values['record'])}")
    return PolicyDescription(
        encoding,
        lookahead,
        read_section(ModelSpec, values, "model"),
        _vocabulary(values["vocabulary"]),
        read_signature(values["domain"]),
        values["record"],
        read_spec(JumpCost, values.get("cost", {}), "cost"),
        read_section(PlaySpec, values, "play"),
    )


def read_section(kind: type[Spec], values: Mapping[str, Any], section: str) -> Spec:
    """The specification of a section, which an earlier version may have written."""
    try:
        own = without_removed(section, values[section])
    except ConfigurationError as error:
        raise DamageError(str(error)) from None
    return read_spec(kind, own, section)


# -- dataclasses of plain values -------------------------------------------------------------------------------------


def read_spec(kind: type[Spec], values: Any, where: str) -> Spec:
    """A dataclass of plain values; a field that is missing has its default, an unknown one is refused.

    `where` names the values in messages.
    """
    if not isinstance(values, Mapping):
        raise DamageError(f"{where}: expected an object, found {kind_of(values)}")
    hints = get_type_hints(kind)
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise DamageError(f"{where}: unknown field {shorten(str(key))!r}")
    checked = {key: read_value(hints[key], value, f"{where}.{key}") for key, value in values.items()}
    try:
        return kind(**checked)
    except ConfigurationError as error:
        raise DamageError(str(error)) from None
    except TypeError as error:  # a field without default is missing
        raise DamageError(f"{where}: {error}") from None


def read_value(hint: Any, value: Any, where: str) -> Any:
    """A plain value of a type: bool, int, float, str, a dataclass, one of them or None; lists, tuples of any length and
    objects of such. Whole numbers are floats."""
    origin = get_origin(hint)
    if origin in (list, tuple):
        if not isinstance(value, list):
            raise DamageError(f"{where}: expected a list, found {kind_of(value)}")
        return origin(read_value(get_args(hint)[0], entry, f"{where}[{i}]") for i, entry in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise DamageError(f"{where}: expected an object, found {kind_of(value)}")
        return {key: read_value(get_args(hint)[1], entry, f"{where}.{shorten(key)}") for key, entry in value.items()}
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (hint,) = (option for option in get_args(hint) if option is not type(None))
    if is_dataclass(hint):
        return read_spec(hint, value, where)  # type: ignore[arg-type]
    if hint is float and type(value) in (int, float) and abs(value) < 1e300:
        return float(value)
    if hint is float or type(value) is not hint:
        raise DamageError(f"{where}: expected {WORDS[hint]}, found {kind_of(value)}")
    return value


# -- vocabulary and signature ----------------------------------------------------------------------------------------


def _vocabulary(value: Any) -> Vocabulary:
    """The vocabulary of far more relations than any policy needs, and far fewer than would exhaust a machine."""
    if isinstance(value, list) and len(value) > 100_000:
        raise DamageError(f"vocabulary: {len(value):,} relations, expected at most 100,000")
    try:
        vocabulary = Vocabulary.from_json(value)
    except (ConfigurationError, InputError) as error:
        raise DamageError(str(error)) from None
    for relation in vocabulary:
        if not relation.name or relation.arity > 1000:
            found = shorten(json.dumps([relation.name, relation.arity]))
            raise DamageError(f"vocabulary: expected a name and an arity of at most 1,000, found {found}")
    return vocabulary


def read_signature(value: Any) -> Signature:
    """The signature that a value of JSON is; anything else is a `DamageError`."""
    if not isinstance(value, dict) or not KINDS.keys() - {"axioms"} <= value.keys() <= KINDS.keys():
        raise DamageError(f"domain: expected an object with {', '.join(KINDS)}")
    for kind, lines in value.items():
        if not isinstance(lines, list):
            raise DamageError(f"domain.{kind}: expected a list of lines, found {kind_of(lines)}")
        for line in lines:
            if not isinstance(line, str) or not line.removeprefix(SCHEMA_START).removeprefix(AXIOM_START).split():
                raise DamageError(f"domain.{kind}: expected a line of text, found {kind_of(line)}")
    return value


# -- weights ---------------------------------------------------------------------------------------------------------


def check_weights(description: PolicyDescription, tensors: Mapping[str, TensorEntry]) -> None:
    """Checks that a header has the weights that a description asks for, all of them and no others."""
    shapes = weight_shapes(description.arities, description.encoding.kind, description.model)
    for name, shape in shapes.items():
        if name not in tensors:
            raise DamageError(f"weights {name}: missing")
        entry = tensors[name]
        if entry.kind not in WEIGHT_KINDS or entry.shape != shape:
            raise DamageError(f"weights {name}: expected {' or '.join(WEIGHT_KINDS)} {list(shape)}, found {entry}")
    for name in tensors:
        if name not in shapes:
            raise DamageError(f"weights {shorten(name)!r}: unknown")


MAPS = ("first", "second", "third")
"""Names of the linear maps of a `Perceptron`."""


def weight_shapes(arities: Sequence[int], encoding: str, spec: ModelSpec) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights of a `RelationalNetwork` by name, known without making one."""
    parts, size = ENCODINGS[encoding], spec.embedding
    shapes: dict[str, tuple[int, ...]] = {}
    counts: dict[int, int] = {}
    for arity in arities:
        counts[arity] = counts.get(arity, 0) + 1
    for number, arity in enumerate(sorted(counts)):
        width = arity * size
        for layer in range(1, spec.hidden_layers + 2):
            shapes[f"messages.{number}.weight{layer}"] = (counts[arity], width, width)
            shapes[f"messages.{number}.bias{layer}"] = (counts[arity], width)
    perceptrons = {
        "update": (2 * size, size),
        "objects": (2 * size if parts.candidate is Candidate.PAIR else size, size),
        "readout": (2 * size if parts.is_joint else size, 1),
    }
    if parts.candidate is not Candidate.PAIR and not spec.object_network:
        del perceptrons["objects"]
    for name, (inputs, outputs) in perceptrons.items():
        for step in range(spec.hidden_layers + 1):
            place, rows = f"{name}.{MAPS[step]}", outputs if step == spec.hidden_layers else inputs
            shapes |= {f"{place}.weight": (rows, inputs), f"{place}.bias": (rows,)}
    return shapes | {"norm.weight": (size,), "norm.bias": (size,), "depth.weight": (1, size)}
