"""Recipes of containers and wheels: the files that they name exist, and their scripts run without a container."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from tests.conftest import ROOT

import saltus

CONTAINERS = ROOT / "containers"
GARDENER = ROOT / "examples" / "gardener"
BLOCKS = ROOT / "examples" / "blocksworld"
FAST = ["--config", "tiny", "--set", "episodes=2", "--set", "larger_problems=0", "--device", "cpu", "--threads", "1"]
RECIPES = {"learn": " train", "plan": ""}

LABELS = [
    "Name",
    "Description",
    "Authors",
    "License",
    "Environments",
    "SupportsDerivedPredicates",
    "SupportsUniversallyQuantifiedPreconditions",
    "SupportsExistentiallyQuantifiedPreconditions",
    "SupportsUniversallyQuantifiedEffects",
    "SupportsNegativePreconditions",
    "SupportsEqualityPreconditions",
    "SupportsInequalityPreconditions",
    "SupportsConditionalEffects",
    "SupportsImplyPreconditions",
]
"""Labels that the IPC asks for."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder like that of programs in a container: `saltus`, and the scripts next to it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    code = "import sys; sys.argv[0] = 'saltus'; from saltus.cli.main import main; main()"
    (folder / "saltus").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    (folder / "saltus").chmod(0o755)
    for name in RECIPES:
        shutil.copy(CONTAINERS / name, folder)
    return folder


def run(command: list[str | Path], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def sections(recipe: str) -> list[tuple[str, list[str]]]:
    """Sections of an Apptainer recipe with their lines, in order; the first of each stage is its header."""
    found: list[tuple[str, list[str]]] = [("header", [])]
    for line in recipe.splitlines():
        if line.startswith("%"):
            found.append((line[1:], []))
        elif line.startswith("Bootstrap:") and found[-1][0] != "header":
            found.append(("header", [line]))
        elif line.strip() and not line.startswith("#"):
            found[-1][1].append(line.strip())
    return found


# Scripts ------------------------------------------------------------------------------------------------------------


def test_what_is_learned_plans(programs: Path, tmp_path: Path) -> None:
    """As the IPC calls both: the planner gets the last of the learner's files, under the name of the prefix."""
    tasks = sorted((GARDENER / "training").glob("*.pddl"))
    done = run([programs / "learn", "dk", GARDENER / "domain.pddl", *tasks, *FAST], tmp_path, SALTUS_TIME_LIMIT="5m")
    assert done.returncode == 0, done.stderr
    *_, last = sorted(tmp_path.glob("dk.*"), key=lambda path: int(path.suffix[1:]))
    place = tmp_path / "elsewhere"
    place.mkdir()
    shutil.copy(last, place / "dk")
    done = run([programs / "plan", "dk", GARDENER / "domain.pddl", tasks[-1], "plan"], place, SALTUS_TIME_LIMIT="60")
    assert done.returncode == 0, done.stderr
    plans = sorted(place.glob("plan.*"))
    assert plans[0].name == "plan.1"
    task = saltus.load(GARDENER / "domain.pddl", tasks[-1])
    assert all(saltus.validate(task, saltus.read_plan(path)) for path in plans)
    assert "policy dk" in done.stdout


def test_the_learner_ends_cleanly_when_it_is_told_to(programs: Path, tmp_path: Path) -> None:
    """The signal reaches the program, and what it has learned is there."""
    options = [*FAST, "--set", "episodes=100000", "--set", "validate_every=1"]
    tasks = sorted((GARDENER / "training").glob("*.pddl"))
    process = subprocess.Popen(
        list(map(str, [programs / "learn", "dk", GARDENER / "domain.pddl", *tasks, *options])),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "dk.1").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert (tmp_path / "dk.1").exists(), errors
    assert process.returncode == 0, errors


def test_the_scripts_find_the_program_on_the_path(programs: Path, tmp_path: Path) -> None:
    path = f"{programs}:{os.environ['PATH']}"
    done = run([CONTAINERS / "plan", "dk", BLOCKS / "domain.pddl", BLOCKS / "p03.pddl", "plan"], tmp_path, PATH=path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plan.1").exists()


@pytest.mark.parametrize(
    ("name", "arguments"), [("learn", ["dk", "d"]), ("plan", ["dk", "d", "p"]), ("install", ["f"])]
)
def test_missing_arguments(name: str, arguments: list[str], tmp_path: Path) -> None:
    done = run([CONTAINERS / name, *arguments], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"usage: {name} ")


def test_installing(tmp_path: Path) -> None:
    """Into a new environment, with the pinned versions and the extras; the interpreter here only notes its calls."""
    fake = tmp_path / "python"
    fake.write_text(
        '#!/bin/sh\necho "$@" >> calls\n[ "$2" != venv ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; }\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    done = run([CONTAINERS / "install", "place", "saltus.whl", "up"], tmp_path, PYTHON=str(fake))
    assert done.returncode == 0, done.stderr
    first, second = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert first == "-m venv place"
    assert re.fullmatch(r"-m pip install .* -c \S+/constraints\.txt saltus\.whl\[up\]", second)
    assert {path.name for path in (tmp_path / "place" / "bin").iterdir()} == {"python", "learn", "plan"}
    assert os.access(tmp_path / "place" / "bin" / "learn", os.X_OK)


# Recipes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_apptainer_recipes(name: str) -> None:
    parts = sections((ROOT / f"Apptainer.saltus.{name}").read_text(encoding="utf-8"))
    assert [part[0] for part in parts] == [
        "header",
        "files",
        "post",
        "header",
        "files from build",
        "runscript",
        "labels",
    ]
    build, files, post, final, copied, script, labels = (part[1] for part in parts)
    assert build[:2] == final[:2]  # the environment works with the same Python only
    copies = [line.split() for line in files]
    assert all((ROOT / source).exists() and target == f"/saltus/{source}" for source, target in copies)
    assert {"containers", "kernel", "src", "pyproject.toml", "constraints.txt"} <= {source for source, _ in copies}
    assert post[-1] == f"/saltus/containers/install /opt/saltus /saltus{RECIPES[name]}"
    assert copied == ["/opt/saltus /opt/saltus"]
    assert script == [f'exec /opt/saltus/bin/{name} "$@"']
    assert [line.split()[0] for line in labels] == LABELS
    assert all(line.split()[1] == "yes" for line in labels if line.startswith("Supports"))


def test_the_dockerfile() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert len(bases) == 2
    assert bases[0] == bases[1]
    sources = [word for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for word in line.split()[:-1]]
    assert all((ROOT / source).exists() for source in sources)
    recipe = (ROOT / "Apptainer.saltus.plan").read_text(encoding="utf-8")
    assert bases[0] in recipe
    assert sorted(sources) == sorted(line.split()[0] for line in dict(sections(recipe))["files"])


def test_wheels_are_built_for_every_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    options = project["tool"]["cibuildwheel"]
    assert project["project"]["requires-python"] == ">=3.11"
    assert options["build"].split()[0] == "cp311-*"
    assert set(options["test-extras"]) <= set(project["project"]["optional-dependencies"])
    (checked,) = re.findall(r"\{project\}/(\S+)", options["test-command"])
    assert (ROOT / checked).is_file()
    workflow = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    (runners,) = re.findall(r"runner: \[(.+)\]", workflow)
    assert runners.split(", ") == ["ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel"]


def test_a_checkout_is_no_wheel() -> None:
    """The check of wheels refuses to check something else."""
    if "site-packages" in Path(saltus.__file__).parts:
        pytest.skip("the package is installed")
    done = run([sys.executable, ROOT / "tools" / "check_wheel.py"], ROOT)
    assert done.returncode == 1
    assert "expected an installed wheel" in done.stderr
