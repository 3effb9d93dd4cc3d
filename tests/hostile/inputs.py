"""Files that cannot be read, that are not what they should be, or that never end."""

from __future__ import annotations

from tests.hostile.case import Case, nothing

CASES = [
    Case("missing domain", nothing, "info missing.pddl {problem}", 31, "missing.pddl: cannot be read"),
    Case("folder as domain", nothing, "info . {problem}", 31, "cannot be read: Is a directory"),
]
