"""Policy files that somebody damaged or made up: whatever they hold is a `PolicyError`, and costs nothing."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import ROOT

from saltus.errors import PolicyError
from saltus.graph import ENCODINGS, EncodingSpec
from saltus.lookahead.spec import PlaySpec, TreeSpec, names_of, split_older
from saltus.model import ModelSpec, RelationalNetwork
from saltus.model.description import read_description
from saltus.model.engine import Engine
from saltus.model.policy_file import load_policy_file, save_policy
from saltus.model.schema import VERSION, weight_shapes
from saltus.model.tensor_file import METADATA
from saltus.policy.catalogue import bundled_policies

READERS: tuple[Callable[[Path], object], ...] = (read_description, load_policy_file, Engine.load)

OLDER = (ROOT / "examples" / "blocksworld" / "untrained.safetensors").read_bytes()
"""A file of version 1."""
KEY = "saltus-policy"

MEMORY = 64 << 20
"""Most bytes that Python may hold while a damaged file is read; the sound one has less than a hundredth."""


def split(content: bytes = b"") -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Header, description and tensors of a policy file, by default of the sound one."""
    content = content or SOUND
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    return header, json.loads(header[METADATA][KEY]), content[8 + length :]


def join(header: dict[str, Any], description: object, tensors: bytes) -> bytes:
    """The opposite of `split`; the description may be anything, a text included."""
    text = description if isinstance(description, str) else json.dumps(description)
    return with_header({**header, METADATA: {KEY: text}}, tensors)


def newer(content: bytes) -> bytes:
    """The same file in the format of today."""
    header, description, tensors = split(content)
    trees, play = split_older(description["lookahead"])
    return join(header, {**description, "version": VERSION, "lookahead": trees, "play": play}, tensors)


def with_header(header: object, tensors: bytes) -> bytes:
    """A file with this header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + tensors


SOUND = newer(OLDER)


def refused(path: Path, content: bytes) -> str:
    """The message with which all readers refuse a file."""
    path.write_bytes(content)
    messages = set()
    for read in READERS:
        with pytest.raises(PolicyError) as refusal:
            read(path)
        messages.add(str(refusal.value))
    (message,) = messages
    assert str(path) in message
    return message


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
@pytest.mark.parametrize("hidden_layers", [1, 2])
@pytest.mark.parametrize("switch", [True, False])
def test_shapes_are_those_of_the_network(kind: str, hidden_layers: int, switch: bool) -> None:
    arities = (2, 1, 3, 1, 2, 1)
    spec = ModelSpec(embedding=6, object_network=switch, hidden_layers=hidden_layers)
    network = RelationalNetwork(arities, kind, spec)
    assert weight_shapes(arities, kind, spec) == {name: tuple(w.shape) for name, w in network.state_dict().items()}


def test_what_the_description_says() -> None:
    found = read_description(ROOT / "src/saltus/policies/blocksworld.safetensors")
    assert (found.method, found.encoding, found.recorded("domain")) == ("aiw-ad", EncodingSpec(), "blocksworld")
    whole = load_policy_file(ROOT / "src/saltus/policies/blocksworld.safetensors")
    assert found.weights == sum(weight.numel() for weight in whole.network.parameters())
    assert found.recorded("validation", "held_out", "solved") is not None
    assert found.recorded("validation", "held_out") is None
    assert found.recorded("domain", "name") is None


CHANGES: list[tuple[str, object, str]] = [
    ("model", [], "model: expected an object, found a list"),
    ("model.layers", 4.5, "model.layers: expected a whole number, found 4.5"),
    ("model.layers", True, "model.layers: expected a whole number, found true"),
    ("model.layers", 0, "model: layers is 0, expected at least 1"),
    ("model.layers", 10**9, "model: layers is 1000000000, expected at most 1,000"),
    ("model.embedding", 10**9, "model: embedding is 1000000000, expected at most 1,024"),
    ("model.embedding", 1024, "weights messages.0.weight1: expected F16 or F32 "),
    ("model.object_network", "yes", 'model.object_network: expected true or false, found "yes"'),
    ("model.precision", None, "model.precision: expected a text, found null"),
    ("model.sharpness", float("nan"), "model.sharpness=NaN, which this version does not have: it is always 12.0"),
    ("model.sharpness", 10**400, "model.sharpness=1000"),
    ("model.sharpness", 13, "made with model.sharpness=13, which this version does not have"),
    ("model.norm", False, "made with model.norm=false, which this version does not have"),
    ("model.aggregation", "max", 'made with model.aggregation="max", which this version does not have'),
    ("model.aggregation", [], "made with model.aggregation=[], which this version does not have"),
    ("model.colour", 3, "model: unknown field 'colour'"),
    ("encoding.kind", "abc", "encoding: kind is 'abc', expected one of "),
    ("encoding.kind", "ext", "weights objects.first.weight: expected"),
    ("encoding.kind", "aa", "encoding: aa needs a flat lookahead"),
    ("encoding.depth_unit", "actions", 'made with encoding.depth_unit="actions", which this version does not have'),
    ("encoding.nullary", "all", "encoding: nullary is 'all', expected one of world, drop"),
    ("encoding.nullary", 1, "encoding.nullary: expected a text"),
    ("play.max_encoded", 0, "play: max_encoded is 0"),
    ("play.max_better", "few", "play.max_better: expected a whole number"),
    ("play.dead_ends", "relaxed", "play.dead_ends: expected true or false"),
    ("play.colour", 3, "play: unknown field 'colour'"),
    ("play", [], "play: expected an object, found a list"),
    ("lookahead.max_better", 3, "lookahead: unknown field 'max_better'"),
    ("lookahead.width", 3, "lookahead: width is 3"),
    ("lookahead.capacity", "many", "lookahead.capacity: expected a whole number"),
    ("play.max_nodes", 2**70, "play: max_nodes is "),
    ("vocabulary", {}, "vocabulary: expected a list"),
    ("vocabulary", [], "weights 'messages.0.bias1': unknown"),
    ("vocabulary", [["a", 1], ["a", 1]], "vocabulary: two relations are named 'a'"),
    ("vocabulary", [["a", 10**9]], "vocabulary: expected a name and an arity of at most 1,000"),
    ("vocabulary", [["", 1]], "vocabulary: expected a name"),
    ("vocabulary", [["a", 0]], "vocabulary: bad relation"),
    ("vocabulary", [[f"r{i}", 1] for i in range(100_001)], "vocabulary: 100,001 relations"),
    ("domain", {}, "domain: expected an object with types, constants, predicates, schemas"),
    ("domain.types", "object", "domain.types: expected a list of lines"),
    ("domain.predicates", [" "], "domain.predicates: expected a line of text"),
    ("domain.schemas", ["(:action "], "domain.schemas: expected a line of text"),
    ("record", [], "record: expected an object, found a list"),
    ("cost", "actions", "cost: expected an object, found"),
    ("cost", {"unit": "steps"}, "cost: unit is 'steps', expected one of jumps, actions, costs"),
    ("cost", {"scale": 0}, "cost: scale is 0.0, expected a finite number above 0"),
    ("cost", {"scale": "1"}, "cost.scale: expected a finite number, found"),
    ("cost", {"scale": float("nan")}, "cost.scale: expected a finite number, found NaN"),
    ("cost", {"scale": float("inf")}, "cost.scale: expected a finite number, found Infinity"),
    ("cost", {"scale": 10**400}, "cost.scale: expected a finite number, found 1000"),
    ("cost", {"colour": 1}, "cost: unknown field 'colour'"),
    ("version", "1", "version: expected a whole number"),
    ("version", -1, "version: expected a whole number"),
    ("format", "other", "its description is of another kind"),
    ("extra", 1, "unknown field 'extra'"),
]


@pytest.mark.parametrize(("field", "value", "message"), CHANGES)
def test_the_message_names_the_field(tmp_path: Path, field: str, value: object, message: str) -> None:
    header, description, tensors = split()
    *outer, last = field.split(".")
    part = description
    for key in outer:
        part = part[key]
    part[last] = value
    tracemalloc.start()
    try:
        assert message in refused(tmp_path / "p", join(header, description, tensors))
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("key", sorted(split()[1]))
def test_no_part_may_be_missing(tmp_path: Path, key: str) -> None:
    header, description, tensors = split()
    del description[key]
    assert key in ("format",) or f"{key}: " in refused(tmp_path / "p", join(header, description, tensors))


def test_missing_fields_have_their_defaults(tmp_path: Path) -> None:
    """Files written before a field existed can be read."""
    header, description, tensors = split()
    del description["play"]["max_nodes"]
    (tmp_path / "p").write_bytes(join(header, description, tensors))
    assert load_policy_file(tmp_path / "p").play.max_nodes == 1_000_000


SHIPPED = [*bundled_policies().values(), ROOT / "examples" / "blocksworld" / "untrained.safetensors"]
OF_VERSION_1 = [path for path in SHIPPED if split(path.read_bytes())[1]["version"] == 1]


@pytest.mark.parametrize("path", OF_VERSION_1, ids=lambda path: path.stem)
def test_the_lookahead_of_version_1_held_both_trees_and_play(path: Path) -> None:
    """Every field that a shipped file has is where it belongs now, with its value; all others have their defaults."""
    _, written, _ = split(path.read_bytes())
    assert "play" not in written
    description = read_description(path)
    found = {**asdict(description.lookahead), **asdict(description.play)}
    assert not {*names_of(TreeSpec)} & {*names_of(PlaySpec)}
    named = {"dead_ends": {"relaxed": True, "successors": False}, "frozen_goals": {"strong": True, "off": False}}
    older = {name: named[name][value] if name in named else value for name, value in written["lookahead"].items()}
    gone = {"max_atoms": 100_000_000, "max_root_actions": 20_000, "derived_novelty": True}
    assert {name: older.pop(name, value) for name, value in gone.items()} == gone
    assert {name: found[name] for name in older} == older
    assert {type(value) for value in older.values()} <= {bool, int, str, type(None)}
    defaults = {**asdict(TreeSpec()), **asdict(PlaySpec())}
    others = found.keys() - older.keys()
    assert {name: found[name] for name in others} == {name: defaults[name] for name in others}


def test_some_shipped_files_look_for_dead_ends_and_some_do_not() -> None:
    """So that the test above sees both words."""
    assert {read_description(path).play.dead_ends for path in OF_VERSION_1} == {True, False}


def test_a_file_of_version_1_comes_back_as_one_of_version_2(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(OLDER)
    save_policy(tmp_path / "new", load_policy_file(tmp_path / "old"))
    _, description, _ = split((tmp_path / "new").read_bytes())
    assert description["version"] == VERSION == 2
    assert {*description["lookahead"]} == {*names_of(TreeSpec)}
    assert {*description["play"]} == {*names_of(PlaySpec)}
    assert read_description(tmp_path / "new") == read_description(tmp_path / "old")


def test_every_field_of_trees_and_play_is_kept(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(OLDER)
    trees = TreeSpec("iw", 1, 7, "also", "all", False, False, True)
    play = PlaySpec(True, True, False, None, 3, 4, 5, 6)
    specs = (trees, play)
    same = {entry.name for spec in specs for entry in fields(spec) if getattr(spec, entry.name) == entry.default}
    assert same == {"width", "goals_in_sight"}
    for rules in (play, PlaySpec(goals_in_sight=2)):
        file = replace(load_policy_file(tmp_path / "old"), lookahead=trees, play=rules)
        save_policy(tmp_path / "new", file)
        for found in (read_description(tmp_path / "new"), load_policy_file(tmp_path / "new")):
            assert (found.lookahead, found.play) == (trees, rules)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lookahead": {"colour": 3}}, "lookahead: unknown field 'colour'"),
        ({"lookahead": {"take_goals": True, "goals": 1}}, "lookahead: unknown field 'goals'"),
        ({"lookahead": {"dead_ends": "all"}}, "play.dead_ends: expected true or false"),
        ({"lookahead": {"max_atoms": 3}}, "made with play.max_atoms=3, which this version does not have"),
        ({"lookahead": {"max_better": "few"}}, "play.max_better: expected a whole number"),
        ({"lookahead": []}, "lookahead: expected an object, found a list"),
        ({"play": {}}, "unknown field 'play'"),
    ],
)
def test_damaged_files_of_version_1(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    header, description, tensors = split(OLDER)
    assert message in refused(tmp_path / "p", join(header, {**description, **changed}, tensors))


def test_fields_of_earlier_versions_are_left_out(tmp_path: Path) -> None:
    """With the value that all networks have now; whole numbers are floats."""
    header, description, tensors = split()
    assert {"aggregation", "sharpness", "norm"} <= description["model"].keys()
    wanted = read_description(ROOT / "examples" / "blocksworld" / "untrained.safetensors").model
    assert wanted == ModelSpec(embedding=8)
    description["model"]["sharpness"] = 12
    (tmp_path / "p").write_bytes(join(header, description, tensors))
    assert read_description(tmp_path / "p").model == wanted
    for key in ("aggregation", "sharpness", "norm"):
        del description["model"][key]
    (tmp_path / "p").write_bytes(join(header, description, tensors))
    assert read_description(tmp_path / "p").model == wanted


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    for damage in (b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\x00\x00\x80\xff"):  # NaN, infinity and its opposite
        (tmp_path / "p").write_bytes(SOUND[:-4] + damage)
        with pytest.raises(PolicyError, match=r"weights \S+: some are not finite numbers"):
            load_policy_file(tmp_path / "p")


def headers() -> Iterator[tuple[str, bytes, str]]:
    """Files with damaged headers."""
    header, description, tensors = split()
    first = next(name for name in header if name != METADATA)
    entry = header[first]
    text = json.dumps(header)
    yield "empty", b"", "0 bytes, fewer than its header"
    yield "seven bytes", SOUND[:7], "7 bytes, fewer than its header"
    yield "half a header", SOUND[:300], "fewer than its header"
    yield "long header", (1 << 62).to_bytes(8, "little") + SOUND[8:], "fewer than its header"
    yield "half of the weights", SOUND[:-1000], " bytes, expected "
    yield "more than weights", SOUND + b"0", " bytes, expected "
    yield "not UTF-8", with_header(b"\xff" + text.encode()[1:], tensors), "not UTF-8 (byte 1)"
    yield "not JSON", with_header(b"{" + text.encode(), tensors), "not JSON: "
    yield "a list", with_header([], tensors), "expected a JSON object, found a list"
    yield "deep", with_header(b'{"a":' * 100_000, tensors), "too deeply nested"
    yield "rather deep", with_header(b'{"a":' * 50 + b"1" + b"}" * 50, tensors), "nested more than 32 deep"
    yield "long number", with_header(b'{"a":' + b"1" * 5000 + b"}", tensors), "not JSON: "
    yield "metadata a list", with_header({**header, METADATA: []}, tensors), "the metadata is not an object of texts"
    yield "metadata of numbers", with_header({**header, METADATA: {KEY: 1}}, tensors), "not an object of texts"
    yield "description a list", join(header, [], tensors), "description: expected a JSON object, found a list"
    yield "description not JSON", join(header, "{", tensors), "description: not JSON"
    yield "description twice", join(header, '{"version": 1, "version": 1}', tensors), "key 'version' is given twice"
    yield "surrogate", join(header, {**description, "record": {"a": "\ud800"}}, tensors), "a text is not Unicode"
    yield "deep record", join(header, {**description, "record": nested(40)}, tensors), "nested more than 32 deep"
    yield "no description", with_header({**header, METADATA: {}}, tensors), f"it has no '{KEY}' description"
    for name, change in {
        "whole numbers": {"dtype": "I32"},
        "no dtype": {"dtype": 4},
        "negative shape": {"shape": [-1, *entry["shape"]]},
        "giant shape": {"shape": [10**9, 10**9]},
        "shape of texts": {"shape": ["a"]},
        "offsets": {"data_offsets": [0, 10**12]},
        "no offsets": {"data_offsets": []},
    }.items():
        message = "found I32" if name == "whole numbers" else f"entry of tensor '{first}' is wrong"
        yield name, with_header({**header, first: {**entry, **change}}, tensors), message
    shifted = {**entry, "data_offsets": [entry["data_offsets"][0] + 4, entry["data_offsets"][1] + 4]}
    yield "overlap", with_header({**header, first: shifted}, tensors), "the tensors overlap"
    yield "unknown weights", with_header({**header, "x": none(header)}, tensors), "weights 'x': unknown"
    fewer = {name: value for name, value in header.items() if name != "norm.bias"} | {"x": header["norm.bias"]}
    yield "missing weights", with_header(fewer, tensors), "weights norm.bias: missing"


def nested(depth: int) -> object:
    """An object nested so deep."""
    return {"a": nested(depth - 1)} if depth else {}


def none(header: dict[str, Any]) -> dict[str, object]:
    """An entry of a tensor without numbers at the end of the file."""
    end = max(entry["data_offsets"][1] for name, entry in header.items() if name != METADATA)
    return {"dtype": "F32", "shape": [0], "data_offsets": [end, end]}


@pytest.mark.parametrize(("content", "message"), [pytest.param(c, m, id=name) for name, c, m in headers()])
def test_damaged_headers(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in refused(tmp_path / "p", content)


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    """A pipe is not waited for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "/dev/zero", "/dev/null"):
        for read in READERS:
            with pytest.raises(PolicyError, match="not a plain file"):
                read(tmp_path / name)
    with pytest.raises(PolicyError, match="not a policy file, or damaged"):
        read_description("a\0b")


# -- any damage at all -----------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([10**9, 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def places(value: object) -> list[tuple[Any, Any]]:
    """Every place in nested lists and objects, as container and key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in [(value, key), *places(inner)]]


def mutate(draw: Callable[[Any], Any], value: dict[str, Any]) -> None:
    """Replaces, removes or adds a few values anywhere."""
    for _ in range(draw(st.integers(1, 3))):
        found = places(value)
        if not found:
            return
        container, key = found[draw(st.integers(0, len(found) - 1))]
        how = draw(st.sampled_from(["replace", "remove", "add"]))
        if how == "replace":
            container[key] = draw(JSON)
        elif how == "remove":
            del container[key]
        elif isinstance(container, dict):
            container[draw(st.text(max_size=6))] = draw(JSON)
        else:
            container.insert(key, draw(JSON))


def check_reading(path: Path, content: bytes) -> None:
    """Reads a file that may be damaged: a policy or a `PolicyError` comes of it, soon."""
    path.write_bytes(content)
    before = time.process_time()
    for read in READERS:
        with suppress(PolicyError):
            read(path)
    assert time.process_time() - before < 2


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(data=st.data())
def test_any_description(tmp_path: Path, data: st.DataObject) -> None:
    header, description, tensors = split()
    mutate(data.draw, description)
    check_reading(tmp_path / "p", join(header, description, tensors))


@FUZZ
@given(data=st.data())
def test_any_header(tmp_path: Path, data: st.DataObject) -> None:
    header, _, tensors = split()
    mutate(data.draw, header)
    check_reading(tmp_path / "p", with_header(header, tensors))


@FUZZ
@given(data=st.data())
def test_any_bytes(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes changed, cut out or put in, most of them in the header."""
    content = bytearray(SOUND)
    length = 8 + int.from_bytes(SOUND[:8], "little")
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, length) | st.integers(0, len(content)))
        end = place + data.draw(st.integers(0, 4))
        content[place:end] = data.draw(st.binary(max_size=4))
    check_reading(tmp_path / "p", bytes(content))
