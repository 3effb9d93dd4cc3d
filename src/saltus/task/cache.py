"""Stage `task`: values derived from a task or a domain, computed once and freed with it.

The kernel's copy of a task, ground actions and relation tables are expensive to make and belong to one object. They
are kept next to the object rather than in it: a task holds its fields alone, and can be pickled after a search.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class PerObject(Generic[Owner, Value]):
    """A value per object, told apart by identity: equal domains have values of their own, and nothing is hashed.

    May be used from several threads. Two that ask for a new value at the same time may both compute it; both get the
    one that was stored first. A value must not refer to its owner, or neither is ever freed.
    """

    def __init__(self, make: Callable[[Owner], Value]) -> None:
        self._make = make
        self._known: dict[int, tuple[weakref.ref[Owner], Value]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, owner: Owner) -> Value:
        """The owner's value, made when it is first asked for."""
        key = id(owner)
        found = self._known.get(key)
        if found is None:
            value = self._make(owner)
            # The callback runs before the owner's memory, and with it the key, can be used again. It takes no lock:
            # the garbage collector may call it at any time, on any thread.
            reference = weakref.ref(owner, lambda _: self._known.pop(key, None))
            found = self._known.setdefault(key, (reference, value))
        return found[1]
