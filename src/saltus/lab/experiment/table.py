"""Stage `lab.experiment`: a table of a TOML file whose values are read one by one; errors name the file and the key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from saltus.errors import ConfigurationError, shorten, suggestion
from saltus.policy.amounts import MEGABYTES, amount, seconds_of

Value = TypeVar("Value")


def is_text(value: object) -> bool:
    """Whether a value is a text with something in it."""
    return isinstance(value, str) and bool(value.strip())


def is_whole(value: object, least: int = 1) -> bool:
    """Whether a value is a whole number that is neither too small nor absurdly large."""
    return type(value) is int and least <= value < 2**31


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

    def read(self, key: str, default: Value, fits: Callable[[Any], bool], expected: str) -> Any | Value:
        """A value that fits; the default if there is none."""
        value = self.take(key)
        if value is not None and not fits(value):
            raise self.wrong(key, value, expected)
        return default if value is None else value

    def text(self, key: str, default: str) -> str:
        """A text."""
        found: str = self.read(key, default, lambda value: is_text(value) and "\0" not in value, "a text")
        return found

    def choice(self, key: str, known: Iterable[str], default: str) -> str:
        """One of some texts."""
        value = self.text(key, default)
        if self.has(key) and value not in known:
            raise self.wrong(key, value, f"one of {', '.join(known)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, each once; empty if there is none."""
        found = self.read(key, (), lambda value: type(value) is list and all(map(is_text, value)), "a list of texts")
        return tuple(dict.fromkeys(found))

    def whole(self, key: str, default: int | None, least: int = 1) -> int | None:
        """A whole number; the text none stands for no limit."""
        expected = f"a whole number, at least {least}"
        found = self.read(key, default, lambda value: value == "none" or is_whole(value, least), expected)
        return None if found == "none" else found

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        found: bool = self.read(key, default, lambda value: type(value) is bool, "true or false")
        return found

    def seconds(self, key: str, default: float | None) -> float | None:
        """A time: a number of seconds, or a text such as 10m; none for no limit."""
        return self._amount(key, default, lambda text: seconds_of(key, text))

    def megabytes(self, key: str, default: float | None) -> float | None:
        """An amount of memory: a number of MiB, or a text such as 8G; none for no limit."""
        return self._amount(key, default, lambda text: amount(key, text, MEGABYTES))

    def _amount(self, key: str, default: float | None, read: Callable[[str], float | None]) -> float | None:
        """A number, or a text with a unit."""
        known = (int, float, str)
        value = self.read(key, None, lambda value: type(value) in known, "a number, or a text with a unit")
        try:
            return default if value is None else read(str(value))
        except ConfigurationError as error:
            raise self.error(str(error)) from None

    def section(self, key: str) -> Table:
        """A table in this one; empty if there is none."""
        values: dict[str, Any] = self.read(key, {}, lambda value: isinstance(value, dict), f"a table, [{key}]")
        return Table(self.file, f"{self.name}.{key}" if self.name else key, values)

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
