"""Everything but training and GPUs works where PyTorch is not installed, and does not import it where it is.

The commands run in processes in which importing PyTorch fails; their workers inherit that.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

from saltus.policy.exit_codes import ExitCode

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
sys.modules.pop("torch", None)
"""
"""A `sitecustomize` module, which Python imports as it starts."""

BLOCKS = ROOT / "examples" / "blocksworld"
FILES = {
    "domain": BLOCKS / "domain.pddl",
    "problem": BLOCKS / "p03.pddl",
    "policy": BLOCKS / "untrained.safetensors",
    "plan": BLOCKS / "p100.plan",
    "large": BLOCKS / "p100.pddl",
    "records": ROOT / "examples" / "records" / "goal-count.jsonl",
    "knowledge": BLOCKS / "dk",
}

EXPERIMENT = """
problems = "."

[testing]
splits = ["training"]
max_jumps = 20

[systems.aiw-ad]
config = "aiw-ad"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a suite of one problem and an experiment on it, in which PyTorch cannot be imported."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "sitecustomize.py").write_text(BLOCKED)
    (tmp_path / "suites" / "blocks").mkdir(parents=True)
    for name in ("domain", "problem"):
        shutil.copy(FILES[name], tmp_path / "suites" / "blocks")
    (tmp_path / "suites" / "x.toml").write_text(EXPERIMENT)
    return tmp_path


@pytest.fixture
def trained(folder: Path) -> Path:
    """The folder with the one run of its experiment."""
    run = folder / "out" / "runs" / "blocks" / "aiw-ad" / "seed-0"
    run.mkdir(parents=True)
    shutil.copy(FILES["policy"], run / "policy.safetensors")
    training = {"config": "aiw-ad", "settings": [], "seconds": None}
    (run / "trained.json").write_text(json.dumps({"version": 1, "training": training, "summary": ""}))
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python program that first looks for modules in `modules`."""
    paths = [str(folder / "modules"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def saltus(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command of the program, likewise."""
    words = [word.format(**FILES) for word in shlex.split(command)]
    return python(folder, "-c", "from saltus.cli.main import main; main()", *words)


def test_pytorch_is_out_of_reach(folder: Path) -> None:
    """The other tests rely on it."""
    assert "ModuleNotFoundError: No module named 'torch'" in python(folder, "-c", "import torch").stderr


@pytest.mark.parametrize(
    "command",
    [
        "plan {domain} {problem}",
        "plan {domain} {problem} --policy {policy} --device cpu --improve --time-limit 20",
        "plan {domain} {problem} --policy goal-count --json",
        "ipc-plan {knowledge} {domain} {problem} plan.txt",
        "bench suites/blocks --policy blocksworld --out records.jsonl",
        "explain {domain} {problem}",
        "validate {domain} {large} {plan}",
        "policies",
        "policies {policy} --domain {domain}",
        "domains",
        "generate blocksworld --out problems --split training --count 1",
        "grow suites/blocks --out grown --count 1",
        "info {domain} {problem}",
        "stats suites",
        "lookahead {domain} {problem}",
        "branching suites",
        "graph {domain} {problem}",
        "report {records}",
        "train --help",
        "--version",
    ],
)
def test_commands_without_pytorch(command: str, folder: Path) -> None:
    done = saltus(folder, command)
    assert done.returncode == ExitCode.SUCCESS, done.stderr
    assert "torch" not in done.stderr.lower()


def test_trained_systems_play_without_pytorch(trained: Path) -> None:
    done = saltus(trained, "experiment suites/x.toml --out out --only play")
    assert done.returncode == ExitCode.SUCCESS, done.stderr
    assert "torch" not in done.stderr.lower()
    assert "1 of 1 played: aiw-ad blocks" in done.stderr
    assert (trained / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("command", "purpose"),
    [
        ("train suites/blocks --out run", "training"),
        ("train suites/blocks --out run --config tiny --device cpu", "training"),
        ("train-all suites --out runs --config tiny", "training"),
        ("experiment suites/x.toml --out out", "training"),
        ("ipc-learn dk {domain} {problem}", "training"),
        ("plan {domain} {problem} --device cuda", "device 'cuda'"),
        ("bench suites --policy blocksworld --device cuda --out records.jsonl", "device 'cuda'"),
    ],
)
def test_commands_that_need_pytorch_name_the_extra(command: str, purpose: str, folder: Path) -> None:
    done = saltus(folder, command)
    assert done.stderr.startswith("saltus: error: ")
    assert done.stderr.endswith(f": {purpose} needs PyTorch: pip install 'saltus[train]'\n")
    assert done.returncode == ExitCode.USAGE_ERROR
    assert {path.name for path in folder.iterdir()} == {"modules", "suites"}


def test_the_api_without_pytorch(folder: Path) -> None:
    program = f"""
import saltus
from saltus.model.engine import Engine
task = saltus.load({str(FILES["domain"])!r}, {str(FILES["problem"])!r})
policy = saltus.load_policy("blocksworld")
assert isinstance(policy.scorer, Engine)
plan = policy.plan(task)
assert saltus.validate(task, plan).valid
try:
    saltus.train("problems", seed=1)
except saltus.ConfigurationError as error:
    print(error)
"""
    done = python(folder, "-c", program)
    assert (done.stdout, done.stderr) == ("training needs PyTorch: pip install 'saltus[train]'\n", "")


def test_all_names_without_pytorch(folder: Path) -> None:
    done = python(folder, "-c", "from saltus import *; print(load.__name__, callable(train))")
    assert (done.stdout, done.stderr) == ("load True\n", "")


@pytest.mark.parametrize(
    "command",
    ["plan {domain} {problem}", "bench suites --policy auto --out records.jsonl", "explain {domain} {problem}"],
)
def test_pytorch_is_not_tried_on_a_cpu(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is installed, either: importing it leaves a file."""
    (folder / "modules" / "sitecustomize.py").unlink()
    (folder / "modules" / "torch.py").write_text("from pathlib import Path\nPath('imported').touch()")
    assert python(folder, "-c", "import torch").returncode == 0
    (folder / "imported").unlink()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = saltus(folder, command)
    assert done.returncode == ExitCode.SUCCESS, done.stderr
    assert not (folder / "imported").exists()
