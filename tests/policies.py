"""What test policies have beside their decisions."""

from __future__ import annotations

from copy import copy
from typing import Self

from saltus.lookahead import PlaySpec


class Plays:
    """A policy that plays by the default rules, or by others; its lists are shared by all who play for it."""

    play_spec = PlaySpec()

    def playing(self, spec: PlaySpec) -> Self:
        found = copy(self)
        found.play_spec = spec
        return found
