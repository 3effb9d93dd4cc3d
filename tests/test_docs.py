"""README and documentation: the commands print what the pages show, generated pages are complete, listings are true."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tools.console import PAGES, Example, agrees, examples_of, make_folder, run_example, shortened
from tools.docs_pages import (
    SECTION_TITLES,
    api_page,
    command_line_page,
    commands,
    configuration_page,
    field_texts,
    generated_pages,
    parameters,
    turned_links,
)

import saltus
import saltus.learn
from saltus.learn.config import SECTIONS, named_configurations

README = (ROOT / "README.md").read_text(encoding="utf-8")
WITH_EXAMPLES = [page for page in PAGES if examples_of(page.read_text(encoding="utf-8"))]


# Commands of the pages ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    make_folder(tmp_path)
    for example in examples_of(page.read_text(encoding="utf-8")):
        printed = run_example(example, tmp_path)
        assert agrees(example, printed), f"{example}\nprinted: {printed}\n`python tools/console.py --update` renews it"
    for path in tmp_path.glob("*.html"):
        assert "</html>" in path.read_text(encoding="utf-8")


def test_pages_have_examples() -> None:
    assert {page.stem for page in WITH_EXAMPLES} >= {"README", "tutorial", "report"}
    assert len(examples_of(README)) == 5


@pytest.mark.parametrize(
    ("shown", "printed", "varies", "same"),
    [
        (("93 jumps, 13.29 s",), ["93 jumps, 1.5 s"], False, True),
        (("93 jumps, 13.29 s",), ["94 jumps, 13.29 s"], False, False),
        (("93 jumps, 13.29 s",), ["94 jumps, 13.29 s"], True, True),
        (("first", "…", "last"), ["first", "a", "b", "last"], False, True),
        (("first", "…", "last"), ["first", "last", "more"], False, False),
        ((), ["something"], False, False),
    ],
)
def test_outputs_are_compared(shown: tuple[str, ...], printed: list[str], varies: bool, same: bool) -> None:
    assert agrees(Example("true", shown, varies), printed) is same


def test_renewed_outputs_keep_their_ellipsis() -> None:
    assert shortened(Example("", ("a", "…", "z"), False), ["1", "2", "3", "4"]) == ["1", "…", "4"]
    assert shortened(Example("", ("a",), False), ["1", "2"]) == ["1", "2"]


def test_a_command_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_example(Example("exit 3", (), False), tmp_path)


# Departures ---------------------------------------------------------------------------------------------------------


def test_every_departure_is_listed_where_it_is() -> None:
    """The files that the page names are those with a mark, and it names every switch and every paper's variant."""
    page = (ROOT / "docs" / "departures.md").read_text(encoding="utf-8")
    rows = [row.split(" | ") for row in page.splitlines() if row.startswith("| ") and row.count(" | ") == 5]
    named = {name for row in rows for name in re.findall(r"`([\w/]+\.(?:py|cpp))`", row[3])}
    sources = [*(ROOT / "src" / "saltus").rglob("*.py"), *(ROOT / "kernel").glob("*.cpp")]
    marked = {
        str(path.relative_to(ROOT if path.suffix == ".cpp" else ROOT / "src" / "saltus"))
        for path in sources
        if "Departure:" in path.read_text(encoding="utf-8")
    }
    assert named == marked
    switches = re.findall(r"`(lookahead|play|encoding|model|training)\.(\w+)`", " ".join(row[2] for row in rows))
    assert len(switches) > 15
    assert [switch for switch in switches if switch[1] not in SECTIONS[switch[0]].__dataclass_fields__] == []
    variants = [name for name in named_configurations() if name.startswith("paper-")]
    assert len(variants) == 13
    assert [name for name in variants if f"`{name}`" not in page] == []


# README -------------------------------------------------------------------------------------------------------------


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 100


def test_the_python_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.PIPE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_local_links_and_pictures_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    known = generated_pages().keys() if page.parent.name == "docs" else ()
    missing = [
        target
        for target in targets
        if "://" not in target and not (page.parent / target).exists() and target not in known
    ]
    assert missing == []


def test_the_tutorial_shows_its_files() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = re.findall(r'^```\w+\n--8<-- "(.+)"\n```$', page, re.MULTILINE)
    assert shown == [
        "examples/gardener/domain.pddl",
        "examples/train_and_plan.py",
        "examples/unified_planning_engine.py",
    ]
    assert all((ROOT / name).is_file() for name in shown)


def test_pictures_are_small() -> None:
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.png"))
    assert len(pictures) == 7
    for path in pictures:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 300_000


def test_the_example_records_are_whole() -> None:
    """Thirty domains and splits with three problems each, for each of the two."""
    for path in sorted((ROOT / "examples" / "records").glob("*.jsonl")):
        assert len(path.read_text(encoding="utf-8").splitlines()) == 90, path


# Generated pages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_every_key_of_the_configuration_is_explained(section: str) -> None:
    page = configuration_page()
    texts = field_texts(SECTIONS[section])
    for entry in fields(SECTIONS[section]):
        assert texts.get(entry.name, "").endswith("."), f"{section}.{entry.name} has no sentence below it"
        assert re.search(rf"^\| `{entry.name}` \| `[^`]+` \| \S", page, re.MULTILINE)
    assert SECTION_TITLES[section] in page


def test_every_named_configuration_is_listed() -> None:
    page = configuration_page()
    for name in named_configurations():
        assert re.search(rf"^\| `{name}` \| \S", page, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_explained(name: str) -> None:
    (section,) = re.findall(rf"^## {name}\n(.*?)^## ", command_line_page(), re.MULTILINE | re.DOTALL)
    assert f"saltus {name}" in section
    for entry in parameters(commands()[name]):
        assert entry.text, f"{name} {entry.name} has no help"
        assert f"| `{entry.name}` | " in section


def test_arguments_have_the_names_of_the_help() -> None:
    page = command_line_page()
    assert "\nsaltus ipc-learn DK DOMAIN TASK… [OPTIONS]\n" in page
    assert "\nsaltus policies [POLICY…] [OPTIONS]\n" in page


def test_the_reference_has_what_training_yields() -> None:
    listed = re.findall(r"^      heading: saltus\.learn\.(\w+)$", api_page(), re.MULTILINE)
    assert {"open_run", "Run", "EpisodeReport", "Validation", "Configuration"} <= set(listed)
    assert all(getattr(saltus.learn, name).__doc__ for name in listed)


def test_every_public_name_is_in_the_reference() -> None:
    listed = re.findall(r"^      heading: saltus\.(\w+)$", api_page(), re.MULTILINE)
    assert sorted(listed) == sorted(name for name in saltus.__all__ if not name.startswith("_"))
    for name in listed:
        assert getattr(saltus, name).__doc__, f"saltus.{name} has no docstring"


@pytest.mark.parametrize(
    ("link", "turned"),
    [
        ("[a](docs/tutorial.md)", "[a](tutorial.md)"),
        ("[a](CONTRIBUTING.md)", "[a](contributing.md)"),
        ("![a](docs/pictures/explain.png)", "![a](pictures/explain.png)"),
        ("[a](https://example.org)", "[a](https://example.org)"),
    ],
)
def test_links_are_turned(link: str, turned: str) -> None:
    assert turned_links(link) == turned


# The map of the source in CONTRIBUTING ------------------------------------------------------------------------------


def listed_source() -> dict[str, str]:
    """Paths below `src/saltus` that CONTRIBUTING lists, with their lines."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (listing,) = re.findall(r"^```text\nsrc/saltus/\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found: dict[str, str] = {}
    folders: list[str] = []
    for line in listing.splitlines():
        match = re.fullmatch(r"( +)(\S+) +(\S.*)", line)
        assert match is not None, f"no description: {line}"
        indent, name, words = match.groups()
        del folders[len(indent) // 2 - 1 :]
        found["".join([*folders, name])] = words
        if name.endswith("/"):
            folders.append(name)
    return found


def test_the_listing_of_the_source_is_complete() -> None:
    package = ROOT / "src" / "saltus"
    modules = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.name != "__init__.py"
        and (len(path.relative_to(package).parts) <= 2 or path.is_relative_to(package / "lab"))
    }
    folders = {
        f"{path.relative_to(package)}/"
        for path in [*package.glob("*/"), *package.glob("*/*/")]
        if path.is_dir() and path.name != "__pycache__"
    }
    listed = set(listed_source())
    assert sorted((modules | folders) - listed) == [], "not listed in CONTRIBUTING.md"
    assert sorted(listed - modules - folders) == [], "listed in CONTRIBUTING.md, but not there"
