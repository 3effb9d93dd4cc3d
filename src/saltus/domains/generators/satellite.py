"""Satellite problems with the sizes of the IPC 2023 Learning Track.

Every satellite has at least one instrument; every instrument has one calibration target and a random
non-empty set of modes. The goal asks for images in supported modes and for the final directions of
some satellites.

Solvable by construction: a satellite can turn to any direction, switch its instruments on one after
the other and calibrate each; it turns to its final direction last. The number of objects is exact; atoms vary
with the number of supported modes unless `supports` fixes it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_above, refuse_below
from saltus.domains.text import numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    satellites: int
    """Satellites."""
    instruments: int
    """Instruments, at least one per satellite."""
    modes: int
    """Modes an image can be taken in."""
    directions: int
    """Directions to point to, at least 2."""
    supports: int = 0
    """Pairs of an instrument and a mode it supports; 0 draws a number for every instrument."""

    def __post_init__(self) -> None:
        refuse_below(self, satellites=1, instruments=1, modes=1, directions=2, supports=0)
        refuse_below(self, instruments=self.satellites)
        if self.supports:
            refuse_below(self, supports=self.instruments)
        most = self.instruments * self.modes
        refuse_above("supports", self.supports, most, "one per instrument and mode")


def _supported(sizes: Sizes, rng: random.Random) -> list[tuple[int, int]]:
    """Pairs (instrument, mode), at least one for every instrument."""
    if not sizes.supports:
        return [
            (instrument, mode)
            for instrument in range(sizes.instruments)
            for mode in sorted(rng.sample(range(sizes.modes), rng.randrange(sizes.modes) + 1))
        ]
    first = [(instrument, rng.randrange(sizes.modes)) for instrument in range(sizes.instruments)]
    chosen = set(first)
    rest = [
        (instrument, mode)
        for instrument in range(sizes.instruments)
        for mode in range(sizes.modes)
        if (instrument, mode) not in chosen
    ]
    return sorted(first + rng.sample(rest, sizes.supports - len(first)))


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    satellites = numbered("sat", sizes.satellites)
    instruments = numbered("ins", sizes.instruments)
    modes = numbered("mod", sizes.modes)
    directions = numbered("dir", sizes.directions)
    init = [f"(pointing {satellite} {rng.choice(directions)})" for satellite in satellites]
    init += [f"(power_avail {satellite})" for satellite in satellites]
    init += [f"(calibration_target {one} {rng.choice(directions)})" for one in instruments]
    carriers = satellites + [rng.choice(satellites) for _ in range(sizes.instruments - sizes.satellites)]
    rng.shuffle(carriers)
    init += [
        f"(on_board {instrument} {satellite})" for instrument, satellite in zip(instruments, carriers, strict=True)
    ]
    supported = _supported(sizes, rng)
    init += [f"(supports {instruments[one]} {modes[mode]})" for one, mode in supported]
    pointed = rng.sample(satellites, rng.randrange(sizes.satellites + 1))
    goal = [f"(pointing {satellite} {rng.choice(directions)})" for satellite in pointed]
    images = [
        f"(have_image {direction} {modes[mode]})"
        for direction in directions
        for mode in sorted({mode for _, mode in supported})
    ]
    goal += rng.sample(images, rng.randrange(len(images)) + 1)
    objects = [
        (satellites, "satellite"),
        (instruments, "instrument"),
        (modes, "mode"),
        (directions, "direction"),
    ]
    return problem_text(name, "satellite", objects, init, goal)


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 1, 1, 2), Sizes(8, 14, 2, 8)),
    "validation": Ramp(Sizes(8, 15, 3, 8), Sizes(10, 20, 3, 10)),
    "easy": Ramp(Sizes(3, 3, 1, 4), Sizes(10, 20, 3, 10)),
    "medium": Ramp(Sizes(15, 15, 3, 15), Sizes(40, 78, 5, 30)),
    "hard": Ramp(Sizes(50, 50, 5, 40), Sizes(99, 195, 10, 98)),
}
