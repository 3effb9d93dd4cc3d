"""Saved states that were damaged: an `InputError` that names the field, and nothing is overwritten."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from tests.learn.small import small_tasks
from tests.model.test_schema import mutate

from saltus.errors import InputError, SaltusError
from saltus.learn import load_configuration, open_run
from saltus.learn.folder import RunFolder
from saltus.learn.trainer import Trainer
from saltus.task import Task

SETTINGS = ["episodes=3", "steps=2", "batch=4", "layers=2", "embedding=8", "horizon=5", "validate_every=2", "replay=20"]
SETTINGS += ["average=0.9", "larger_problems=0"]

Tensors = dict[str, torch.Tensor]
Values = dict[str, Any]


@cache
def tasks() -> list[Task]:
    return small_tasks("blocksworld", 4)


def fresh() -> Trainer:
    """A trainer at its beginning."""
    return Trainer(load_configuration("tiny", SETTINGS), tasks()[:3], tasks()[3:], seed=2)


@cache
def _sound() -> tuple[Tensors, Values]:
    trainer = fresh()
    for event in trainer.train():
        if event.kind == "validation":
            break
    return trainer.get_state()


def sound() -> tuple[Tensors, Values]:
    """A copy of a state after two episodes and a validation, as it is read from a file."""
    tensors, values = _sound()
    return {name: value.clone() for name, value in tensors.items()}, json.loads(json.dumps(values))


def test_a_sound_state_is_accepted() -> None:
    trainer = fresh()
    trainer.set_state(*sound())
    assert trainer.episode == 2
    assert len(trainer.hindsight) == 20


def test_in_older_states_every_jump_costs_1() -> None:
    tensors, values = sound()
    for name in ("original", "hindsight"):
        del tensors[f"{name}.cost"]
    trainer = fresh()
    trainer.set_state(tensors, values)
    assert {entry.cost for entry in trainer.hindsight.transitions} == {1.0}


def test_older_states_have_other_generators() -> None:
    tensors, values = sound()
    values["random"]["starts"] = values["random"].pop("subgoals")
    values["plan_starts"] = {"success": 0.0, "distance": []}
    trainer = fresh()
    trainer.set_state(tensors, values)
    list(trainer.train())


def set_value(*path: str | int, value: object) -> Callable[[Tensors, Values], None]:
    def change(tensors: Tensors, values: Values) -> None:
        part: Any = values
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value

    return change


def set_tensor(name: str, make: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Tensors, Values], None]:
    def change(tensors: Tensors, values: Values) -> None:
        tensors[name] = make(tensors[name])

    return change


def without(name: str) -> Callable[[Tensors, Values], None]:
    def change(tensors: Tensors, values: Values) -> None:
        del tensors[name]

    return change


nan, inf = float("nan"), float("inf")

DAMAGE: list[tuple[Callable[[Tensors, Values], None], type[Exception], str]] = [
    (set_value("problems", value="other"), InputError, "the problems are not those"),
    (without("hindsight.state"), KeyError, "state"),
    (set_tensor("hindsight.task", lambda t: torch.cat([t, t])), IndexError, "out of bounds"),
    (without("learner.network.update.first.bias"), RuntimeError, "update.first.bias"),
    (set_tensor("learner.network.update.first.bias", lambda t: t[:-1]), RuntimeError, "size mismatch"),
    (set_tensor("learner.optimiser.0.exp_avg", lambda t: t[:-1]), ValueError, "optimiser.0.exp_avg: its shape is"),
    (lambda tensors, values: tensors.update({"learner.network.x": torch.zeros(1)}), RuntimeError, "Unexpected key"),
]


@pytest.mark.parametrize(("damage", "error", "message"), DAMAGE)
def test_what_does_not_fit_the_run_is_noticed(
    damage: Callable[[Tensors, Values], None], error: type[Exception], message: str
) -> None:
    tensors, values = sound()
    damage(tensors, values)
    with pytest.raises(error, match=message):
        fresh().set_state(tensors, values)


# -- on the disk -----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, suite: Path) -> Path:
    """The folder of a run that is done."""
    out = tmp_path / "run"
    list(open_run(suite, out, config="tiny", settings=SETTINGS, device="cpu", threads=1).events())
    return out


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four problems."""
    from saltus.domains.suite import write_suite

    folder = tmp_path_factory.mktemp("blocks")
    write_suite(folder, "blocksworld", "training", 40)
    for path in sorted((folder / "training").glob("*.pddl"))[4:]:
        path.unlink()
    return folder


def refused(suite: Path, out: Path) -> str:
    """The message with which a run is not resumed; nothing in its folder is changed."""
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(InputError) as caught:
        open_run(suite, out, resume=True, device="cpu", threads=1)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    return str(caught.value)


def test_a_damaged_state_is_named(run: Path, suite: Path) -> None:
    path = run / "state.safetensors"
    content = path.read_bytes()
    values, check = metadata_of(path)
    for change, message in {
        '{"episode": 1': "not JSON",
        json.dumps({**values, "episode": 1}): "its checksum is another one",
        json.dumps({**values, "version": 1}): "its checksum is another one",
        json.dumps({**values, "version": 9}): "made by another version",
        json.dumps([]): "expected a JSON object",
    }.items():
        save_file(load_file(path), path, {"saltus-run": change, "saltus-checksum": check})
        found = refused(suite, run)
        assert found.startswith(f"{path}: ")
        assert message in found
    save_file(load_file(path), path, {"saltus-run": json.dumps(values)})
    assert "its checksum is another one" in refused(suite, run)
    for damaged in (content[:-9], content[:40], b"", b"\0" * 100):
        path.write_bytes(damaged)
        assert refused(suite, run).startswith(f"{path}: damaged: ")


def metadata_of(path: Path) -> tuple[Values, str]:
    """Plain values and checksum of a saved state."""
    content = path.read_bytes()
    metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    return json.loads(metadata["saltus-run"]), metadata["saltus-checksum"]


def test_any_other_byte_is_found(run: Path, suite: Path) -> None:
    path = run / "state.safetensors"
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    for place in (start, (start + len(content)) // 2, len(content) - 1):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert "its checksum is another one" in refused(suite, run)


@pytest.mark.parametrize("is_checked", [True, False])
def test_any_damage(run: Path, suite: Path, is_checked: bool) -> None:
    """A state is refused with our own error, or it is what was saved. Without a checksum, as in earlier versions, plain
    values that cannot be read are refused as well."""
    path = run / "state.safetensors"
    sound, check = metadata_of(path)
    tensors = load_file(path)
    if not is_checked:
        sound["version"] = 1
    trainer = open_run(suite, run, resume=True, device="cpu", threads=1)
    trainer.output.close()

    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def damaged(data: st.DataObject) -> None:
        values = copy.deepcopy(sound)
        mutate(data.draw, values)
        metadata = {"saltus-run": json.dumps(values), **({"saltus-checksum": check} if is_checked else {})}
        save_file(tensors, path, metadata)
        with suppress(SaltusError):
            RunFolder(run).load_state(trainer.trainer)
            assert values == sound or not is_checked

    damaged()


def test_states_of_earlier_versions_have_no_checksum(run: Path, suite: Path) -> None:
    path = run / "state.safetensors"
    values, _ = metadata_of(path)
    save_file(load_file(path), path, {"saltus-run": json.dumps({**values, "version": 1})})
    again = open_run(suite, run, resume=True, settings=["episodes=4"], device="cpu", threads=1)
    assert again.trainer.episode == 3
    assert [event.episode for event in again.events() if event.kind == "episode"] == [4]
    assert metadata_of(path)[0]["version"] == 2
    for key, value in (("log_bytes", -1), ("elapsed", -3), ("random", 3), ("validations", [3]), ("hindsight", None)):
        save_file(load_file(path), path, {"saltus-run": json.dumps({**values, "version": 1, key: value})})
        assert refused(suite, run).startswith(f"{path}: damaged: ")


CONFIGURATIONS: list[tuple[Callable[[Values], object], str]] = [
    (lambda values: values.update(seed="1"), 'seed: expected a whole number, found "1"'),
    (lambda values: values.update(seed=-1), "seed is -1, expected 0 to"),
    (lambda values: values.update(seed=2**70), f"seed is {2**70}, expected 0 to"),
    (lambda values: values.update(problems=4), "problems: expected a text, found 4"),
    (lambda values: values.update(model=[]), "model: expected an object, found a list"),
    (lambda values: values.update(other={}), "unknown section 'other'"),
    (lambda values: values.update(start=[]), "start: expected an object, found a list"),
    (lambda values: values.update(start={"policy": 3, "digest": ""}), "start.policy: expected a text, found 3"),
    (lambda values: values.update(start={"policy": "p"}), "start: "),
    (lambda values: values["training"].update(replay=10**18), "training: replay is"),
    (lambda values: values["training"].update(batch=10**400), "training: batch is 1000"),
    (lambda values: values["model"].update(layers=2.5), "model: layers is 2.5, expected a whole number"),
    (lambda values: values.pop("seed"), "seed: expected a whole number, found null"),
    (lambda values: values.update(version=[]), "made by another version"),
]


@pytest.mark.parametrize(("change", "message"), CONFIGURATIONS)
def test_a_damaged_configuration_is_named(
    run: Path, suite: Path, change: Callable[[Values], object], message: str
) -> None:
    path = run / "config.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    found = refused(suite, run)
    assert found.startswith(f"{path}: ")
    assert message in found


def test_any_configuration(run: Path, suite: Path) -> None:
    """A run is refused with our own error, or opened."""
    path = run / "config.json"
    sound = json.loads(path.read_text())

    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        values = copy.deepcopy(sound)
        mutate(data.draw, values)
        path.write_text(json.dumps(values))
        with suppress(SaltusError):
            open_run(suite, run, resume=True, device="cpu", threads=1).output.close()

    check()
