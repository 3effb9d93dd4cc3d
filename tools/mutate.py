"""Mutates a module and runs its tests: what survives is said by no test.

    python tools/mutate.py src/saltus/policy/admissible.py
    python tools/mutate.py src/saltus/policy/stall.py --tests tests/policy/test_stall.py --count 20 --seed 1
    python tools/mutate.py kernel/novelty.cpp --build "make .venv/.installed" --tests tests/lookahead

A mutation changes one place: a comparison, a logical or arithmetic operator, a number, a flag, a returned value, or a
call whose result nobody takes. Of all places of a module, `--count` are drawn. The file is changed where it is and put
back afterwards, also after an interruption; one with changes that are not committed is refused. Tests are those given,
or all test files that import the module. Prints each survivor with its line; the exit code is 1 if there is any.

A survivor need not be a gap: some mutations change nothing that can be seen, such as a limit of a cache.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
}

TOKENS = {
    "<=": "<",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    " < ": " <= ",
    " > ": " >= ",
    " + ": " - ",
    " - ": " + ",
    "true": "false",
    "false": "true",
}
"""What is changed in C++."""


@dataclass(frozen=True)
class Mutation:
    """A change of one place of a text."""

    begin: int
    end: int
    text: str

    def of(self, source: str) -> str:
        """The text with the change."""
        return source[: self.begin] + self.text + source[self.end :]

    def told(self, source: str) -> str:
        """The change in words: the line, what was there and what takes its place."""
        line = source.count("\n", 0, self.begin) + 1
        before = " ".join(source[self.begin : self.end].split())
        return f"line {line}: {before!r} -> {self.text.strip()!r}"


def mutations(path: Path, source: str) -> list[Mutation]:
    """All mutations of a module."""
    found = _of_python(source) if path.suffix == ".py" else _of_cpp(source)
    return sorted(set(found), key=lambda mutation: (mutation.begin, mutation.end, mutation.text))


def _of_cpp(source: str) -> Iterator[Mutation]:
    tokens = re.compile("|".join(re.escape(token) for token in sorted(TOKENS, key=len, reverse=True)))
    begin = 0
    for line in source.splitlines(keepends=True):
        code = line.split("//")[0]
        if not code.lstrip().startswith(("#", "template")):
            for match in tokens.finditer(code):
                yield Mutation(begin + match.start(), begin + match.end(), TOKENS[match[0]])
        begin += len(line)


def _of_python(source: str) -> Iterator[Mutation]:
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    encoded = source.encode()

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return len(encoded[:begin].decode()), len(encoded[:end].decode())

    for node in _code(tree):
        for text in _changed(node):
            yield Mutation(*place(node), text)


def _code(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Statements and expressions, without annotations and what only types need."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            if isinstance(node, ast.expr | ast.stmt):
                yield node
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr):
                yield from _code(node)


def _changed(node: ast.expr | ast.stmt) -> Iterator[str]:
    """What may take the place of a node."""
    match node:
        case ast.Compare(left, [operator], [right]):
            yield f"({ast.unparse(ast.Compare(left, [COMPARISONS[type(operator)]()], [right]))})"
        case ast.BoolOp(operator, values):
            yield f"({ast.unparse(ast.BoolOp(ast.And() if isinstance(operator, ast.Or) else ast.Or(), values))})"
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
            yield f"({ast.unparse(ast.BinOp(left, ARITHMETIC[type(operator)](), right))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(bool(value)):
            yield str(not value)
        case ast.Constant(int(value)) | ast.Constant(float(value)):
            yield repr(value + 1)
        case ast.Return(ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return None"
        case ast.Expr(ast.Call()):
            yield "pass"
        case _:
            pass


def tests_of(path: Path) -> list[str]:
    """The test files that import a module, or anything of its stage if none does."""
    name = ".".join(path.relative_to("src").with_suffix("").parts)
    stage = name.rsplit(".", 1)[0]
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    for wanted in (name, stage):
        found = [str(file) for file in files if re.search(rf"\b{re.escape(wanted)}\b", file.read_text())]
        if found:
            return found
    return ["tests"]


def run(command: Sequence[str], seconds: float) -> bool:
    """Whether a command succeeds in time."""
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


def survivors(
    path: Path, drawn: Sequence[Mutation], build: Sequence[str], tests: Sequence[str], seconds: float
) -> Iterator[Mutation]:
    """The mutations that tests do not notice, as they are found; one that cannot be built does not count."""
    source = path.read_text()
    try:
        for mutation in drawn:
            path.write_text(mutation.of(source))
            if build and not run(build, seconds):
                continue
            if run(tests, seconds):
                yield mutation
    finally:
        path.write_text(source)
        if build:
            run(build, seconds)


def main() -> int:
    """Mutates, tests, and prints what survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=Path)
    parser.add_argument("--tests", nargs="*", default=[], help="test files or folders")
    parser.add_argument("--count", type=int, default=20, help="mutations to draw (default: 20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", default="", help="command that builds the kernel")
    parser.add_argument("--seconds", type=float, default=300.0, help="limit of one run of the tests")
    options = parser.parse_args()
    path = (ROOT / options.module).resolve()
    if not path.is_file():
        parser.error(f"no such file: {options.module}")
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", str(path)], cwd=ROOT, check=False).returncode:
        parser.error(f"{options.module} has changes that are not committed")
    tests = options.tests or (tests_of(path.relative_to(ROOT)) if path.suffix == ".py" else ["tests", "-m", "kernel"])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    if not run(command, 10 * options.seconds):
        parser.error("the tests fail without a mutation")
    found = mutations(path, path.read_text())
    drawn = random.Random(options.seed).sample(found, min(options.count, len(found)))
    source = path.read_text()
    count = 0
    for mutation in survivors(path, drawn, shlex.split(options.build), command, options.seconds):
        count += 1
        print(f"survived: {options.module} {mutation.told(source)}", flush=True)
    print(f"{len(drawn)} of {len(found)} mutations of {options.module}: {len(drawn) - count} killed, {count} survived")
    return count > 0


if __name__ == "__main__":
    sys.exit(main())
