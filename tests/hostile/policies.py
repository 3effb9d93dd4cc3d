"""Policy files and training runs that were damaged or made up."""

from __future__ import annotations

import atexit
import json
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from safetensors.torch import load_file, save_file
from tests.hostile.case import BLOCKS, Case, Check, nothing

SOUND = (BLOCKS / "untrained.safetensors").read_bytes()
NAME = "p.safetensors"
PLAN = f"plan {{domain}} {{problem}} --policy {NAME}"
SHOW = f"policies ./{NAME}"
LEARN = "train {suite} --out run --resume --device cpu --threads 1"

Setup = Callable[[Path], Check | None]


def content(data: bytes) -> Setup:
    """A policy file with these bytes."""

    def setup(folder: Path) -> None:
        (folder / NAME).write_bytes(data)

    return setup


def changed(change: Callable[[dict[str, Any]], object], name: str = NAME) -> Setup:
    """A policy file with a changed description."""

    def setup(folder: Path) -> None:
        length = int.from_bytes(SOUND[:8], "little")
        header = json.loads(SOUND[8 : 8 + length])
        description = json.loads(header["__metadata__"]["saltus-policy"])
        change(description)
        header["__metadata__"]["saltus-policy"] = json.dumps(description)
        text = json.dumps(header).encode()
        (folder / name).write_bytes(len(text).to_bytes(8, "little") + text + SOUND[8 + length :])

    return setup


def described(text: str) -> Setup:
    """A policy file whose description is this text."""

    def setup(folder: Path) -> None:
        (folder / NAME).write_bytes(SOUND)
        save_file(load_file(folder / NAME), folder / NAME, {"saltus-policy": text})

    return setup


def weights(change: Callable[[dict[str, Any]], object]) -> Setup:
    """A policy file with changed weights."""

    def setup(folder: Path) -> None:
        header = json.loads(SOUND[8 : 8 + int.from_bytes(SOUND[:8], "little")])
        (folder / NAME).write_bytes(SOUND)
        tensors = load_file(folder / NAME)
        change(tensors)
        save_file(tensors, folder / NAME, header["__metadata__"])

    return setup


def numbered(last: Setup) -> Setup:
    """A sound policy DK.1 and a damaged one, DK.2; the plan comes of the first."""

    def setup(folder: Path) -> Check:
        (folder / "dk.1").write_bytes(SOUND)
        last(folder)
        (folder / NAME).rename(folder / "dk.2")

        def check() -> None:
            assert (folder / "plan").read_text().startswith("(")

        return check

    return setup


def pipe(folder: Path) -> None:
    """A FIFO in place of the policy."""
    os.mkfifo(folder / NAME)


def inner_folder(folder: Path) -> None:
    """A folder in place of the policy."""
    (folder / NAME).mkdir()
    (folder / NAME / "policy.safetensors").mkdir()


# -- runs ------------------------------------------------------------------------------------------------------------


@cache
def trained() -> Path:
    """The folder of a short run."""
    from saltus.learn import open_run

    place = mkdtemp(prefix="saltus-hostile-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    out = Path(place) / "run"
    settings = ["episodes=1", "steps=2", "batch=4", "layers=2", "embedding=8", "larger_problems=0"]
    settings += ["horizon=5"]
    list(open_run(BLOCKS, out, config="tiny", settings=settings, device="cpu", threads=1).events())
    return out


def run(damage: Callable[[Path], object]) -> Setup:
    """A damaged run, which stays as it is."""

    def setup(folder: Path) -> Check:
        shutil.copytree(trained(), folder / "run")
        damage(folder / "run")
        before = contents(folder / "run")

        def check() -> None:
            assert contents(folder / "run") == before

        return check

    return setup


def contents(folder: Path) -> dict[Path, bytes]:
    """Bytes of all files of a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def state(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Setup:
    """A run with a changed state: tensors and plain values."""

    def damage(folder: Path) -> None:
        path = folder / "state.safetensors"
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        values = json.loads(header["__metadata__"]["saltus-run"])
        tensors = load_file(path)
        change(tensors, values)
        save_file(tensors, path, {"saltus-run": json.dumps(values), "saltus-checksum": "0"})

    return run(damage)


def first(name: str, value: float) -> Setup:
    """A run whose state has another first number."""

    def change(tensors: dict[str, Any], values: dict[str, Any]) -> None:
        tensors[name][0] = value

    return state(change)


def config(change: Callable[[dict[str, Any]], object]) -> Setup:
    """A run with a changed configuration."""

    def damage(folder: Path) -> None:
        values = json.loads((folder / "config.json").read_text())
        change(values)
        (folder / "config.json").write_text(json.dumps(values))

    return run(damage)


def cut(name: str, size: int) -> Setup:
    """A run in which a file has only its first bytes."""
    return run(lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size]))


GIANT = changed(lambda d: d["model"].update(embedding=10**9))
LAYERS = changed(lambda d: d["model"].update(layers=4.5))
NAN = float("nan")

CASES = [
    Case("empty", content(b""), PLAN, 31, "p.safetensors: not a policy file, or damaged: the file has 0 bytes"),
    Case("no header", content(b"\0" * 7), PLAN, 31, "fewer than its header"),
    Case("endless header", content(b"\xff" * 8 + SOUND[8:]), SHOW, 31, "fewer than its header"),
    Case("half a file", content(SOUND[: len(SOUND) // 2]), PLAN, 31, "bytes, expected "),
    Case("not UTF-8", content(SOUND[:8] + b"\xff" + SOUND[9:]), SHOW, 31, "not UTF-8"),
    Case("text", content(b"(define (domain x))\n"), SHOW, 31, "fewer than its header"),
    Case("NaN weight", content(SOUND[:-4] + b"\0\0\xc0\x7f"), PLAN, 31, "some are not finite numbers"),
    Case("missing policy", nothing, PLAN, 31, "p.safetensors: cannot be read: no such file"),
    Case("FIFO as policy", pipe, PLAN, 31, "p.safetensors: not a policy file, or damaged: not a plain file"),
    Case("FIFO shown", pipe, SHOW, 31, "not a plain file"),
    Case("folder as policy", inner_folder, SHOW, 31, "holds no policy.safetensors"),
    Case("device as policy", nothing, "policies /dev/zero", 31, "not a plain file"),
    Case("description a list", described("[]"), SHOW, 31, "description: expected a JSON object, found a list"),
    Case("description twice", described('{"version": 1, "version": 1}'), SHOW, 31, "key 'version' is given twice"),
    Case("description deep", described('{"a":' * 20000 + "1" + "}" * 20000), SHOW, 31, "too deeply nested"),
    Case("model a list", changed(lambda d: d.update(model=[])), PLAN, 31, "model: expected an object, found a list"),
    Case("layers 4.5", LAYERS, PLAN, 31, "model.layers: expected a whole number, found 4.5"),
    Case("layers 10^9", changed(lambda d: d["model"].update(layers=10**9)), SHOW, 31, "expected at most 1,000"),
    Case("plan with 10^9 layers", changed(lambda d: d["model"].update(layers=10**9)), PLAN, 31, "at most 1,000"),
    Case("lost weights", weights(lambda t: t.pop("norm.bias")), PLAN, 31, "damaged: weights norm.bias: missing"),
    Case("short weights", weights(lambda t: t.update({"norm.bias": t["norm.bias"][1:]})), PLAN, 31, "norm.bias: exp"),
    Case("infinite weight", content(SOUND[:-4] + b"\0\0\x80\x7f"), PLAN, 31, "some are not finite numbers"),
    Case("giant embedding", GIANT, PLAN, 31, "embedding is 1000000000, expected at most 1,024"),
    Case("sharpness NaN", changed(lambda d: d["model"].update(sharpness=NAN)), PLAN, 31, "this version does not have"),
    Case("vocabulary", changed(lambda d: d["vocabulary"].append(7)), SHOW, 31, "vocabulary: bad relation"),
    Case("another vocabulary", changed(lambda d: d["vocabulary"][0].__setitem__(0, "x")), PLAN, 31, "vocabulary: not"),
    Case("signature", changed(lambda d: d["domain"].update(schemas=[""])), PLAN, 31, "domain.schemas: expected a line"),
    Case("odd record", changed(lambda d: d.update(record={"validation": 3, "start": [1]})), SHOW, 0, "aiw-ad"),
    Case("escapes in a record", changed(lambda d: d.update(record={"domain": "\x1b[31m"})), SHOW, 0, "aiw-ad"),
    Case("markup in a record", changed(lambda d: d.update(record={"domain": "x[/red]"})), SHOW, 0, "x[/red]"),
    Case("half a surrogate", changed(lambda d: d.update(record={"a": "\ud800"})), SHOW, 31, "a text is not Unicode"),
    Case(
        "ipc layers", numbered(LAYERS), "ipc-plan dk {domain} {problem} plan", 0, "dk.2: not a policy file, or damaged"
    ),
    Case("ipc list", numbered(described("[]")), "ipc-plan dk {domain} {problem} plan", 0, "found a list"),
    Case("ipc giant", numbered(GIANT), "ipc-plan dk {domain} {problem} plan", 0, "expected at most 1,024"),
    Case("ipc FIFO", numbered(pipe), "ipc-plan dk {domain} {problem} plan", 0, "dk.2: not a policy file, or damaged"),
    Case("episode -1", state(lambda t, v: v.update(episode=-1)), LEARN, 31, "damaged: its checksum is another"),
    Case("episode a text", state(lambda t, v: v.update(episode="2")), LEARN, 31, "damaged: its checksum is another"),
    Case("task 99", first("hindsight.task", 99), LEARN, 31, "damaged: its checksum is another"),
    Case("task -1", first("hindsight.task", -1), LEARN, 31, "damaged: its checksum is another"),
    Case("next", state(lambda t, v: v["hindsight"].update(next=10**6)), LEARN, 31, "damaged: its checksum is another"),
    Case("NaN priority", first("hindsight.priority", NAN), LEARN, 31, "damaged: its checksum is another"),
    Case("foreign atom", first("hindsight.state", 2**60), LEARN, 31, "damaged: its checksum is another"),
    Case("random", state(lambda t, v: v.update(random=3)), LEARN, 31, "damaged: its checksum is another"),
    Case("lost array", state(lambda t, v: t.pop("hindsight.bound")), LEARN, 31, "damaged: its checksum is another"),
    Case("log size", state(lambda t, v: v.update(log_bytes=-4)), LEARN, 31, "damaged: its checksum is another"),
    Case("state cut", cut("state.safetensors", 5000), LEARN, 31, "state.safetensors: damaged"),
    Case("config cut", cut("config.json", 50), LEARN, 31, "config.json: damaged: not JSON"),
    Case("config a list", run(lambda f: (f / "config.json").write_text("[]")), LEARN, 31, "expected a JSON object"),
    Case("seed a text", config(lambda v: v.update(seed="x")), LEARN, 31, "seed: expected a whole number"),
    Case("seed 2^70", config(lambda v: v.update(seed=2**70)), LEARN, 31, "config.json: damaged: seed is"),
    Case("replay 10^18", config(lambda v: v["training"].update(replay=10**18)), LEARN, 31, "training: replay is"),
    Case("layers a text", config(lambda v: v["model"].update(layers="x")), LEARN, 31, "model: layers is 'x'"),
]
