"""Pages of the documentation site that are made from the code when the site is built: a hook of MkDocs.

The command line, the configuration and the list of public names cannot go stale, because nobody writes them: they come
from the commands, the fields of the configuration with the texts below them, and `saltus.__all__`. README,
CONTRIBUTING and CHANGELOG become pages of the site as they are, with their links turned.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import saltus
import saltus.learn
from saltus.cli.commands import COMMANDS
from saltus.cli.main import load_command
from saltus.graph.encodings import ENCODING_TEXT, EncodingSpec
from saltus.learn.config import FIRST_KEYS, SECTIONS, named_configurations
from saltus.policy.planning import Planner

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "https://github.com/saltus-planner/saltus/blob/main"

COPIED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files of the repository that are pages of the site."""

RETURNED = (Planner,)
"""Classes that public functions return, but that nobody needs to import."""

LEARN = ("open_run", "Run", "EpisodeReport", "Validation", "Configuration", "load_configuration")
"""Names of `saltus.learn` for those who follow the training or change its configuration."""

UP = {"register": "saltus.up.registration.register", "SaltusEngine": "saltus.up.engine.SaltusEngine"}
"""Names of `saltus.up` and where they are defined: they are not imported, since not every machine has the extra."""

SECTION_TITLES = {
    "lookahead": "The trees that a policy learns on.",
    "play": "How a policy plays, whatever it was trained with.",
    "encoding": "How a lookahead tree becomes a relational graph.",
    "model": "Size and variant of the relational network.",
    "training": "How a policy is learned.",
}


def on_files(files: Any, config: Any) -> Any:
    """MkDocs' hook: the generated pages next to those of `docs/`."""
    from mkdocs.structure.files import File

    for name, text in generated_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def generated_pages() -> dict[str, str]:
    """Text of every generated page, by its name."""
    pages = {page: turned_links((ROOT / name).read_text(encoding="utf-8")) for name, page in COPIED.items()}
    pages["command-line.md"] = command_line_page()
    pages["configuration.md"] = configuration_page()
    pages["api.md"] = api_page()
    return pages


def turned_links(text: str) -> str:
    """The text with links that hold in the site: to pages, else to the source."""

    def turn(match: re.Match[str]) -> str:
        target = match[1]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        if target.startswith("docs/"):
            return f"]({target.removeprefix('docs/')})"
        return f"]({COPIED.get(target) or f'{SOURCE}/{target}'})"

    return re.sub(r"\]\(([^)\s]+)\)", turn, text)


# The command line ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """An argument or an option of a command."""

    name: str
    text: str
    default: str
    required: bool
    is_option: bool


def commands() -> dict[str, Any]:
    """The commands of the program, by name."""
    return {name: load_command(name) for name in COMMANDS}


def parameters(command: Any) -> list[Parameter]:
    """Arguments and options of a command, in the order of its help."""
    found: list[Parameter] = []
    for parameter in command.params:
        is_option = any(name.startswith("-") for name in parameter.opts)
        name = ", ".join(parameter.opts) if is_option else parameter.metavar or parameter.name.upper()
        if parameter.nargs == -1:
            name += "…"
        takes_value = is_option and not getattr(parameter, "is_flag", False)
        if takes_value:
            name += f" {parameter.metavar or parameter.name.upper().split('_')[-1]}"
        unset = parameter.required or parameter.default is None or parameter.default is False
        default = "" if unset else str(parameter.default)
        found.append(Parameter(name, parameter.help or "", default, parameter.required, is_option))
    return found


def command_line_page() -> str:
    """Every command with its arguments, options and examples."""
    known = commands()
    lines = [
        "# Command line",
        "",
        "`saltus COMMAND --help` prints the same. `saltus --install-completion` turns on completion in your shell.",
        "`saltus --max-file-size SIZE COMMAND …` sets the largest size of a file that is read; see [files](files.md).",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    lines += [f"| [`{name}`](#{name}) | {summary(command)} |" for name, command in known.items()]
    for name, command in known.items():
        lines += ["", f"## {name}", "", *command_text(name, command)]
    return "\n".join([*lines, "", *exit_code_lines(), ""])


def summary(command: Any) -> str:
    """First sentence of a command's help, as in the list of commands."""
    return " ".join(inspect.cleandoc(command.help).split("\n\n")[0].split())


def command_text(name: str, command: Any) -> Iterator[str]:
    """Help, usage and parameters of a command."""
    listed = parameters(command)
    arguments = " ".join(entry.name if entry.required else f"[{entry.name}]" for entry in listed if not entry.is_option)
    required = " ".join(entry.name for entry in listed if entry.is_option and entry.required)
    usage = " ".join(part for part in ("saltus", name, arguments, required, "[OPTIONS]") if part)
    yield from ("```text", usage, "```", "")
    examples: list[str] = []
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        if paragraph.lstrip().startswith("saltus "):
            examples.append(" ".join(paragraph.split()))
        elif paragraph.strip() not in ("Example:", "Examples:"):
            yield from (" ".join(paragraph.split()), "")
    for title, rows in (
        ("argument", [entry for entry in listed if not entry.is_option]),
        ("option", [entry for entry in listed if entry.is_option]),
    ):
        if rows:
            yield from (f"| {title} | meaning | default |", "|---|---|---|")
            for entry in rows:
                default = "required" if entry.required else f"`{entry.default}`" if entry.default else ""
                yield f"| `{entry.name}` | {cell(entry.text)} | {default} |"
            yield ""
    if examples:
        yield from ("```sh", *examples, "```", "")


def exit_code_lines() -> list[str]:
    """The table of exit codes."""
    from saltus.policy.exit_codes import ExitCode

    texts = field_texts(ExitCode)
    rows = [
        f"| {int(code)} | {code.name.lower().replace('_', ' ')} | {cell(texts.get(code.name, ''))} |"
        for code in ExitCode
    ]
    head = ["## Exit codes", "", "They follow Fast Downward's.", "", "| code | meaning | |", "|---|---|---|"]
    return [*head, *rows]


# The configuration --------------------------------------------------------------------------------------------------


def field_texts(section: type[Any]) -> dict[str, str]:
    """The text below every field of a class, by the field's name; a field without one is left out."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(section))).body
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = " ".join(text.split())
    return texts


def configuration_page() -> str:
    """Every section and key, and the named configurations."""
    lines = [
        "# Configuration",
        "",
        "`--config` takes a name or a TOML file, `--set KEY=VALUE` changes one value (`--set training.episodes=600`).",
        "The section can be left out where only one has the key. A file may extend a named configuration. An unknown",
        "key is an error.",
        "",
        "## Named configurations",
        "",
        "| name | what it is | sets |",
        "|---|---|---|",
    ]
    for name, path in named_configurations().items():
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        base = table.get("extends")
        values = [
            f"{section}.{key}={toml(value)}" for section in SECTIONS for key, value in table.get(section, {}).items()
        ]
        listed = "<br>".join([*([f"extends `{base}`"] if base else []), *(f"`{value}`" for value in values)])
        lines.append(f"| `{name}` | {cell(table['summary'])} | {listed} |")
    lines += ["", "## What matters first", "", "| key | default | meaning |", "|---|---|---|"]
    for name in FIRST_KEYS:
        section, _, key = name.partition(".")
        lines += key_rows(SECTIONS[section], [key], f"{section}.")
    for name, kind in SECTIONS.items():
        lines += [
            "",
            f"## [{name}]",
            "",
            SECTION_TITLES.get(name, ""),
            "",
            "| key | default | meaning |",
            "|---|---|---|",
        ]
        lines += key_rows(kind, [entry.name for entry in fields(kind)])
    return "\n".join([*lines, ""])


def key_rows(kind: type[Any], names: list[str], prefix: str = "") -> list[str]:
    """Rows of a table with keys of a section, their defaults and their meanings."""
    texts = field_texts(kind)
    if kind is EncodingSpec:
        texts["kind"] = f"{ENCODING_TEXT}."
    default = {entry.name: entry.default for entry in fields(kind)}
    return [f"| `{prefix}{name}` | `{toml(default[name])}` | {cell(texts[name])} |" for name in names]


def toml(value: object) -> str:
    """A default as one writes it in a file; none is 0."""
    if value is None:
        return "0"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


# The library --------------------------------------------------------------------------------------------------------


def api_page() -> str:
    """Every public name: functions, classes, errors; the text is that of the docstrings."""
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for name in saltus.__all__:
        if not name.startswith("_"):
            groups[kind_of(getattr(saltus, name))].append(name)
    lines = ["# Python API", "", "Everything here is imported from `saltus`, unless its heading says otherwise.", ""]
    for title, names in groups.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += reference(getattr(saltus, name), f"saltus.{name}")
        if title == "Classes":
            for value in RETURNED:
                lines += reference(value, f"{value.__module__}.{value.__qualname__}")
    lines += ["## Training step by step", "", "These are imported from `saltus.learn`, which imports PyTorch.", ""]
    for name in LEARN:
        lines += reference(getattr(saltus.learn, name), f"saltus.learn.{name}")
    lines += ["## Engine for unified-planning", "", "See [with other tools](ecosystem.md#unified-planning).", ""]
    for name, place in UP.items():
        lines += entry(place, f"saltus.up.{name}")
    return "\n".join(lines)


def reference(value: Any, heading: str) -> list[str]:
    """What mkdocstrings makes an entry of; found by where it is defined, since some functions bear a module's name."""
    return entry(f"{value.__module__}.{value.__qualname__}", heading)


def entry(place: str, heading: str) -> list[str]:
    """The same of what is defined in a place; nothing is imported."""
    return [
        f"::: {place}",
        "    options:",
        f"      heading: {heading}",
        f"      toc_label: {place.rpartition('.')[2]}",
        "",
    ]


def kind_of(value: Any) -> str:
    """The group of a public name."""
    if inspect.isclass(value):
        return "Errors" if issubclass(value, Exception) else "Classes"
    return "Functions"
