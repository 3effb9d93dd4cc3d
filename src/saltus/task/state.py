"""Stage `task`: states and goals as sorted arrays of atom codes.

A code is a 64-bit integer computed from predicate and arguments (`Task.encode`).

Computed codes, unlike numbers in the order of appearance, need no shared table: the kernel's threads and separate
processes agree on them, and a state saved with a run means the same when the run is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def sorted_codes(codes: Iterable[int] | Codes) -> Codes:
    """Distinct codes in ascending order, read-only."""
    array = np.sort(codes if isinstance(codes, np.ndarray) else np.fromiter(codes, np.int64))
    array = array[_first_of_each(array)]  # `np.unique` would import `numpy.ma`, which takes longer than reading a task
    array.flags.writeable = False
    return array


def _first_of_each(ascending: Codes) -> NDArray[np.bool_]:
    """Whether each code differs from the one before it."""
    first = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def difference(left: Codes, right: Codes) -> Codes:
    """Codes of `left` that are not in `right`. Both must be ascending without repetitions, as the result is."""
    return left[~_contained(left, right)]


def intersection(left: Codes, right: Codes) -> Codes:
    """Codes of `left` that are in `right`. Both must be ascending without repetitions, as the result is."""
    return left[_contained(left, right)]


def _contained(left: Codes, right: Codes) -> NDArray[np.bool_]:
    """Whether each code of `left` is in `right`. Several times faster than NumPy's set functions on small arrays."""
    if not len(right):
        return np.zeros(len(left), bool)
    places = right.searchsorted(left)
    places[places == len(right)] = 0
    found: NDArray[np.bool_] = right[places] == left
    return found


def changed_codes(codes: Codes, added: Codes, deleted: Codes) -> Codes:
    """Ascending codes with some added, none of which are among them, and some deleted, all of which are."""
    kept = np.delete(codes, codes.searchsorted(deleted)) if len(deleted) else codes
    return np.insert(kept, kept.searchsorted(added), added) if len(added) else kept.copy()


class State:
    """An immutable set of fluent atoms, compared and hashed by content."""

    __slots__ = ("_hash", "codes")

    def __init__(self, codes: Iterable[int] | Codes) -> None:
        self.codes = sorted_codes(codes)
        self._hash = hash(self.codes.tobytes())

    def changed(self, added: Codes, deleted: Codes) -> State:
        """The state with some atoms added, none of which it has, and some deleted, all of which it has."""
        state = State.__new__(State)
        state.codes = changed_codes(self.codes, added, deleted)
        state.codes.flags.writeable = False
        state._hash = hash(state.codes.tobytes())
        return state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and np.array_equal(self.codes, other.codes)

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.codes.tolist())

    def __contains__(self, code: int) -> bool:
        i = int(np.searchsorted(self.codes, code))
        return i < len(self.codes) and int(self.codes[i]) == code

    def __repr__(self) -> str:
        return f"State({len(self)} atoms)"


class StateSet:
    """A set of states of which only the hashes are kept, 64 bits each, so that large states take no memory.

    Two different states have the same hash about once in 10^19 pairs; then the second counts as known.
    """

    __slots__ = ("_hashes",)

    def __init__(self, states: Iterable[State] = ()) -> None:
        self._hashes = {hash(state) for state in states}

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, state: State) -> bool:
        return hash(state) in self._hashes

    def add(self, state: State) -> None:
        """Adds a state."""
        self._hashes.add(hash(state))

    def update(self, states: Iterable[State]) -> None:
        """Adds several states."""
        self._hashes.update(map(hash, states))


class Goal:
    """Fluent atoms that must be true and fluent atoms that must be false.

    Static literals are decided when the goal is made: true ones are dropped, a false one makes the goal `impossible`.
    """

    __slots__ = ("impossible", "negative", "positive")

    def __init__(self, positive: Iterable[int] | Codes, negative: Iterable[int] | Codes = (), impossible: bool = False):
        self.positive = sorted_codes(positive)
        self.negative = sorted_codes(negative)
        self.impossible = impossible

    @property
    def size(self) -> int:
        """Number of literals."""
        return len(self.positive) + len(self.negative)

    def holds(self, state: State) -> bool:
        """Whether the state satisfies the goal."""
        return not self.impossible and not len(self.missing(state)) and not len(self.violated(state))

    def count(self, state: State) -> int:
        """Number of literals that hold."""
        return self.size - len(self.missing(state)) - len(self.violated(state))

    def missing(self, state: State) -> Codes:
        """Atoms that must be true but are not."""
        return difference(self.positive, state.codes)

    def violated(self, state: State) -> Codes:
        """Atoms that must be false but are true."""
        return intersection(self.negative, state.codes)

    def _key(self) -> tuple[bytes, bytes, bool]:
        return self.positive.tobytes(), self.negative.tobytes(), self.impossible

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Goal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Goal({len(self.positive)} atoms, {len(self.negative)} negated)"
