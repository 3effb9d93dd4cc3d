"""Rules of well-formedness that belong to one domain each.

Most ask whether what the goal needs is there and within reach. They are necessary for a problem to be solvable, and do
not replace a planner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.domains.checks.facts import Facts, Where, chain, graph_of, reached
from tests.domains.checks.rules import Offset

DIRECTIONS: dict[str, Offset] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def childsnack_sandwiches(facts: Facts) -> Iterator[str]:
    """Every sandwich is in one state; only servings make sandwiches vanish."""
    known = facts.kind("notexist") | facts.kind("at_kitchen_sandwich") | facts.find("ontray x _")
    lost = facts.kind("sandwich") - known
    if lost and not facts.kind("served"):
        yield f"init: {len(lost)} sandwiches are neither made nor to be made"


def childsnack_suffices(facts: Facts) -> Iterator[str]:
    """Sandwiches and portions suffice for the children still to be served, also for the allergic ones."""
    hungry = facts.find("served x", Where.GOAL) - facts.kind("served")
    ready = facts.kind("at_kitchen_sandwich") | facts.find("ontray x _")
    pairs = {
        "sandwiches without gluten": (
            len(hungry & facts.kind("allergic_gluten")),
            len(ready & facts.kind("no_gluten_sandwich")),
            min(
                len(facts.kind(f"at_kitchen_{part}") & facts.kind(f"no_gluten_{part}")) for part in ("bread", "content")
            ),
        ),
        "sandwiches": (
            len(hungry),
            len(ready),
            min(len(facts.kind(f"at_kitchen_{part}")) for part in ("bread", "content")),
        ),
    }
    for name, (wanted, made, portions) in pairs.items():
        possible = made + min(portions, len(facts.kind("notexist")))
        if wanted > possible:
            yield f"init: {wanted} {name} are needed, {possible} are possible"


def depots_towers_at_one_place(facts: Facts) -> Iterator[str]:
    """What stands on something is where that is."""
    place = facts.image("at")
    for upper, lower in sorted(facts.atoms("on")):
        if place.get(upper) != place.get(lower):
            yield f"init: {upper} is on {lower} but at another place"


def driverlog_within_reach(facts: Facts) -> Iterator[str]:
    """Roads and footpaths are connected each; nothing is at a blind location, nor should be."""
    roads, paths = facts.graph("link"), facts.graph("path")
    for name, graph in (("link", roads), ("path", paths)):
        lost = set(graph) - reached(graph, sorted(graph)[:1])
        if lost:
            yield f"init: {len(lost)} of {len(graph)} locations of {name} are not connected with the others"
    for where in Where:
        for thing, place in sorted(facts.atoms("at", where)):
            if place not in (paths if thing in facts.kind("driver") else roads):
                yield f"{where}: {thing} is at {place}, which cannot be reached"


def floortile_colours(facts: Facts) -> Iterator[str]:
    """Colours of the goal can be had, and no tile of the goal has another colour already."""
    colours = facts.kind("available-color") | facts.find("robot-has _ x")
    painted = facts.image("painted")
    for tile, colour in sorted(facts.atoms("painted", Where.GOAL)):
        if colour not in colours:
            yield f"goal: {tile} in {colour}, which no robot can have"
        if painted.get(tile, colour) != colour:
            yield f"goal: {tile} in {colour}, but it is painted already"


def floortile_steps(facts: Facts) -> dict[str, list[tuple[str, Offset]]]:
    """Neighbours of every tile, and where they lie."""
    around: dict[str, list[tuple[str, Offset]]] = {name: [] for name in facts.kind("tile")}
    for direction, step in DIRECTIONS.items():
        for other, here in sorted(facts.atoms(direction)):
            around[here].append((other, step))
    return around


def sokoban_steps(facts: Facts) -> dict[str, list[tuple[str, Offset]]]:
    """Neighbours of every cell of the floor, and where they lie."""
    around: dict[str, list[tuple[str, Offset]]] = {}
    for here, other, direction in sorted(facts.atoms("adjacent")):
        around.setdefault(here, []).append((other, DIRECTIONS.get(direction, (0, 0))))
    return around


def sokoban_floor(facts: Facts) -> Iterator[str]:
    """Robot, boxes and goals are on the floor; cells of the floor are clear or hold a box."""
    floor = facts.find("adjacent x _ _") | facts.kind("clear")
    boxes = facts.find("at _ x")
    for cell in sorted((facts.kind("at-robot") | boxes | facts.find("at _ x", Where.GOAL)) - floor):
        yield f"init: {cell} is not a part of the floor, but robot, box or goal is there"
    for cell in sorted(floor - facts.kind("clear") - boxes):
        yield f"init: {cell} of the floor is not clear, and no box is there"
    for cell in sorted(facts.kind("at-robot") & boxes):
        yield f"init: robot and box are both at {cell}"


def freecell_deal(facts: Facts) -> Iterator[str]:
    """Every suit has one card of every value; cards above the home card lie somewhere; free space is counted right."""
    values = chain(graph_of((less, more) for more, less in facts.atoms("successor")), facts.kind("num"))
    rank = {name: number for number, name in enumerate(values or ())}
    suit, value = facts.image("suit"), facts.image("value")
    cards = sorted(facts.kind("card"))
    deck = Counter((suit.get(card), value.get(card)) for card in cards)
    for name in sorted(facts.kind("suitsort")):
        for number in sorted(facts.kind("num")):
            if deck[name, number] != 1:
                yield f"init: {deck[name, number]} cards of {name} with {number}, expected 1"
    home = {suit.get(card): rank.get(value.get(card, ""), 0) for card in facts.kind("home")}
    columns = facts.find("on x _") | facts.kind("bottomcol")
    covered, clear, cells = facts.find("on _ x"), facts.kind("clear"), facts.kind("incell")
    for card in cards:
        out = rank.get(value.get(card, ""), 0) > home.get(suit.get(card), 0)
        if out != (card in columns or card in cells):
            yield f"init: {card} {'lies nowhere' if out else 'is home and lies elsewhere, too'}"
        if (card in columns) != ((card in covered) + (card in clear) == 1) or (card not in columns and card in clear):
            yield f"init: {card} is not either covered or clear"
    stackable = facts.count("canstack x _")
    for card in cards:
        wanted = 2 if 1 < rank.get(value.get(card, ""), 0) < len(rank) - 1 else 0
        if stackable[card] != wanted:
            yield f"init: {card} can be stacked on {stackable[card]} cards, expected {wanted}"
    for upper, lower in sorted(facts.atoms("canstack")):
        if rank.get(value.get(lower, ""), 0) != rank.get(value.get(upper, ""), 0) + 1 or suit.get(upper) == suit.get(
            lower
        ):
            yield f"init: (canstack {upper} {lower}) is against the rules of the game"
    for name, used in (("cell", len(cells)), ("col", len(facts.kind("bottomcol")))):
        pairs = graph_of((less, more) for more, less in facts.atoms(f"{name}successor"))
        numbers = chain(pairs, facts.kind(f"{name}num"))
        free = sorted(facts.kind(f"{name}space"))
        if numbers and len(free) == 1 and numbers.index(free[0]) + used != len(numbers) - 1:
            yield f"init: {name}space is {free[0]} with {used} in use of {len(numbers) - 1}"


def goldminer_gold(facts: Facts) -> Iterator[str]:
    """Some gold is not under hard rock; robot, bomb and laser are at clear cells that are connected."""
    if not facts.kind("gold-at") - facts.kind("hard-rock-at") and not facts.atoms("holds-gold"):
        yield "init: all gold is under hard rock, where only the laser helps, which burns it"
    clear = facts.kind("clear")
    graph = {here: others & clear for here, others in facts.graph("connected").items()}
    around = reached(graph, facts.kind("robot-at"))
    for name in ("robot-at", "bomb-at", "laser-at"):
        for cell in sorted(facts.kind(name) - (around & clear)):
            yield f"init: ({name} {cell}), but {cell} is not clear or not within reach"


def grid_keys_within_reach(facts: Facts) -> Iterator[str]:
    """Every key of the goal and its place can be reached by opening one lock after the other."""
    graph = facts.graph("conn")
    key_shape, lock_shape = facts.image("key-shape"), facts.image("lock-shape")
    entered = facts.kind("open")
    keys: set[str] = set(facts.kind("holding"))
    around: set[str] = set()
    before = -1
    while before != len(entered) + len(keys):
        before = len(entered) + len(keys)
        around = reached({here: others & entered for here, others in graph.items()}, facts.kind("at-robot"))
        keys |= {key for key, place in facts.atoms("at") if place in around}
        shapes = {key_shape.get(key) for key in keys}
        border = {other for here in around for other in graph.get(here, ())} & facts.kind("locked")
        entered |= {place for place in border if lock_shape.get(place) in shapes}
    for key, place in sorted(facts.atoms("at", Where.GOAL)):
        if key not in keys:
            yield f"init: {key} is behind locks that no key within reach opens"
        if place not in around:
            yield f"goal: {place} is behind locks that no key within reach opens"


def grid_locks(facts: Facts) -> Iterator[str]:
    """Locked places have one shape; the robot's place is open."""
    shapes = facts.count("lock-shape x _")
    for place in sorted(facts.kind("locked")):
        if shapes[place] != 1:
            yield f"init: {place} is locked and has {shapes[place]} shapes, expected 1"
    for place in sorted(facts.kind("at-robot") - facts.kind("open")):
        yield f"init: the robot is at {place}, which is not open"


def logistics_vehicles(facts: Facts) -> Iterator[str]:
    """Every city has a truck; airplanes are at airports; there is one if packages change cities."""
    city, place = facts.image("in-city"), facts.image("at")
    served = {city.get(place.get(truck, "")) for truck in facts.kind("truck")}
    for name in sorted(facts.kind("city")):
        if name not in served:
            yield f"init: no truck is in {name}"
    for name in sorted(facts.kind("airplane")):
        if place.get(name) not in facts.kind("airport"):
            yield f"init: {name} is not at an airport"
    cities = {thing: city.get(where) for thing, where in place.items()}
    away = any(cities.get(name) != city.get(goal) for name, goal in facts.atoms("at", Where.GOAL))
    if away and not facts.kind("airplane"):
        yield "init: packages change cities, and there is no airplane"


def miconic_somewhere_else(facts: Facts) -> Iterator[str]:
    """Nobody waits at the floor of the destination."""
    for name, floor in sorted(facts.atoms("origin") & facts.atoms("destin")):
        yield f"init: {name} waits at {floor} already"


def reward_within_reach(facts: Facts) -> Iterator[str]:
    """The robot's cell is open, and every wanted reward is on a cell that can be reached."""
    cells = facts.kind("unblocked")
    graph = {here: others & cells for here, others in facts.graph("adjacent").items()}
    for cell in sorted(facts.kind("at") - cells):
        yield f"init: the robot is at {cell}, which is blocked"
    wanted = facts.find("picked x", Where.GOAL) - facts.kind("picked")
    for cell in sorted(wanted - reached(graph, facts.kind("at"))):
        yield f"goal: {cell} cannot be reached"
    for cell in sorted(wanted - facts.kind("reward")):
        yield f"goal: {cell} has no reward"


def rovers_able(facts: Facts) -> Iterator[str]:
    """Some rover has the equipment for every goal, reaches all it needs and a waypoint that sees the lander."""
    sends = {name for name, other in facts.atoms("visible") if other in facts.find("at_lander _ x")}
    reach: dict[str, set[str]] = {}
    for rover, place in facts.atoms("at"):
        steps = ((here, other) for name, here, other in facts.atoms("can_traverse") if name == rover)
        reach[rover] = reached(graph_of(pair for pair in steps if pair in facts.atoms("visible")), [place])
    sending = {rover for rover, around in reach.items() if around & sends}
    seen_from = facts.graph("visible_from")
    for kind in ("soil", "rock"):
        done = {name for (name,) in facts.atoms(f"communicated_{kind}_data")}
        held = {place for rover, place in facts.atoms(f"have_{kind}_analysis") if rover in sending}
        able = [reach[rover] for rover in facts.kind(f"equipped_for_{kind}_analysis") & sending]
        for place in sorted(facts.find(f"communicated_{kind}_data x", Where.GOAL) - done - held):
            if place not in facts.kind(f"at_{kind}_sample"):
                yield f"goal: {kind} of {place}, where there is no sample"
            elif not any(place in around for around in able):
                yield f"goal: {kind} of {place}, which no rover with the equipment can bring"
    target, carrier = facts.image("calibration_target"), facts.image("on_board")
    ready = {rover: reach[rover] for rover in facts.kind("equipped_for_imaging") & sending}
    for objective, mode in sorted(facts.atoms("communicated_image_data", Where.GOAL)):
        if (objective, mode) in facts.atoms("communicated_image_data"):
            continue
        if any((rover, objective, mode) in facts.atoms("have_image") for rover in sending):
            continue
        cameras = [camera for camera, other in facts.atoms("supports") if other == mode]
        around = [
            (ready.get(carrier.get(one, ""), set()), seen_from.get(target.get(one, ""), set())) for one in cameras
        ]
        seen = seen_from.get(objective, set())
        if not any(waypoints & seen and waypoints & calibrating for waypoints, calibrating in around):
            yield f"goal: image of {objective} in {mode}, which no rover can take and send"


def rovers_paths_seen(facts: Facts) -> Iterator[str]:
    """Rovers drive between waypoints that see each other only."""
    unseen = [atom for atom in facts.atoms("can_traverse") if atom[1:] not in facts.atoms("visible")]
    if unseen:
        yield f"init: {len(unseen)} atoms of can_traverse between waypoints that do not see each other"


def satellite_power(facts: Facts) -> Iterator[str]:
    """Every satellite has its power left or gives it to one instrument."""
    carrier = facts.image("on_board")
    users = Counter(carrier.get(instrument) for instrument in facts.kind("power_on"))
    for name in sorted(facts.kind("satellite")):
        if users[name] + (name in facts.kind("power_avail")) != 1:
            yield f"init: {name} does not have its power either left or in use by one instrument"


def satellite_modes(facts: Facts) -> Iterator[str]:
    """Every mode of the goal is supported."""
    for mode in sorted(facts.find("have_image _ x", Where.GOAL) - facts.find("supports _ x")):
        yield f"goal: images in {mode}, which no instrument supports"


def spanner_suffices(facts: Facts) -> Iterator[str]:
    """On the way to every nut there are enough usable spanners for it and for the nuts before it."""
    line = chain(facts.graph("link"), facts.kind("location"))
    place = facts.image("at")
    if line is None:
        yield "init: link is not one chain of all locations"
        return
    position = {name: line.index(at) for name, at in place.items()}
    start = min((position.get(name, 0) for name in facts.kind("man")), default=0)
    carried = {spanner for _, spanner in facts.atoms("carrying")}
    usable = [start if name in carried else position.get(name, -1) for name in facts.kind("usable")]
    nuts = [position.get(name, -1) for name in facts.find("tightened x", Where.GOAL) & facts.kind("loose")]
    for end in sorted(set(nuts)):
        wanted, found = sum(nut <= end for nut in nuts), sum(start <= spanner <= end for spanner in usable)
        if end < start or wanted > found:
            yield f"init: {wanted} nuts up to {line[end]} and {found} usable spanners on the way"


def transport_capacity(facts: Facts) -> Iterator[str]:
    """Every vehicle has room for a package, or carries one."""
    sizes = chain(facts.graph("capacity-predecessor"), facts.kind("size"))
    if sizes is None:
        return  # named by another rule
    loads = facts.count("in _ x")
    for vehicle, size in sorted(facts.atoms("capacity")):
        if sizes.index(size) + loads[vehicle] == 0:
            yield f"init: {vehicle} has no room"


def visitall_start(facts: Facts) -> Iterator[str]:
    """The robot's place counts as visited."""
    for place in sorted(facts.kind("at-robot") - facts.kind("visited")):
        yield f"init: the robot is at {place}, which is not visited"
