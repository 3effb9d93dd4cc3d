"""Rovers problems: waypoints that are visible from each other, and rovers with some of the equipment.

Visibility between waypoints is a random connected graph of any density. Every rover can drive along
a random spanning tree of it and a third of the other edges, so it reaches every waypoint. Each kind
of equipment is on a random non-empty set of rovers. Cameras are on the rovers equipped for imaging.
Every objective is visible from about half of the waypoints. The goal asks for some of the existing
samples and for images in modes that some camera supports.

Solvable by construction: every rover reaches every sample, every place to see an objective and a
waypoint that sees the lander; a full store can be emptied; a camera can be calibrated again.
The number of objects is exact; atoms vary with the density and the equipment.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_below, refuse_edges
from saltus.domains.text import both_ways, connected_pairs, numbered, problem_text, spanning_pairs

MODES = ["colour", "high_res", "low_res"]


@dataclass(frozen=True)
class Sizes:
    rovers: int
    """Rovers, each with one store."""
    waypoints: int
    """Waypoints, at least 2."""
    cameras: int
    """Cameras, on the rovers that are equipped for imaging."""
    objectives: int
    """Objectives to take images of."""
    sights: int = 0
    """Pairs of waypoints visible from each other; 0 draws a number between a tree and a complete graph."""

    def __post_init__(self) -> None:
        refuse_below(self, rovers=1, waypoints=2, cameras=1, objectives=1, sights=0)
        if self.sights:
            refuse_edges(self, "sights", self.waypoints, "waypoints")


def _some(names: list[str], rng: random.Random, fewest: int = 0) -> list[str]:
    """A random subset of at least `fewest` elements; every size is equally likely."""
    return rng.sample(names, rng.randrange(fewest, len(names) + 1))


def _camera_atoms(
    cameras: list[str], imaging: list[str], objectives: list[str], rng: random.Random
) -> tuple[list[str], list[str]]:
    """Atoms of the cameras, and the modes that some camera supports."""
    atoms: list[str] = []
    supported: set[str] = set()
    for camera in cameras:
        modes = MODES if len(cameras) == 1 else _some(MODES, rng, fewest=1)
        supported.update(modes)
        atoms.append(f"(calibration_target {camera} {rng.choice(objectives)})")
        atoms.append(f"(on_board {camera} {rng.choice(imaging)})")
        atoms.extend(f"(supports {camera} {mode})" for mode in modes)
    return atoms, sorted(supported)


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    rovers = numbered("rover", sizes.rovers)
    stores = [f"{rover}store" for rover in rovers]
    waypoints = numbered("waypoint", sizes.waypoints)
    cameras = numbered("camera", sizes.cameras)
    objectives = numbered("objective", sizes.objectives)
    soil, rock, imaging = (_some(rovers, rng, fewest=1) for _ in range(3))
    init = [f"(at_lander general {rng.choice(waypoints)})"]
    init += [f"(at {rover} {rng.choice(waypoints)})" for rover in rovers]
    init += [f"(equipped_for_soil_analysis {rover})" for rover in soil]
    init += [f"(equipped_for_rock_analysis {rover})" for rover in rock]
    init += [f"(equipped_for_imaging {rover})" for rover in imaging]
    init += [f"(empty {store})" for store in stores]
    init += [f"(store_of {store} {rover})" for store, rover in zip(stores, rovers, strict=True)]
    rocks = [waypoint for waypoint in waypoints if rng.random() < 0.5]
    soils = [waypoint for waypoint in waypoints if rng.random() < 0.5]
    init += [f"(at_rock_sample {waypoint})" for waypoint in rocks]
    init += [f"(at_soil_sample {waypoint})" for waypoint in soils]
    sights = connected_pairs(sizes.waypoints, sizes.sights, rng)
    init += both_ways("visible", waypoints, sights)
    for rover in rovers:
        tree = spanning_pairs(sizes.waypoints, sights, rng)
        passable = [pair for pair in sights if pair in tree or rng.random() < 1 / 3]
        init += both_ways(f"can_traverse {rover}", waypoints, passable)
    camera_atoms, modes = _camera_atoms(cameras, imaging, objectives, rng)
    init += camera_atoms
    for objective in objectives:
        seen_from = [waypoint for waypoint in waypoints if rng.random() < 0.5]
        for waypoint in seen_from or [rng.choice(waypoints)]:
            init.append(f"(visible_from {objective} {waypoint})")
    goal = [f"(communicated_rock_data {waypoint})" for waypoint in _some(rocks, rng)]
    goal += [f"(communicated_soil_data {waypoint})" for waypoint in _some(soils, rng)]
    images = [f"{objective} {mode}" for objective in objectives for mode in modes]
    fewest = 0 if goal else 1
    goal += [f"(communicated_image_data {image})" for image in _some(images, rng, fewest)]
    objects = [
        (["general"], "lander"),
        (MODES, "mode"),
        (rovers, "rover"),
        (stores, "store"),
        (waypoints, "waypoint"),
        (cameras, "camera"),
        (objectives, "objective"),
    ]
    return problem_text(name, "rover", objects, init, goal)


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 2, 1, 1), Sizes(3, 8, 3, 7)),
    "validation": Ramp(Sizes(3, 8, 3, 7), Sizes(4, 10, 4, 10)),
    "easy": Ramp(Sizes(1, 4, 1, 1), Sizes(4, 10, 4, 10)),
    "medium": Ramp(Sizes(4, 15, 5, 15), Sizes(10, 88, 49, 88)),
    "hard": Ramp(Sizes(15, 100, 60, 100), Sizes(30, 197, 99, 236)),
}
