"""What one module alone decides about; read from the source, so that no second place comes up beside it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

import pytest
from tests.conftest import ROOT
from tests.test_stages import MODULES, PACKAGE, stage_of, tree_of

WALLS = {
    "Rollout()": {"policy/rollout.py"},
    "Admissible()": {"policy/rollout.py", "policy/search.py", "policy/goal_by_goal.py", "policy/planning.py"}
    | {"learn/experience.py"},
    "is_dead_end": {"policy/admissible.py"},
    "keeps_goals": {"policy/admissible.py"},
    "visited": {"policy/rollout.py"},
    "Member()": {"policy/portfolio.py"},
    "next_work": {"policy/portfolio.py"},
    "MEMBERS": {"policy/planning.py"},
}
"""The modules that import or read a name, or call it; reading one's own attributes is no use."""

MOST_NUMBERS = 109
"""Most numeric constants of modules: values that nobody sets are few, and what is used in one place is said there."""

STAGES = {"policy", "process", "learn", "lab", "up", "cli"}
"""Where policies play. Growing asks about dead ends, too, without a policy."""


def uses(tree: ast.Module) -> set[str]:
    """Names that a module imports or reads from others, and those that it calls, as `name()`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and not _is_own(node):
            found.add(node.attr)
        elif isinstance(node, ast.Call):
            called = node.func
            found.add(f"{called.id if isinstance(called, ast.Name) else getattr(called, 'attr', '')}()")
    return found


def _is_own(node: ast.Attribute) -> bool:
    """Whether it is an attribute of `self`."""
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def users(trees: Mapping[str, ast.Module], name: str) -> set[str]:
    """The modules that use a name."""
    return {module for module, tree in trees.items() if name in uses(tree)}


@cache
def modules() -> dict[str, ast.Module]:
    """The modules in which policies play, but for the lists of what a stage offers."""
    return {
        str(path.relative_to(PACKAGE)): tree_of(path)
        for path in MODULES
        if stage_of(path) in STAGES and path.name != "__init__.py"
    }


@pytest.mark.parametrize("name", sorted(WALLS))
def test_only_these_modules(name: str) -> None:
    assert users(modules(), name) == WALLS[name]


@pytest.mark.parametrize(
    ("name", "text", "is_used"),
    [
        ("Rollout()", "from saltus.policy import Rollout\ndef f(r: Rollout) -> Rollout: return r", False),
        ("Rollout()", "from saltus.policy import Rollout\nRollout(task)", True),
        ("Rollout()", "import saltus.policy\nx = saltus.policy.Rollout(task)", True),
        ("is_dead_end", "from saltus.lookahead import is_dead_end", True),
        ("is_dead_end", "from saltus import lookahead\nlookahead.is_dead_end(task, state, goal)", True),
        ("is_dead_end", "from saltus.lookahead import lookahead\n'''no is_dead_end here'''", False),
        ("keeps_goals", "def f():\n    from saltus.lookahead.actions import keeps_goals as keeps", True),
        ("visited", "if state in rollout.admissible.visited: pass", True),
        ("visited", "self.visited = set()", False),
        ("visited", "rollout.admissible.is_visited(tree, state)", False),
    ],
)
def test_the_rule_can_fail(name: str, text: str, is_used: bool) -> None:
    assert (users({"learn/other.py": ast.parse(text)}, name) == {"learn/other.py"}) is is_used
    assert "learn/other.py" not in WALLS[name]


GROUNDING = {
    "GroundActions()": {"lookahead/actions.py"},
    "reachable_actions()": {"policy/relaxed.py"},
}
"""The kernel's grounder, and who asks it for the actions of a task."""


@pytest.mark.parametrize("name", sorted(GROUNDING))
def test_only_the_kernel_grounds(name: str) -> None:
    everything = {str(path.relative_to(PACKAGE)): tree_of(path) for path in MODULES}
    assert users(everything, name) == GROUNDING[name]


def test_the_kernel_has_one_grounder() -> None:
    """One file lists ground actions; who needs them is given what it made."""
    sources = {path.name: path.read_text() for path in (ROOT / "kernel").glob("*.cpp")}
    assert {name for name, text in sources.items() if "GroundActions::GroundActions(" in text} == {"ground.cpp"}
    assert not {"negation.cpp"} & sources.keys()


def numbers(tree: ast.Module) -> list[str]:
    """Names of a module's numeric constants, which include tuples and lists of numbers."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,), value = node.targets, node.value
            is_split = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = list(zip(target.elts, value.elts, strict=True)) if is_split else [(target, value)]
        else:
            continue
        named = [(name.id, value) for name, value in pairs if isinstance(name, ast.Name) and name.id.isupper()]
        found += [name for name, value in named if _is_number(value)]
    return found


def _is_number(value: ast.expr) -> bool:
    """Whether an expression consists of numbers alone."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Tuple | ast.List) and bool(value.elts) and all(map(_is_number, value.elts))


def test_numeric_constants_are_few() -> None:
    found = {str(path.relative_to(PACKAGE)): numbers(tree_of(path)) for path in MODULES}
    assert sum(map(len, found.values())) <= MOST_NUMBERS, {module: names for module, names in found.items() if names}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("MOST = 3", ["MOST"]),
        ("MOST: int = 2**20 - 1", ["MOST"]),
        ("LEFT, RIGHT = -58, 1.5", ["LEFT", "RIGHT"]),
        ("STEPS = ((-1, 0), (1, 0))", ["STEPS"]),
        ("NAME, WIDTH = 'x', 3", ["WIDTH"]),
        ("IS_ON = True\nNAME = 'x'\nNONE = ()\nmost = 3\nTWICE = 2 * MOST\ndef f():\n    MOST = 3", []),
    ],
)
def test_numeric_constants_are_counted(text: str, names: list[str]) -> None:
    assert numbers(ast.parse(text)) == names
