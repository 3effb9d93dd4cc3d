"""Satellite problems with the sizes of the paper's second satellite benchmark.

The domain and the construction are those of `saltus.domains.generators.satellite`. The smallest
and the largest problem of every split have the objects and atoms of the paper's data table (6 and
18 for the smallest training problem: 1 satellite, 1 instrument, 2 modes, 2 directions); how the
table's totals divide into satellites, instruments, modes and directions is our choice.
"""

from __future__ import annotations

from collections.abc import Mapping

from saltus.domains.generators.satellite import Sizes, generate
from saltus.domains.sizes import Ramp, Split

__all__ = ["SPLITS", "Sizes", "generate"]


def _possible(values: dict[str, int]) -> Mapping[str, int]:
    """Sizes with no more supported modes than instruments and modes allow."""
    most = values["instruments"] * values["modes"]
    supports = max(values["instruments"], min(values["supports"], most))
    return {**values, "supports": supports}


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 1, 2, 2, 2), Sizes(6, 15, 4, 9, 48), adjust=_possible),
    "validation": Ramp(Sizes(7, 18, 5, 23, 60), Sizes(15, 40, 10, 57, 290), adjust=_possible),
    "test": Ramp(Sizes(18, 50, 10, 62, 388), Sizes(50, 140, 20, 225, 2175), adjust=_possible),
}
