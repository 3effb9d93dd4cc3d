"""Without the extra `up`: everything else works, and the engine says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "unified_planning":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""
"""A `sitecustomize` module, which Python imports as it starts."""

PROGRAM = """
import saltus, saltus.up
for use in (lambda: saltus.up.register(), lambda: saltus.up.SaltusEngine):
    try:
        use()
    except saltus.ConfigurationError as error:
        print(error)
try:
    saltus.up.nonsense
except AttributeError as error:
    print(error)
"""


def python(code: str, folder: Path) -> str:
    """What a program prints, with modules of a folder first."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_the_missing_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKED, encoding="utf-8")
    message = "the engine needs unified-planning: pip install 'saltus[up]'\n"
    assert python(PROGRAM, tmp_path) == 2 * message + "module 'saltus.up' has no attribute 'nonsense'\n"


def test_the_library_is_imported_with_the_engine_only(tmp_path: Path) -> None:
    code = "import sys, saltus.up; print('unified_planning' in sys.modules); saltus.up.ENGINE; print('x')"
    assert python(code, tmp_path) == "False\nx\n"
