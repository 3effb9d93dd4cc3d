"""Values of command-line parameters that need no more than a look.

Typer checks and converts every value with pydantic, and importing pydantic takes longer than planning for a small
problem. So plain values are taken here: none at all, truth values, whole numbers within their limits, printable text
and paths. Everything else, and so every error message, is left to Typer.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, get_args, get_origin

UNKNOWN = object()
"""Stands for a value that Typer must look at."""


def take_plain_values(parameters: list[Any]) -> list[Any]:
    """The parameters, which from now on take plain values without Typer; its versions without pydantic need no help."""
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
            parameter.process_value = functools.partial(_process_value, parameter, parameter.process_value)
    return parameters


def _process_value(parameter: Any, process_value: Any, ctx: Any, value: Any) -> Any:
    """What the parameter's own method `process_value` would return."""
    plain = plain_value(parameter, value)
    if plain is UNKNOWN:
        return process_value(ctx, value)
    return plain if parameter.callback is None else parameter.callback(ctx, parameter, plain)


def plain_value(parameter: Any, value: Any) -> Any:
    """The converted value of a parameter, or `UNKNOWN`."""
    kind = parameter.type_descriptor.annotation
    is_list = get_origin(kind) is list
    if value is None and not parameter.required:
        return () if is_list else None
    if not is_list:
        return _plain(kind, parameter.type_descriptor.parameter_info, value)
    if not value or not isinstance(value, list | tuple):
        return UNKNOWN
    entries = [_plain(get_args(kind)[0], parameter.type_descriptor.parameter_info, entry) for entry in value]
    return UNKNOWN if any(entry is UNKNOWN for entry in entries) else entries


def _plain(kind: Any, settings: Any, value: Any) -> Any:
    if settings.parser is not None:
        return UNKNOWN
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and is_number(value):
        least, most = settings.min, settings.max
        if (least is None or int(value) >= least) and (most is None or int(value) <= most):
            return int(value)
    if kind is str and isinstance(value, str) and value.isprintable():
        return value
    if kind is Path and _is_path(value) and not (settings.exists or settings.writable or settings.resolve_path):
        is_readable = os.access(value, os.R_OK) or not os.path.lexists(value)
        if settings.file_okay and settings.dir_okay and is_readable:
            return Path(value)
    return UNKNOWN


def is_number(value: Any) -> bool:
    """Whether it is a whole number without a sign, or the text of one that fits into 64 bits whatever its digits."""
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and len(value) <= 18
    return isinstance(value, int) and not isinstance(value, bool)


def _is_path(value: Any) -> bool:
    return isinstance(value, Path) or (isinstance(value, str) and bool(value) and value.isprintable())
