"""`_kernel.pyi` says what the compiled kernel offers: names, parameters and types are compared one by one."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

import pytest
from tests.conftest import ROOT

from saltus import _kernel

pytestmark = pytest.mark.kernel

STUB = (ROOT / "src" / "saltus" / "_kernel.pyi").read_text(encoding="utf-8")


def type_name(node: ast.expr | None) -> str:
    """A type without its parameters; an array is the name of its element type."""
    if isinstance(node, ast.BinOp):
        return f"{type_name(node.left)} | {type_name(node.right)}"
    if isinstance(node, ast.Subscript):
        return type_name(node.slice) if ast.unparse(node.value) == "NDArray" else type_name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return ast.unparse(node) if node is not None else ""


def signature(function: ast.FunctionDef) -> tuple[str, ...]:
    """Parameters with their types, and the type returned."""
    parameters = function.args
    assert sum(isinstance(node, ast.arg) for node in ast.walk(parameters)) == len(parameters.args), (
        "a special parameter"
    )
    assert not parameters.defaults, "a default"
    typed = [f"{entry.arg}: {type_name(entry.annotation)}" for entry in parameters.args]
    return (*typed, f"-> {type_name(function.returns)}")


def stub_interface(text: str) -> dict[str, tuple[str, ...]]:
    """Signatures by name, as a stub declares them; a class has none of its own, its members are `Class.member`."""
    found: dict[str, tuple[str, ...]] = {}

    def add(name: str, entry: tuple[str, ...]) -> None:
        assert name not in found, f"{name} is declared twice"
        found[name] = entry

    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            add(node.name, ())
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    add(f"{node.name}.{member.name}", signature(member))
                else:
                    assert ast.unparse(member) == "...", "neither a method nor a property"
        elif isinstance(node, ast.FunctionDef):
            add(node.name, signature(node))
        else:
            assert isinstance(node, ast.Import | ast.ImportFrom), "neither a class nor a function"
    return found


def compiled_signature(function: Any) -> tuple[str, ...]:
    """Signature of a compiled function, which has no overloads."""
    ((text, *_),) = function.__nb_signature__
    plain = re.sub(r"(?:numpy\.)?ndarray\[dtype=(\w+)[^\]]*\]", r"\1", text)
    parsed = ast.parse(re.sub(r"^def \(", "def getter(", plain) + ": ...").body[0]
    assert isinstance(parsed, ast.FunctionDef)
    return signature(parsed)


def compiled_interface(names: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The same of a compiled module's namespace; constructors are listed where a class can be called."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in names.items():
        if name.startswith("_"):
            continue
        if not isinstance(value, type):
            found[name] = compiled_signature(value)
            continue
        found[name] = ()
        for member, entry in vars(value).items():
            getter = entry.fget if isinstance(entry, property) else entry
            if member == "__init__" or not member.startswith("_"):
                if hasattr(getter, "__nb_signature__"):
                    found[f"{name}.{member}"] = compiled_signature(getter)
                else:
                    assert member == "__init__", f"{name}.{member} has no signature"
    return found


def test_the_stub_is_what_the_kernel_offers() -> None:
    assert stub_interface(STUB) == compiled_interface(vars(_kernel))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def count_applicable(", "def count_actions("),
        ("def has_negation(", "def more() -> None: ...\ndef has_negation("),
        ("schema: int, index: int)", "schema: int, number: int)"),
        ("schema: int, index: int)", "index: int, schema: int)"),
        ("schema: int, index: int)", "schema: int)"),
        ("schema: int, index: int)", "schema: int, index: float)"),
        (
            ") -> bool | None: ...\n\nclass GroundActions",
            ") -> bool: ...\n\nclass GroundActions",
        ),
        ("def schema(self) -> NDArray[np.int32]", "def schema(self) -> NDArray[np.int64]"),
        ("def truncated(self)", "def cut(self)"),
        ("class GraphTask:", "class TaskGraph:"),
        ("class Spec:", "class Extra: ...\n\nclass Spec:"),
        ("    def backward(", "    def more(self) -> None: ...\n    def backward("),
    ],
)
def test_a_stub_that_differs_is_noticed(old: str, new: str) -> None:
    assert STUB.count(old) == 1
    assert stub_interface(STUB.replace(old, new)) != compiled_interface(vars(_kernel))


def test_a_function_of_the_kernel_alone_is_noticed() -> None:
    names = dict(vars(_kernel))
    assert stub_interface(STUB) != compiled_interface({**names, "more": _kernel.scan})
    del names["scan"]
    assert stub_interface(STUB) != compiled_interface(names)
