"""Encodings as data: no module asks for one by name, and a new entry made of known parts is all that is needed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.graph.test_kernel import assert_same
from tests.tasks import rich_task
from tests.twins.graph import batch, encode

from saltus.errors import ConfigurationError
from saltus.graph import ENCODINGS, Candidate, Encoding, EncodingSpec, Vocabulary, assemble, dump
from saltus.graph.encodings import ENCODING_TEXT, method_name
from saltus.lookahead import KINDS, PlaySpec, TreeSpec, lookahead
from saltus.model import RelationalNetwork

PACKAGE = ROOT / "src" / "saltus"
HOME = PACKAGE / "graph" / "encodings.py"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != HOME)


def named(node: ast.AST) -> set[str]:
    """Names of encodings among the text constants of an expression."""
    constants = (entry.value for entry in ast.walk(node) if isinstance(entry, ast.Constant))
    return {value for value in constants if isinstance(value, str) and value in ENCODINGS}


def comparisons(tree: ast.Module) -> list[str]:
    """Comparisons, cases and tables of a module that ask for an encoding by name."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.MatchValue):
            names = named(node)
        elif isinstance(node, ast.Dict):
            names = {name for key in node.keys if isinstance(key, ast.Constant) for name in named(key)}
            names = names if len(names) > 1 else set()  # one name alone may mean something else: an identifier
        else:
            continue
        found += [ast.unparse(node)] if names else []
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_asks_for_an_encoding_by_name(path: Path) -> None:
    assert comparisons(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        'spec.kind == "ad"',
        'kind in ("int", "id")',
        '"aa" != encoding',
        'x = {"ad": 1, "ext": 2}',
        'match kind:\n    case "ext":\n        pass',
    ],
)
def test_the_rule_can_fail(text: str) -> None:
    assert len(comparisons(ast.parse(text))) == 1


def test_entries_are_consistent() -> None:
    assert all(name == encoding.name for name, encoding in ENCODINGS.items())
    assert all(encoding.text and f"{name}: {encoding.text}" in ENCODING_TEXT for name, encoding in ENCODINGS.items())


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
def test_the_default_lookahead_is_accepted(kind: str) -> None:
    spec = EncodingSpec(kind)
    spec.check_lookahead(spec.default_lookahead)
    if spec.parts.needs_flat_lookahead:
        with pytest.raises(ConfigurationError, match=f"{kind} needs a flat lookahead"):
            spec.check_lookahead("aiw")
    else:
        for name in KINDS:
            spec.check_lookahead(name)


def test_a_new_encoding_of_known_parts_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both states and the differences, a graph per transition: vocabulary, kernel, twin, dump and readout follow."""
    monkeypatch.setitem(
        ENCODINGS, "both", Encoding("both", "states and delta", Candidate.GRAPH, delta=True, primed=True)
    )
    task = rich_task()
    spec = EncodingSpec("both", negative_goals=True)
    vocabulary = Vocabulary.of(task.domain, spec)
    parts = {name: set(Vocabulary.of(task.domain, EncodingSpec(name, negative_goals=True))) for name in ("int", "id")}
    assert set(vocabulary) == parts["int"] | parts["id"]
    tree = lookahead(task, play=PlaySpec(max_nodes=6))
    graphs = encode((tree, None), vocabulary, spec)
    for name in ("int", "id"):
        single = EncodingSpec(name, negative_goals=True)
        for graph, other in zip(graphs, encode((tree, None), Vocabulary.of(task.domain, single), single), strict=True):
            assert other.atoms.items() <= graph.atoms.items()
    assert_same(assemble([(tree, None)], vocabulary, spec), batch([(tree, None)], vocabulary, spec))
    assert dump.titles(tree, spec, graphs)[0].startswith("state:1")
    network = RelationalNetwork([relation.arity for relation in vocabulary], "both")
    assert network.readout.first.in_features == network.spec.embedding


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (Encoding("x", "", Candidate.GRAPH, actions=True), "need candidates that are nodes"),
        (Encoding("x", "", Candidate.GRAPH, tree=True), "need candidates that are nodes"),
        (Encoding("x", "", Candidate.STATE_NODE, primed=True), "share one state"),
        (Encoding("x", "", Candidate.PAIR, delta=True), "has no successor"),
    ],
)
def test_the_kernel_refuses_parts_that_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, encoding: Encoding, message: str
) -> None:
    monkeypatch.setitem(ENCODINGS, "x", encoding)
    task = rich_task()
    spec = EncodingSpec("x", negative_goals=True)
    with pytest.raises(ValueError, match=message):
        assemble([(lookahead(task), None)], Vocabulary.of(task.domain, spec), spec)


def test_a_methods_name_says_whether_moves_are_free() -> None:
    assert method_name(TreeSpec(), EncodingSpec()) == "aiw-ad"
    assert method_name(TreeSpec(kind="iw", free_moves=True), EncodingSpec()) == "iw-ad-free"
