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
from saltus.learn.trainer import Trainer
from saltus.task import Task

SETTINGS = ["episodes=3", "steps=2", "batch=4", "layers=2", "embedding=8", "horizon=5", "validate_every=2", "replay=20"]
SETTINGS += ["average=0.9", "target_every=2", "validation_jumps=3", "larger_problems=0"]

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
    other = Trainer(load_configuration("tiny", [*SETTINGS, "cost=actions"]), tasks()[:3], tasks()[3:], seed=2)
    with pytest.raises(InputError, match=r"original: expected task, final, .*, cost"):
        other.set_state(tensors, values)


def set_value(*path: str | int, value: object) -> Callable[[Tensors, Values], None]:
    def change(tensors: Tensors, values: Values) -> None:
        part: Any = values
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value

    return change


def set_number(name: str, value: float, place: int = 3) -> Callable[[Tensors, Values], None]:
    def change(tensors: Tensors, values: Values) -> None:
        tensors[name].reshape(-1)[place] = value

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

DAMAGE: list[tuple[Callable[[Tensors, Values], None], str]] = [
    (set_value("episode", value=-1), "episode: expected 0 or more, found -1"),
    (set_value("episode", value=2.5), "episode: expected a whole number, found 2.5"),
    (set_value("episode", value=None), "episode: expected a whole number, found null"),
    (set_value("episode", value=1), "validations.0.episode: 2, expected 0 to 1"),
    (set_value("samples", value=10**30), "samples: expected 0 or more"),
    (set_value("problems", value="other"), "the problems are not those"),
    (set_value("random", value=[]), "random.problems: not the state of a random generator"),
    (set_value("random", "replay", value={}), "random.replay: not the state"),
    (set_value("random", "search", "state", "inc", value=2), "random.search: not the state"),
    (set_value("random", "search", "state", "state", value=-1), "random.search: not the state"),
    (set_value("random", "layers", "uinteger", value=1 << 32), "random.layers: not the state"),
    (set_value("random", "layers", "bit_generator", value="MT19937"), "random.layers: not the state"),
    (set_value("validations", value={}), "validations: expected a list, found an object"),
    (set_value("validations", 0, value=[]), "validations.0: expected an object, found a list"),
    (set_value("validations", 0, "held_out", "solved", value=99), "validations.0: solved 99 of 1 problems"),
    (set_value("validations", 0, "td_error", value=nan), "validations.0.td_error: expected a finite number"),
    (set_value("best", value=7), "best: there is no validation of episode 7"),
    (set_value("td_errors", value=[nan]), "td_errors.0: expected a finite number"),
    (set_value("hindsight", value=None), "hindsight: expected an object, found null"),
    (set_value("hindsight", "next", value=20), "hindsight.next: 20, but the store has 20 transitions"),
    (set_value("hindsight", "next", value=-1), "hindsight.next: -1"),
    (set_value("original", "next", value=19), "original.next: 19"),
    (set_value("hindsight", "highest", value=nan), "hindsight.highest: expected a finite number"),
    (set_value("hindsight", "highest", value=0), "hindsight.highest: 0.0, expected more than 0"),
    (set_number("hindsight.task", 3), "hindsight.task: expected numbers of problems, 0 to 2"),
    (set_number("hindsight.task", -1), "hindsight.task: expected numbers of problems"),
    (set_number("hindsight.final", 3), "hindsight.final: expected 0, 1, 2"),
    (set_number("hindsight.bound", inf), "hindsight.bound: expected finite numbers"),
    (set_number("hindsight.cost", 0), "hindsight.cost: expected finite numbers above 0"),
    (set_number("hindsight.cost", nan), "hindsight.cost: expected finite numbers above 0"),
    (set_tensor("hindsight.cost", lambda t: t[:-1]), "hindsight.cost: 19 numbers for 20 transitions"),
    (set_value("validations", 0, "held_out", "cost", value=-1), "validations.0: solved"),
    (set_number("hindsight.priority", nan), "hindsight.priority: expected finite numbers above 0"),
    (set_number("hindsight.priority", -1), "hindsight.priority: expected finite numbers above 0"),
    (set_number("hindsight.state", -1), "hindsight.state: a number that is no atom of problem"),
    (set_number("hindsight.successor", 2**61), "hindsight.successor: a number that is no atom of problem"),
    (set_number("hindsight.state_offset", 10**6), "hindsight.state_offset: not the places of"),
    (set_number("hindsight.goal_positive_offset", -1, 0), "hindsight.goal_positive_offset: not the places of"),
    (set_tensor("hindsight.task", lambda t: t[:-1]), "hindsight.next: "),
    (set_tensor("hindsight.bound", lambda t: t[:-1]), "hindsight.bound: 19 numbers for 20 transitions"),
    (set_tensor("hindsight.bound", lambda t: t[:, None]), "hindsight.bound: expected torch.float64 numbers"),
    (set_tensor("hindsight.task", lambda t: t.double()), "hindsight.task: expected torch.int64 numbers"),
    (set_tensor("hindsight.tree_negative", lambda t: torch.zeros(1, dtype=t.dtype)), "tree_negative_offset: not the"),
    (without("hindsight.state"), "hindsight: expected task, final"),
    (without("learner.network.update.first.bias"), "learner.network.update.first.bias: missing"),
    (without("learner.optimiser.0.step"), "learner.optimiser.0.step: missing"),
    (set_number("learner.network.update.first.bias", nan), "learner.network.update.first.bias: some are not finite"),
    (set_number("learner.averaged.update.first.bias", inf), "learner.averaged.update.first.bias: some are not"),
    (set_number("learner.optimiser.0.exp_avg_sq", -1), "learner.optimiser.0.exp_avg_sq: some are negative"),
    (set_tensor("learner.network.update.first.bias", lambda t: t[:-1]), "expected torch.float32 [16], found"),
    (set_tensor("learner.network.update.first.bias", lambda t: t.int()), "expected torch.float32 [16], found"),
    (lambda tensors, values: tensors.update(x=torch.zeros(1)), "x: unknown"),
    (lambda tensors, values: tensors.update({"learner.x": torch.zeros(1)}), "learner.x: unknown"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGE)
def test_the_message_names_the_field(damage: Callable[[Tensors, Values], None], message: str) -> None:
    tensors, values = sound()
    damage(tensors, values)
    with pytest.raises(InputError) as caught:
        fresh().set_state(tensors, values)
    assert message in str(caught.value)


def test_atoms_that_no_action_changes_are_refused() -> None:
    """Static atoms are not part of states."""
    static = small_tasks("transport", 2)
    trainer = Trainer(load_configuration("tiny", SETTINGS), static, seed=2)
    next(iter(trainer.train()))
    tensors, values = trainer.get_state()
    number = next(i for i, fluent in enumerate(static[0].fluent.tolist()) if not fluent)
    tensors["hindsight.state"][:] = int(static[0].code_offset[number])
    with pytest.raises(InputError, match=r"hindsight\.state: .* that no action changes"):
        Trainer(load_configuration("tiny", SETTINGS), static, seed=2).set_state(tensors, values)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_damage(data: st.DataObject) -> None:
    """A state is refused, or the run goes on with it; there is no other exception than our own, not even later."""
    tensors, values = sound()
    if data.draw(st.booleans()):
        mutate(data.draw, values)
    for _ in range(data.draw(st.integers(0, 2))):
        name = data.draw(st.sampled_from(sorted(tensors)))
        numbers = tensors[name].reshape(-1)
        if len(numbers):
            place = data.draw(st.integers(0, len(numbers) - 1))
            whole = st.integers(-2, 60) | st.integers(-(2**63), 2**63 - 1)
            numbers[place] = data.draw(whole if not numbers.is_floating_point() else st.floats(width=32))
    trainer = fresh()
    with suppress(SaltusError):
        trainer.set_state(tensors, values)
        list(trainer.train())


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
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    values = json.loads(header["__metadata__"]["saltus-run"])
    for change, message in {
        '{"episode": 1': "not JSON",
        json.dumps({**values, "episode": -1}): "episode: expected 0 or more",
        json.dumps({**values, "version": 9}): "made by another version",
        json.dumps({**values, "log_bytes": -1}): "log_bytes: expected 0 or more",
        json.dumps({**values, "log_bytes": "many"}): "log_bytes: expected a whole number",
        json.dumps({**values, "elapsed": nan}): "elapsed: expected a finite number",
        json.dumps({**values, "elapsed": -3}): "elapsed: expected 0 or more",
        json.dumps([]): "expected a JSON object",
    }.items():
        save_file(load_file(path), path, {"saltus-run": change})
        found = refused(suite, run)
        assert found.startswith(f"{path}: ")
        assert message in found
    for damaged in (content[:-9], content[:40], b"", b"\0" * 100):
        path.write_bytes(damaged)
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
