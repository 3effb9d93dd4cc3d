"""Stage `lab.experiment`: a table of a TOML file whose values are read one by one; errors name the file and the key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from saltus.errors import ConfigurationError, shorten, suggestion
from saltus.policy.amounts import MEGABYTES, amount, seconds_of

MOST_WHOLE = 2**31
"""Whole numbers are smaller."""


class Table:
    """Values by key; those that are never asked for are unknown, which `end` reports."""

    def __init__(self, file: str, name: str, values: dict[str, Any]) -> None:
        self.file = file
        self.name = name
        """Place in the file, such as `systems.aiw-ad`; empty for the whole file."""
        self.values = values
        self.asked: dict[str, None] = {}

    def error(self, message: str) -> ConfigurationError:
        """An error about the table."""
        return ConfigurationError(f"{self.file}: {f'[{self.name}] ' if self.name else ''}{message}")

    def wrong(self, key: str, value: object, expected: str) -> ConfigurationError:
        """An error about a value."""
        return self.error(f"{key} is {shorten(repr(value))}, expected {expected}")

    def has(self, key: str) -> bool:
        """Whether there is a value."""
        return key in self.values

    def take(self, key: str) -> Any:
        """A value; None if there is none."""
        self.asked[key] = None
        return self.values.get(key)

    def text(self, key: str, default: str) -> str:
        """A text."""
        value = self.take(key)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise self.wrong(key, value, "a text")
        return value

    def choice(self, key: str, known: Iterable[str], default: str) -> str:
        """One of some texts."""
        value = self.text(key, default)
        if self.has(key) and value not in known:
            raise self.wrong(key, value, f"one of {', '.join(known)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, each once; empty if there is none."""
        value = self.take(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(entry, str) and entry.strip() for entry in value):
            raise self.wrong(key, value, "a list of texts")
        return tuple(dict.fromkeys(value))

    def whole(self, key: str, default: int | None, least: int = 1) -> int | None:
        """A whole number; the text none stands for no limit."""
        value = self.take(key)
        if value is None:
            return default
        if value == "none":
            return None
        if type(value) is not int or not least <= value < MOST_WHOLE:
            raise self.wrong(key, value, f"a whole number, at least {least}")
        return value

    def wholes(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers, at least 1; empty if there is none."""
        value = self.take(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(type(entry) is int and 1 <= entry < MOST_WHOLE for entry in value):
            raise self.wrong(key, value, "a list of whole numbers, at least 1")
        return tuple(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.take(key)
        if value is None:
            return default
        if type(value) is not bool:
            raise self.wrong(key, value, "true or false")
        return value

    def seconds(self, key: str, default: float | None) -> float | None:
        """A time: a number of seconds, or a text such as 10m; none for no limit."""
        value = self._amount(key)
        if value is None:
            return default
        try:
            return seconds_of(key, value)
        except ConfigurationError as error:
            raise self.error(str(error)) from None

    def megabytes(self, key: str, default: float | None) -> float | None:
        """An amount of memory: a number of MiB, or a text such as 8G; none for no limit."""
        value = self._amount(key)
        if value is None:
            return default
        try:
            return amount(key, value, MEGABYTES)
        except ConfigurationError as error:
            raise self.error(str(error)) from None

    def _amount(self, key: str) -> str | None:
        """A number or a text with a unit, as a text; None if there is none."""
        value = self.take(key)
        if value is None:
            return None
        if type(value) not in (int, float, str):
            raise self.wrong(key, value, "a number, or a text with a unit")
        return str(value)

    def section(self, key: str) -> Table:
        """A table in this one; empty if there is none."""
        value = self.take(key)
        if value is not None and not isinstance(value, dict):
            raise self.wrong(key, value, f"a table, [{key}]")
        return Table(self.file, f"{self.name}.{key}" if self.name else key, value or {})

    def sections(self) -> Iterator[Table]:
        """All tables in this one, in the order of the file."""
        for key in self.values:
            yield self.section(key)

    def end(self) -> None:
        """Raises an error for a key that was never asked for."""
        for key in self.values:
            if key not in self.asked:
                hint = suggestion(key, self.asked) or f"; known are {', '.join(self.asked)}"
                raise self.error(f"unknown key {shorten(key)!r}{hint}")
