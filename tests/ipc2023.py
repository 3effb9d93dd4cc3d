"""The ten domains of the IPC 2023 Learning Track."""

from __future__ import annotations

DOMAINS = (
    "blocksworld",
    "childsnack",
    "ferry",
    "floortile",
    "miconic",
    "rovers",
    "satellite",
    "sokoban",
    "spanner",
    "transport",
)
