"""The mutation tool: which places it changes, and that files are as they were afterwards."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import ROOT
from tests.scripts import script


@pytest.fixture(scope="module")
def mutate() -> ModuleType:
    """The script as a module."""
    return script("tools/mutate.py")


PYTHON = '''"""A text with 3 and ==."""

def least(values: list[int], most: int | None = None) -> int:
    """The least one < all."""
    if not values or most == 3:
        print("ä", len(values) - 1)
    return min(values)
'''


def test_places_of_a_python_module(mutate: ModuleType) -> None:
    told = [mutation.told(PYTHON) for mutation in mutate.mutations(Path("least.py"), PYTHON)]
    assert told == [
        "line 5: 'not values' -> '(values)'",
        "line 5: 'not values or most == 3' -> '(not values and most == 3)'",
        "line 5: 'most == 3' -> '(most != 3)'",
        "line 5: '3' -> '4'",
        "line 6: 'print(\"ä\", len(values) - 1)' -> 'pass'",
        "line 6: 'len(values) - 1' -> '(len(values) + 1)'",
        "line 6: '1' -> '2'",
        "line 7: 'return min(values)' -> 'return None'",
    ]


def test_every_mutant_of_a_python_module_can_be_read(mutate: ModuleType) -> None:
    source = (ROOT / "src/saltus/policy/search.py").read_text()
    found = mutate.mutations(Path("search.py"), source)
    assert len(found) > 50
    for mutation in found:
        assert mutation.of(source) != source
        compile(mutation.of(source), "search.py", "exec")


def test_places_of_a_kernel_file(mutate: ModuleType) -> None:
    source = "#include <a>\n// a == b\nreturn a <= b && c < d;  // &&\nvector<int> x;\n"
    told = [mutation.told(source) for mutation in mutate.mutations(Path("a.cpp"), source)]
    assert told == ["line 3: '<=' -> '<'", "line 3: '&&' -> '||'", "line 3: '<' -> '<='"]


def test_survivors_are_found_and_the_file_is_put_back(mutate: ModuleType, tmp_path: Path) -> None:
    """The test asks for the first value only, so the change of the second survives."""
    module, test = tmp_path / "two.py", tmp_path / "ask.py"
    module.write_text("FIRST = 1\nSECOND = 2\n")
    test.write_text("import sys\nsys.path.insert(0, sys.argv[1])\nimport two\nsys.exit(two.FIRST != 1)\n")
    drawn = mutate.mutations(module, module.read_text())
    command = [sys.executable, "-B", str(test), str(tmp_path)]
    found = list(mutate.survivors(module, drawn, [], command, 30.0))
    assert [mutation.text for mutation in found] == ["3"]
    assert module.read_text() == "FIRST = 1\nSECOND = 2\n"
    assert not mutate.run([sys.executable, "-c", "import time; time.sleep(9)"], 0.1)
