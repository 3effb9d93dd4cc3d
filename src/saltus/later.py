"""Names of a package that are imported when they are first used.

Planning a small problem takes less time than importing the whole library. So importing `saltus` or one of its stages
imports nothing else: the package lists its public names by module, and a module is imported with the first of its
names that is used. Type checkers see ordinary imports, under `TYPE_CHECKING`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def names_later(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package, given the names in each of its modules, separated by spaces.

    A name may be that of a submodule, too, such as the function `validate` in the module `validate`: it stays the name
    of the function when the submodule is imported.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}
    namespace = sys.modules[package]

    def import_name(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        setattr(namespace, name, value)  # from now on, the name is found without this function
        return value

    shared = {name: _kept(name, import_name) for name, module in module_of.items() if name in (module, *modules)}
    if shared:
        namespace.__class__ = type("Package", (ModuleType,), shared)
    return import_name


def _kept(name: str, import_name: Callable[[str], Any]) -> property:
    """An attribute of a package that importing the submodule of the same name does not replace."""

    def get(package: ModuleType) -> Any:
        return package.__dict__[name] if name in package.__dict__ else import_name(name)

    def set_unless_submodule(package: ModuleType, value: Any) -> None:
        if not isinstance(value, ModuleType):
            package.__dict__[name] = value

    return property(get, set_unless_submodule)
