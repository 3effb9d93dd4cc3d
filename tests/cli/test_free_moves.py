"""Free moves on the command line: what `info` and `lookahead` say about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_cli import BLOCKS
from tests.conftest import ROOT
from tests.errands import ERRANDS, errands_problem

from saltus.cli.main import run
from saltus.policy.exit_codes import ExitCode

GARDEN = ["examples/gardener/domain.pddl", "examples/gardener/large.pddl"]


@pytest.fixture(autouse=True)
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def files(folder: Path, problem: str) -> list[str]:
    """Files of a domain and a problem."""
    (folder / "domain.pddl").write_text(ERRANDS)
    (folder / "problem.pddl").write_text(problem)
    return [str(folder / "domain.pddl"), str(folder / "problem.pddl")]


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a call prints on standard output."""
    assert run(arguments) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def test_info_lists_agents_and_schemas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = files(tmp_path, errands_problem(walkers=7))
    facts = json.loads(printed(["info", *names, "--json"], capsys))
    (group,) = facts["free_moves"]
    assert group == {
        "predicate": "at",
        "arguments": ["agent", "place"],
        "agents": [[f"w{i}"] for i in range(7)],
        "schemas": ["walk"],
        "blocked_by_others": False,
    }
    assert [entry["name"] for entry in facts["schemas"] if entry["move"]] == ["walk"]
    (line,) = [line for line in printed(["info", *names], capsys).splitlines() if "(at agent place)" in line]
    assert [part.strip() for part in line.strip("│").split("│")] == [
        "(at agent place)",
        "7: w0, w1, w2, w3, w4, …",
        "walk",
        "no",
    ]


def test_info_says_that_there_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no free moves" in printed(["info", *BLOCKS], capsys)
    assert json.loads(printed(["info", *BLOCKS, "--json"], capsys))["free_moves"] == []
    one_way = files(tmp_path, errands_problem(one_way=True))
    facts = json.loads(printed(["info", *one_way, "--json"], capsys))
    assert facts["free_moves"] == []
    assert [entry["name"] for entry in facts["schemas"] if entry["move"]] == ["walk"]  # a move, but not free


def test_info_about_an_agent_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    (group,) = json.loads(printed(["info", *GARDEN, "--json"], capsys))["free_moves"]
    assert (group["arguments"], group["agents"], group["schemas"]) == (["place"], [[]], ["walk"])
    output = printed(["info", *GARDEN], capsys)
    assert "│ (at place)  │ 1      │ walk    │ no               │" in output


def test_info_about_a_domain_alone(capsys: pytest.CaptureFixture[str]) -> None:
    output = printed(["info", GARDEN[0]], capsys)
    assert output.startswith("gardener, 0 constants\n")
    assert "moves: walk (whether they are free depends on the problem)" in output
    assert "free moves" not in output
    facts = json.loads(printed(["info", GARDEN[0], "--json"], capsys))
    assert (facts["domain"], facts["problem"], facts["free_moves"]) == ("gardener", None, None)
    assert "moves: none" in printed(["info", BLOCKS[0]], capsys)
    assert run(["info", GARDEN[1]]) == ExitCode.INPUT_ERROR
    assert f"{GARDEN[1]}:" in capsys.readouterr().err


def test_info_shows_names_of_agents_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = files(tmp_path, errands_problem().replace("w0", "[red]w0[/red]"))
    assert "1: [red]w0[/red]" in printed(["info", *names], capsys)


def test_lookahead_folds_walks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = files(tmp_path, errands_problem())
    output = printed(["lookahead", *names, "--free-moves"], capsys)
    assert output.startswith("AIW(1) modulo free moves from the initial state of e4\n")
    assert "depth 2 (up to 4 actions), goal reached in 2 nodes, " in output
    assert "path to 1 goal of 1 (root: 0): 2 actions\n  (prepare w0)\n  (shout w0)\n" in output
    rows = [[part.strip() for part in line.split("│")[1:4]] for line in output.splitlines() if line.startswith("│")]
    assert rows == [["0", "1", "0"], ["1", "2", "1 to 4"], ["2", "1", "2"]]
    for goal, wanted in (
        ("(and (rung) (at w0 p3))", "path to 2 goals of 2 (root: 0): 4 actions\n  (ring w0 p3) after 3 moves\n"),
        ("(at w0 p2)", "path to 1 goal of 1 (root: 0): 2 actions\n  (walk w0 p1 p2) after 1 move\n"),
        ("(and (rung) (at w0 p0) (not (rung)))", "no node has more goals than the root\n"),
    ):
        names = files(tmp_path, errands_problem(goal=goal))
        assert printed(["lookahead", *names, "--free-moves", "--kind", "iw"], capsys).endswith(f"┘\n{wanted}")


def test_lookahead_as_json_says_that_moves_are_free(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = files(tmp_path, errands_problem())
    free = json.loads(printed(["lookahead", *names, "--free-moves", "--json"], capsys))
    assert (free["free_moves"], free["max_depth"], free["max_length"], free["goal_length"]) == (True, 2, 4, 2)
    plain = json.loads(printed(["lookahead", *names, "--json"], capsys))
    assert (plain["free_moves"], plain["max_length"]) == (False, plain["max_depth"])
    nothing = files(tmp_path, errands_problem(goal="(and (rung) (bell p0))"))
    assert json.loads(printed(["lookahead", *nothing, "--free-moves", "--json"], capsys))["goal_length"] is None


def test_lookahead_without_free_moves_in_the_problem(capsys: pytest.CaptureFixture[str]) -> None:
    plain = printed(["lookahead", *BLOCKS, "--json"], capsys)
    free = printed(["lookahead", *BLOCKS, "--free-moves", "--json"], capsys)
    same, other = ({**json.loads(text), "seconds": 0, "free_moves": 0} for text in (plain, free))
    assert same == other
    output = printed(["lookahead", *BLOCKS, "--free-moves"], capsys)
    assert "the problem has no free moves: the tree is the same without --free-moves\n" in output
    assert "free moves" not in printed(["lookahead", *BLOCKS], capsys)


def test_free_moves_need_width_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lookahead", *GARDEN, "--free-moves", "--width", "2"]) == ExitCode.USAGE_ERROR
    assert "free_moves needs width=1" in capsys.readouterr().err
