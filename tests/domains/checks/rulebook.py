"""The rules of every domain.

Most are counts: `one("car", "at x _", "on x")` says that every car is either at exactly one location or on the ferry.
"""

from __future__ import annotations

from tests.domains.checks import special
from tests.domains.checks.rules import (
    Rule,
    a_chain,
    a_grid,
    acyclic,
    arguments,
    at_most_one,
    connected,
    count,
    goal_at_most_one,
    goals,
    none,
    on_a_plane,
    one,
    some,
    symmetric,
    total_order,
)

_BLOCKSWORLD: tuple[Rule, ...] = (
    one("object", "on x _", "on-table x", "holding x"),
    one("object", "on _ x", "clear x", "holding x"),
    one("", "arm-empty", "holding _"),
    acyclic("on"),
    goal_at_most_one("object", "on x _", "on-table x"),
    goal_at_most_one("object", "on _ x", "clear x"),
    goals("on _ _", "on-table _", "clear _"),
)

_CHILDSNACK: tuple[Rule, ...] = (
    one("tray", "at x _"),
    one("child", "waiting x _"),
    none("", "waiting _ kitchen"),
    one("child", "allergic_gluten x", "not_allergic_gluten x"),
    at_most_one("sandwich", "notexist x", "at_kitchen_sandwich x", "ontray x _"),
    at_most_one("sandwich", "notexist x", "no_gluten_sandwich x"),
    special.childsnack_sandwiches,
    special.childsnack_suffices,
    some("", "at _ _"),
    goals("served _"),
)

_DELIVERY: tuple[Rule, ...] = (
    one("locatable", "at x _", "carrying _ x"),
    one("truck", "empty x", "carrying x _"),
    some("", "at _truck _"),
    *a_grid("cell", "adjacent"),
    goal_at_most_one("package", "at x _"),
    goals("at _package _"),
)

_DEPOTS: tuple[Rule, ...] = (
    one("truck|hoist|pallet", "at x _"),
    one("crate", "on x _", "in x _", "lifting _ x"),
    one("crate", "at x _", "in x _", "lifting _ x"),
    one("crate", "clear x", "on _ x", "in x _", "lifting _ x"),
    one("pallet", "clear x", "on _ x"),
    one("hoist", "available x", "lifting x _"),
    some("place", "at _hoist x"),
    some("place", "at _pallet x"),
    some("", "at _truck _"),
    acyclic("on"),
    special.depots_towers_at_one_place,
    goal_at_most_one("crate", "on x _"),
    goal_at_most_one("surface", "on _ x"),
    goals("on _ _"),
)

_DRIVERLOG: tuple[Rule, ...] = (
    one("driver", "at x _", "driving x _"),
    one("truck", "at x _"),
    one("truck", "empty x", "driving _ x"),
    one("obj", "at x _", "in x _"),
    some("", "at _driver _", "driving _ _"),
    some("", "at _truck _"),
    symmetric("link"),
    symmetric("path"),
    special.driverlog_within_reach,
    goal_at_most_one("locatable", "at x _"),
    goals("at _ _"),
)

_FERRY: tuple[Rule, ...] = (
    one("car", "at x _", "on x"),
    one("", "at-ferry _"),
    one("", "empty-ferry", "on _"),
    goal_at_most_one("car", "at x _"),
    goals("at _ _"),
)

_FLOORTILE: tuple[Rule, ...] = (
    one("robot", "robot-at x _"),
    one("robot", "robot-has x _"),
    one("tile", "clear x", "robot-at _ x", "painted x _"),
    some("", "robot-at _ _"),
    on_a_plane(special.floortile_steps),
    special.floortile_colours,
    goal_at_most_one("tile", "painted x _"),
    goals("painted _ _"),
)

_FREECELL: tuple[Rule, ...] = (
    one("card", "suit x _"),
    one("card", "value x _"),
    at_most_one("card", "on x _", "bottomcol x", "incell x", "home x"),
    at_most_one("card", "on _ x", "clear x"),
    one("suitsort", "suit _home x"),
    one("", "cellspace _"),
    one("", "colspace _"),
    acyclic("on"),
    a_chain("num", "successor"),
    a_chain("cellnum", "cellsuccessor"),
    a_chain("colnum", "colsuccessor"),
    special.freecell_deal,
    goals("home _"),
)

_GOLDMINER: tuple[Rule, ...] = (
    one("", "robot-at _"),
    one("", "arm-empty", "holds-bomb", "holds-laser", "holds-gold"),
    one("", "laser-at _", "holds-laser"),
    some("", "bomb-at _"),
    one("loc", "clear x", "soft-rock-at x", "hard-rock-at x"),
    *a_grid("loc", "connected"),
    special.goldminer_gold,
    goals("holds-gold"),
)

_GRID: tuple[Rule, ...] = (
    one("object", "place x", "key x", "shape x"),
    arguments("conn", "place", "place"),
    arguments("at", "key", "place"),
    arguments("key-shape", "key", "shape"),
    arguments("lock-shape", "place", "shape"),
    one("", "at-robot _"),
    one("", "arm-empty", "holding _"),
    one("place", "locked x", "open x"),
    one("key", "at x _", "holding x"),
    one("key", "key-shape x _"),
    *a_grid("place", "conn"),
    special.grid_locks,
    special.grid_keys_within_reach,
    goal_at_most_one("key", "at x _"),
    goals("at _ _"),
)

_GRIPPERS: tuple[Rule, ...] = (
    one("robot", "at-robby x _"),
    one("gripper", "free _ x", "carry _ _ x"),
    count(2, 2, "robot", "free x _", "carry x _ _"),
    one("object!", "at x _", "carry _ x _"),
    arguments("at", "object!", "room"),
    arguments("carry", "robot", "object!", "gripper"),
    some("", "at-robby _ _"),
    goal_at_most_one("object!", "at x _"),
    goals("at _ _"),
)

_LOGISTICS: tuple[Rule, ...] = (
    one("object", "obj x", "truck x", "location x", "airplane x", "city x"),
    arguments("airport", "location"),
    arguments("at", "obj|truck|airplane", "location"),
    arguments("in", "obj", "truck|airplane"),
    arguments("in-city", "location", "city"),
    one("obj", "at x _", "in x _"),
    one("truck|airplane", "at x _"),
    one("location", "in-city x _"),
    some("city", "in-city _airport x"),
    special.logistics_vehicles,
    goal_at_most_one("obj", "at x _"),
    goals("at _obj _"),
)

_MICONIC: tuple[Rule, ...] = (
    one("passenger", "origin x _", "boarded x", "served x"),
    one("passenger", "destin x _"),
    one("", "lift-at _"),
    total_order("floor", "above"),
    special.miconic_somewhere_else,
    goals("served _"),
)

_REWARD: tuple[Rule, ...] = (
    one("", "at _"),
    at_most_one("cell", "reward x", "picked x"),
    *a_grid("cell", "adjacent"),
    special.reward_within_reach,
    goals("picked _"),
)

_ROVERS: tuple[Rule, ...] = (
    one("rover", "at x _"),
    one("rover", "store_of _ x"),
    one("store", "store_of x _"),
    one("store", "empty x", "full x"),
    one("lander", "at_lander x _"),
    some("", "at_lander _ _"),
    one("camera", "on_board x _"),
    one("camera", "calibration_target x _"),
    some("camera", "supports x _"),
    some("objective", "visible_from x _"),
    symmetric("visible"),
    symmetric("can_traverse"),
    special.rovers_paths_seen,
    special.rovers_able,
    goals("communicated_soil_data _", "communicated_rock_data _", "communicated_image_data _ _"),
)

_SATELLITE: tuple[Rule, ...] = (
    one("satellite", "pointing x _"),
    some("satellite", "on_board _ x"),
    one("instrument", "on_board x _"),
    one("instrument", "calibration_target x _"),
    some("instrument", "supports x _"),
    special.satellite_power,
    special.satellite_modes,
    goal_at_most_one("satellite", "pointing x _"),
    goals("pointing _ _", "have_image _ _"),
)

_SOKOBAN: tuple[Rule, ...] = (
    one("", "at-robot _"),
    one("box", "at x _"),
    at_most_one("location", "clear x", "at _ x"),
    on_a_plane(special.sokoban_steps),
    special.sokoban_floor,
    goal_at_most_one("box", "at x _"),
    goal_at_most_one("location", "at _ x"),
    goals("at _ _"),
)

_SPANNER: tuple[Rule, ...] = (
    one("man|nut", "at x _"),
    one("spanner", "at x _", "carrying _ x"),
    one("nut", "loose x", "tightened x"),
    some("", "at _man _"),
    special.spanner_suffices,
    goals("tightened _"),
)

_TRANSPORT: tuple[Rule, ...] = (
    one("vehicle", "at x _"),
    one("vehicle", "capacity x _"),
    one("package", "at x _", "in x _"),
    some("", "at _vehicle _"),
    a_chain("size", "capacity-predecessor"),
    special.transport_capacity,
    symmetric("road"),
    connected("location", "road"),
    goal_at_most_one("package", "at x _"),
    goals("at _package _"),
)

_VISITALL: tuple[Rule, ...] = (
    one("", "at-robot _"),
    *a_grid("place", "connected"),
    special.visitall_start,
    goals("visited _"),
)

RULES: dict[str, tuple[Rule, ...]] = {
    "blocksworld": _BLOCKSWORLD,
    "childsnack": _CHILDSNACK,
    "delivery": _DELIVERY,
    "depots": _DEPOTS,
    "driverlog": _DRIVERLOG,
    "ferry": _FERRY,
    "floortile": _FLOORTILE,
    "freecell": _FREECELL,
    "goldminer": _GOLDMINER,
    "grid": _GRID,
    "grippers": _GRIPPERS,
    "logistics": _LOGISTICS,
    "miconic": _MICONIC,
    "reward": _REWARD,
    "rovers": _ROVERS,
    "satellite": _SATELLITE,
    "satellite-paper": _SATELLITE,
    "sokoban": _SOKOBAN,
    "spanner": _SPANNER,
    "transport": _TRANSPORT,
    "visitall": _VISITALL,
}
"""Rules by the name of the domain."""
