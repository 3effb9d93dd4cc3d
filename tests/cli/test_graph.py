"""`saltus graph`: its formats and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import ROOT

from saltus.cli.main import run
from saltus.graph import ENCODINGS
from saltus.policy.exit_codes import ExitCode

SMALL = [str(ROOT / "examples/blocksworld" / name) for name in ("domain.pddl", "p03.pddl")]
LARGE = [SMALL[0], str(ROOT / "examples/blocksworld/p100.pddl")]


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Standard output of `saltus graph` on the small problem."""
    assert run(["graph", *SMALL, *arguments]) == ExitCode.SUCCESS
    return capsys.readouterr().out


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "--kind", "flat").splitlines()
    assert lines[0] == "graph 1 of 1: all candidates; 7 nodes, 22 atoms"
    for line in (
        "  object (3): a, b, c",
        "  world (1): <world>",
        "  state (2): state:1, state:2",
        "  depth (1): depth:1",
        "  on_GF (2): a b, b c",
        "  holding+ (2): state:1 c, state:2 b",
        "  arm-empty- (2): state:1 <world>, state:2 <world>",
        "  SD (2): state:1 depth:1, state:2 depth:1",
        "  state:2, (unstack b a) after the root",
    ):
        assert line in lines
    assert "  E (" not in "\n".join(lines)


def test_several_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "--encoding", "ext", "--kind", "flat")
    assert "graph 1 of 3: the root;" in text
    assert "graph 3 of 3: state:2, (unstack b a) after the root;" in text


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
@pytest.mark.parametrize("form", ["json", "dot", "text"])
def test_every_encoding_in_every_format(encoding: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "--encoding", encoding, "--format", form)
    if form == "json":
        for graph in json.loads(text):
            assert set(graph) == {"title", "nodes", "atoms"}
            assert [node["name"] for node in graph["nodes"][:4]] == ["a", "b", "c", "<world>"]
            assert graph["atoms"]["type:object"] == [[0], [1], [2]]
    elif form == "dot":
        assert text.startswith("digraph {")
        assert text.count("{") == text.count("}")
        assert '[label="on_GF"]' in text


def test_ablations_and_nullary_atoms(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "--no-depth-nodes", "--no-tree-atoms", "--nullary", "drop")
    assert not any(word in text for word in ("depth", "world", "arm-empty", "\n  E "))


def test_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "graph.txt"
    assert output(capsys, "--out", str(out)) == ""
    assert out.read_text() == output(capsys)
    assert run(["graph", *SMALL, "--out", str(tmp_path)]) == ExitCode.INPUT_ERROR
    assert "cannot be written" in capsys.readouterr().err


def test_svg_by_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`dot -Tsvg` reads our Graphviz input; without it the error says what is missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["graph", *SMALL, "--format", "svg"]) == ExitCode.INPUT_ERROR
    assert "Graphviz" in capsys.readouterr().err
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\n[ "$1" = -Tsvg ] && echo "<svg>" && exec /bin/cat\n')
    program.chmod(0o755)
    assert output(capsys, "--format", "svg") == "<svg>\n" + output(capsys, "--format", "dot")
    program.write_text("#!/bin/sh\n/bin/cat >/dev/null\necho broken >&2\nexit 3\n")
    assert run(["graph", *SMALL, "--format", "svg"]) == ExitCode.INPUT_ERROR
    assert "broken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "png"], "--format is 'png'"),
        (["--encoding", "delta"], "kind is 'delta'"),
        (["--encoding", "aa", "--kind", "iw"], "aa needs a flat lookahead"),
        (["--encoding", "ext", "--no-tree-atoms"], "tree_atoms"),
        (["--format", "dot"], "nodes and atoms exceed --limit 1,000"),
        (["--encoding", "ext", "--limit", "500"], "nodes and atoms exceed --limit 500"),
    ],
)
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", *LARGE, *arguments]) == ExitCode.USAGE_ERROR
    assert message in capsys.readouterr().err
