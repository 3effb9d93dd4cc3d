"""Random small tasks with agents that walk, for property tests of free moves.

Groups of nullary, unary and binary agents; roads for all, per group or per agent, in one direction or both, or none at
all; doors, drivers and other agents on which moves depend; actions that need, shift, hide or duplicate agents. Types,
or static predicates in their place. Built by a seeded generator and written as PDDL text, like `random_tasks.py`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from itertools import islice, pairwise, product
from math import prod

from hypothesis import strategies as st
from tests.tasks import task_of
from tests.twins.actions import applicable

from saltus.lookahead.free_moves import find_free_moves
from saltus.task import Task

TRIES = 20
"""Texts per seed, until one has free moves and something to do."""

MAX_ACTIONS, MAX_BINDINGS = 40, 4000
"""In the initial state; of all schemas, by types alone."""


def random_moves(*, tiny: bool = False, free: float = 0.9) -> st.SearchStrategy[Task]:
    """Tasks by seed; the share `free` of them has free moves for certain, others seldom do."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_move_task(seed, tiny=tiny, free=free))


def random_move_task(seed: int, *, tiny: bool = False, free: float = 0.9) -> Task:
    """The task of a seed."""
    rng = random.Random(seed)
    wanted = rng.random() < free
    for _ in range(TRIES):
        task = task_of(*move_texts(rng, tiny=tiny))
        if (find_free_moves(task) is not None) == wanted and _is_fit(task):
            break
    return task


def _is_fit(task: Task) -> bool:
    """Whether something can be done, but not so much that the twins need seconds."""
    count = sum(1 for _ in islice(applicable(task, task.initial_state), MAX_ACTIONS))
    loose = sum(prod(len(task.objects_of(types)) for types in schema.parameters) for schema in task.schemas)
    return 1 <= count < MAX_ACTIONS and loose < MAX_BINDINGS


def move_texts(rng: random.Random, *, tiny: bool = False) -> tuple[str, str]:
    """Domain and problem."""
    return _Writer(rng, tiny).texts()


@dataclass
class _Group:
    """Agents of the generator."""

    number: int
    kinds: list[str]
    """Of the agent's objects."""
    predicate: str
    position: int
    """Of the place among the arguments."""
    roads: str
    """shared, own, by agent, both ways of reading them, or none."""
    places: str = "place"
    agents: list[tuple[str, ...]] = field(default_factory=list)

    def at(self, agent: list[str], place: str) -> str:
        terms = [*agent[: self.position], place, *agent[self.position :]]
        return f"({' '.join([self.predicate, *terms])})"


class _Writer:
    def __init__(self, rng: random.Random, tiny: bool) -> None:
        self.rng, self.tiny = rng, tiny
        self.typed = rng.random() < 0.5
        self.static: dict[str, int] = {}
        """Static predicates in use, with their arities."""
        self.fluent: dict[str, int] = {}
        self.actions: list[str] = []
        self.constants: dict[str, str] = {}
        """Constants and their kinds."""
        self.objects: dict[str, str] = {}
        self.groups: list[_Group] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -- text ----------------------------------------------------------------------------------------------------------

    def use(self, literal: str) -> str:
        """The literal, its predicate noted as fluent."""
        name, *terms = literal.replace("(not ", "").strip("()").split()
        self.fluent[name] = len(terms)
        return literal

    def fixed(self, literal: str) -> str:
        """The literal, its predicate noted as static."""
        name, *terms = literal.replace("(not ", "").strip("()").split()
        self.static[name] = len(terms)
        return literal

    def action(self, parameters: dict[str, str], condition: list[str], effect: list[str]) -> None:
        """Adds an action. Variables that are no parameters stand for places, `?v` for what an effect ranges over."""
        used = dict.fromkeys(re.findall(r"\?\w+", " ".join([*condition, *effect])), "place")
        used.pop("?v", None)
        parameters = {name: kind for name, kind in parameters.items() if name in used or self.chance(0.05)}
        parameters = used | parameters if self.chance(0.5) else parameters | used | parameters
        if self.typed:
            typed = " ".join(f"{name} - {kind}" for name, kind in parameters.items())
        else:
            typed = " ".join(parameters)
            condition = [*(self.fixed(f"(is-{kind} {name})") for name, kind in parameters.items()), *condition]
        self.rng.shuffle(condition)
        self.actions.append(
            f"(:action a{len(self.actions)} :parameters ({typed}) :precondition (and {' '.join(condition)})\n"
            f"  :effect (and {' '.join(effect)}))"
        )

    # -- groups and moves ----------------------------------------------------------------------------------------------

    def make_group(self, number: int) -> _Group:
        rng = self.rng
        arity = rng.choice([0, 1, 1, 1, 1, 2])
        kinds = [rng.choice([f"k{number}", f"k{number}", "k0", "thing"]) for _ in range(arity)]
        shared = arity == 1 and self.chance(0.5)
        predicate = "pos" if shared else f"pos{number}"
        position = 1 if shared else rng.randint(0, arity)
        roads = rng.choice(["road", "road", f"road{number}", "none"])
        if arity and self.chance(0.25):
            roads = "by agent"
        places = "place" if self.chance(0.85) else "object"
        return _Group(number, kinds, predicate, position, roads, places)

    def of_group(self, group: _Group, mark: str = "") -> tuple[dict[str, str], list[str]]:
        """Parameters and terms of an agent of the group; sometimes a constant."""
        parameters: dict[str, str] = {}
        terms = []
        for i, kind in enumerate(group.kinds):
            fitting = [name for name, own in self.constants.items() if own == kind]
            if fitting and self.chance(0.15):
                terms.append(self.rng.choice(fitting))
            else:
                terms.append(f"?a{mark}{i}")
                parameters[terms[-1]] = kind
        return parameters, terms

    def add_move(self, group: _Group) -> None:
        rng = self.rng
        parameters, agent = self.of_group(group)
        parameters |= {"?x": group.places, "?y": group.places}
        if self.chance(0.3):
            parameters = dict(rng.sample(list(parameters.items()), len(parameters)))
        condition = [self.use(group.at(agent, "?x"))]
        x, y = ("?y", "?x") if self.chance(0.25) else ("?x", "?y")
        if group.roads == "by agent":
            condition.append(self.fixed(f"({' '.join([f'can{group.number}', *agent, x, y])})"))
        elif group.roads != "none":
            condition.append(self.fixed(f"({group.roads} {x} {y})"))
        elif self.chance(0.5):
            condition.append("(not (= ?x ?y))")
        if self.chance(0.15):
            condition.append(f"(not {group.at(agent, '?y')})")
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            self.restrict(group, agent, parameters, condition)
        effect = [f"(not {group.at(agent, '?x')})", group.at(agent, "?y")]
        if self.chance(0.06):
            effect.append(self.use(f"(not (tired {rng.choice([*agent, '?x'])}))"))
        self.action(parameters, condition, effect)

    def restrict(self, group: _Group, agent: list[str], parameters: dict[str, str], condition: list[str]) -> None:
        """One more condition of a move."""
        rng = self.rng
        hub = next((name for name, kind in self.constants.items() if kind == "place"), "?x")
        choices = [
            "site", "open end", "open both", "locked", "gate", "hub", "city", "direction", "signal",
            "other agent", "not other agent", "same road",
        ]  # fmt: skip
        if agent:
            choices += ["fast", "slow", "awake", "asleep", "driver", "own door", "likes"]
        match rng.choice(choices):
            case "site":
                condition.append(self.fixed(f"(site {rng.choice(['?x', '?y', hub])})"))
            case "open end":
                condition.append(self.use("(open ?y)"))
            case "open both":
                condition += [self.use("(open ?x)"), self.use("(open ?y)")]
            case "locked":
                condition.append(self.use(f"(not (locked {rng.choice(['?x', '?y'])}))"))
            case "gate":
                condition.append(self.use(f"(gate {rng.choice(['?x ?y', '?y ?x'])})"))
            case "hub":
                condition.append(self.use(f"(open {hub})"))
            case "city":
                parameters["?c"] = "place"
                condition += [self.fixed("(city ?x ?c)"), self.fixed("(city ?y ?c)")]
            case "direction":
                parameters["?d"] = "object"
                condition.append(self.fixed("(beside ?x ?y ?d)"))
            case "signal":
                parameters["?s"] = "place"
                condition.append(self.use("(open ?s)"))
            case "other agent" | "not other agent" as name:
                other = rng.choice(self.groups)
                own, terms = self.of_group(other, "z")
                parameters |= own
                literal = self.use(other.at(terms, rng.choice(["?x", "?y", hub])))
                condition.append(f"(not {literal})" if name.startswith("not") else literal)
            case "same road":
                condition.append(self.fixed("(road ?x ?y)"))
            case "fast":
                condition.append(self.fixed(f"(fast {rng.choice(agent)})"))
            case "slow":
                condition.append(self.fixed(f"(not (fast {rng.choice(agent)}))"))
            case "awake":
                condition.append(self.use(f"(awake {rng.choice(agent)})"))
            case "asleep":
                condition.append(self.use(f"(not (awake {rng.choice(agent)}))"))
            case "driver":
                parameters["?w"] = "object"
                condition.append(self.use(f"(in ?w {rng.choice(agent)})"))
            case "own door":
                condition.append(self.use(f"(pass {rng.choice(agent)} {rng.choice(['?x', '?y'])})"))
            case "likes":
                condition.append(self.fixed(f"(likes {rng.choice(agent)} {rng.choice(['?x', '?y'])})"))

    # -- other actions -------------------------------------------------------------------------------------------------

    def add_action(self) -> None:
        """An action that is no move, or should not be taken for a free one."""
        rng = self.rng
        group, other = rng.choice(self.groups), rng.choice(self.groups)
        own, agent = self.of_group(group)
        more, second = self.of_group(other, "b")
        at = self.use(group.at(agent, "?p"))
        there = self.use(other.at(second, rng.choice(["?p", "?q"])))
        target = rng.choice(agent) if agent else "?p"
        hub = next((name for name, kind in self.constants.items() if kind == "place"), "?q")
        one: dict[str, str] = own | {"?p": "place"}
        two: dict[str, str] = one | {"?q": "place"}
        flag = rng.choice(["(open ?q)", "(locked ?q)", "(gate ?p ?q)", "(open ?p)", f"(open {hub})", "(done)"])
        if agent:
            flag = rng.choice([flag, f"(awake {target})", f"(pass {target} ?q)"])
        literal = self.use(flag if self.chance(0.5) else f"(not {flag})")
        match rng.choice(
            [
                "work", "work", "load", "load", "unload", "unload", "switch", "switch", "lever", "board", "board",
                "alight", "alight", "meet", "two places", "push", "push agent", "home", "kidnap", "appear", "vanish",
                "when", "when at", "when moved", "absent", "absent too", "swap", "swap", "spread", "crowd", "all out",
                "forked", "jump", "merge",
            ]
        ):  # fmt: skip
            case "work":
                condition = [at]
                if self.chance(0.4):
                    condition.append(self.use(rng.choice(["(open ?p)", "(not (done))", "(not (locked ?p))"])))
                self.action(one, condition, [self.use(rng.choice(["(done)", "(seen ?p)", f"(seen {target})"]))])
            case "load":
                lies = self.use("(lies ?c ?p)")
                self.action(one | {"?c": "cargo"}, [at, lies], [f"(not {lies})", self.use(f"(in ?c {target})")])
            case "unload":
                lies = self.use("(lies ?c ?p)")
                inside = self.use(f"(in ?c {target})")
                self.action(one | {"?c": "cargo"}, [at, inside], [lies, f"(not {inside})"])
            case "switch":
                self.action(two, [at], [literal])
            case "lever":  # nobody needs to be anywhere
                self.action(two, [self.use(rng.choice(["(done)", "(not (done))", "(seen ?p)"]))], [literal])
            case "board" if agent:
                inside = self.use(f"(in {target} {second[0] if second else '?p'})")
                self.action(one | more | {"?q": "place"}, [at, there], [f"(not {at})", inside])
            case "alight" if agent:
                inside = self.use(f"(in {target} {second[0] if second else '?p'})")
                self.action(one | more | {"?q": "place"}, [inside, there], [f"(not {inside})", at])
            case "meet":
                self.action(one | more, [at, self.use(other.at(second, "?p"))], [self.use("(done)")])
            case "two places":
                also = group.at([f"?e{i}" for i in range(len(agent))], "?q")
                extra = {f"?e{i}": kind for i, kind in enumerate(group.kinds)}
                self.action(two | extra, [at, also], [self.use(rng.choice(["(done)", "(seen ?q)", literal]))])
            case "push":
                self.action(
                    two | {"?c": "cargo", "?r": "place"},
                    [at, self.use("(lies ?c ?q)"), self.fixed("(road ?p ?q)"), self.fixed("(road ?q ?r)")],
                    [f"(not {at})", group.at(agent, "?q"), "(not (lies ?c ?q))", "(lies ?c ?r)"],
                )
            case "push agent":
                pushed = other.at(second, "?q")
                effect = [f"(not {pushed})", other.at(second, "?r")]
                self.action(two | more | {"?r": "place"}, [at, pushed, self.fixed("(road ?q ?r)")], effect)
            case "home":
                self.action(two, [at], [f"(not {at})", group.at(agent, hub)])
            case "kidnap":
                self.action(two, [self.use("(seen ?q)")], [f"(not {at})"])
            case "appear" if agent:
                token = self.use(f"(away {target})")
                self.action(one, [token], [f"(not {token})", at])
            case "vanish" if agent:
                self.action(one, [at], [f"(not {at})", self.use(f"(away {target})")])
            case "when":
                self.action(two, [at], [f"(when {self.use('(open ?q)')} {literal})", self.use("(seen ?p)")])
            case "when at":
                self.action(two, [self.use("(seen ?q)")], [f"(when {at} {literal})"])
            case "when moved":
                moved = f"(and (not {at}) {group.at(agent, '?q')})"
                self.action(two, [at], [f"(when {self.use(rng.choice(['(open ?q)', '(done)']))} {moved})"])
            case "absent":
                self.action(two, [f"(not {at})", self.use("(open ?q)")], [self.use("(done)")])
            case "absent too":
                self.action(two, [at, f"(not {group.at(agent, '?q')})"], [literal])
            case "swap":
                condition = [at, self.use(other.at(second, "?q"))]
                effect = [f"(not {entry})" for entry in condition]
                self.action(two | more, condition, [*effect, group.at(agent, "?q"), other.at(second, "?p")])
            case "spread":
                self.action(one, [at], [f"(not {at})", f"(forall (?v) {group.at(agent, '?v')})"])
            case "crowd" if agent:
                token = self.use(f"(away {target})")
                self.action(two, [at], [f"(not {at})", token, self.use(f"(in {target} ?q)")])
            case "all out" if len(agent) == 1:
                inside = self.use("(in ?v ?q)")
                moved = f"(and (not {inside}) {group.at(['?v'], '?q')})"
                self.action(two, [at], [f"(forall (?v) (when {inside} {moved}))"])
            case "forked":
                first = f"(when {self.use('(open ?q)')} {group.at(agent, '?q')})"
                then = f"(when {self.use('(not (open ?q))' if self.chance(0.5) else '(done)')} {group.at(agent, hub)})"
                self.action(two, [at], [f"(not {at})", first, then])
            case "jump":  # looks like a move, but takes something
                self.action(two, [at, self.use("(done)")], [f"(not {at})", group.at(agent, "?q"), "(not (done))"])
            case "merge" if agent:  # two of the same kind, perhaps the same one
                extra = [f"?e{i}" for i in range(len(agent))]
                inside = [self.use(f"(in {target} ?q)"), f"(in {extra[agent.index(target)]} ?q)"]
                effect = [*(f"(not {entry})" for entry in inside), at, group.at(extra, "?q")]
                self.action(two | dict(zip(extra, group.kinds, strict=True)), inside, effect)
            case _:
                self.action(one, [at], [literal])

    # -- the problem ---------------------------------------------------------------------------------------------------

    def texts(self) -> tuple[str, str]:
        rng = self.rng
        if self.chance(0.3):
            self.constants["hub"] = "place"
        if self.chance(0.2):
            self.constants["c0"] = "k0"
        self.groups = [self.make_group(number) for number in range(rng.choice([1, 1, 2, 2, 3]))]
        for group in self.groups:
            for _ in range(rng.choice([1, 1, 2, 3])):
                self.add_move(group)
        for _ in range(rng.randint(1, 3) if self.tiny else rng.randint(2, 6)):
            self.add_action()
        rng.shuffle(self.actions)
        places = [f"p{i}" for i in range(rng.randint(2, 3) if self.tiny else rng.randint(2, 4))]
        self.objects = dict.fromkeys(places, "place")
        for number in range(len(self.groups)):
            self.objects |= {f"r{number}{i}": f"k{number}" for i in range(rng.randint(1, 1 if self.tiny else 2))}
        self.objects |= {f"b{i}": "cargo" for i in range(rng.randint(0, 1 if self.tiny else 2))}
        names = rng.sample(list(self.objects.items()), len(self.objects))  # places and agents mixed
        self.objects = dict(names)
        init = [*self.static_atoms(), *self.fluent_atoms()]
        goal = self.goals()
        return self.domain_text(), (
            f"(define (problem moves) (:domain moves)\n(:objects {self.names(self.objects)})\n"
            f"(:init {' '.join(init)})\n(:goal (and {' '.join(goal)})))"
        )

    def names(self, objects: dict[str, str]) -> str:
        return " ".join(f"{name} - {kind}" if self.typed else name for name, kind in objects.items())

    def domain_text(self) -> str:
        predicates = {"nothing": 0, **self.static, **self.fluent}
        declared = " ".join(
            f"({' '.join([name, *(f'?v{i}' for i in range(arity))])})" for name, arity in predicates.items()
        )
        kinds = "(:types thing place - object k0 k1 k2 cargo - thing)" if self.typed else ""
        return (
            "(define (domain moves)\n(:requirements :typing :equality :negative-preconditions :conditional-effects)\n"
            f"{kinds}\n(:constants {self.names(self.constants)})\n(:predicates {declared})\n"
            + "\n".join(self.actions)
            + ")"
        )

    def of_kind(self, kind: str) -> list[str]:
        things = {"thing": ("thing", "k0", "k1", "k2", "cargo"), "object": None}.get(kind, (kind,))
        everything = {**self.constants, **self.objects}
        return [name for name, own in everything.items() if things is None or own in things]

    def static_atoms(self) -> list[str]:
        places = self.of_kind("place")
        atoms = []
        for name, arity in self.static.items():
            if name.startswith("is-"):
                atoms += [f"({name} {entry})" for entry in self.of_kind(name[3:])]
                continue
            options = [places] * arity
            if name.startswith("can"):
                options[: arity - 2] = [self.of_kind("thing")] * (arity - 2)
            elif name in ("fast", "likes"):
                options[0] = self.of_kind("thing")
            elif name == "beside":
                options[2] = self.of_kind("object")[:3]
            share = {"city": 0.5, "beside": 0.3}.get(name, 0.6)
            two_way = self.chance(0.7)
            for terms in product(*options):
                if self.chance(share):
                    atoms.append(f"({' '.join([name, *terms])})")
                    if two_way and (name.startswith(("can", "road"))):
                        atoms.append(f"({' '.join([name, *terms[:-2], terms[-1], terms[-2]])})")
        return sorted(set(atoms))

    def fluent_atoms(self) -> list[str]:
        rng = self.rng
        places, things = self.of_kind("place"), self.of_kind("thing")
        atoms: set[str] = set()
        for group in self.groups:
            for agent in product(*(self.of_kind(kind) for kind in group.kinds)):
                count = rng.choices([0, 1, 2], [12, 86, 2])[0]
                if group.kinds and agent[0].startswith("b"):
                    count = rng.choices([0, 1], [8, 2])[0]
                atoms |= {group.at(list(agent), place) for place in rng.sample(places, count)}
        placed = {term for atom in atoms for term in atom.strip("()").split()}
        options = {
            "lies": [self.of_kind("cargo"), places],
            "in": [things, [*things, *places]],
            "pass": [things, places],
        }
        options |= {"awake": [things], "away": [things], "seen": [places]}
        positions = {group.predicate for group in self.groups}
        for name, arity in self.fluent.items():
            if name in positions:
                continue
            share = {"lies": 0.3, "in": 0.1, "open": 0.7, "gate": 0.6, "awake": 0.7, "pass": 0.7}.get(name, 0.2)
            for terms in product(*options.get(name, [places] * arity)):
                away = name not in ("in", "away") or terms[0] not in placed or self.chance(0.05)
                if away and self.chance(share):
                    atoms.add(f"({' '.join([name, *terms])})")
                    placed |= set(terms[:1]) if name in ("in", "away") else set()
        return sorted(atoms)

    def goals(self) -> list[str]:
        rng = self.rng
        literals = []
        for _ in range(rng.randint(1, 3)):
            group = rng.choice(self.groups)
            options = [self.of_kind(kind) for kind in group.kinds]
            if self.chance(0.5) and all(options):
                place = rng.choice(self.of_kind("place"))
                literals.append(group.at([rng.choice(names) for names in options], place))
            else:
                name = rng.choice(sorted(self.fluent))
                literals.append(f"({' '.join([name, *rng.choices(self.of_kind('object'), k=self.fluent[name])])})")
        return [f"(not {literal})" if self.chance(0.3) else literal for literal in literals]


def random_maps() -> st.SearchStrategy[Task]:
    """Few agents on larger maps, with doors and gates that actions open and close one by one."""
    return st.integers(0, 2**32 - 1).map(random_map_task)


def random_map_task(seed: int) -> Task:
    """The map of a seed: eight to fourteen places, roads mostly along a line, many doors."""
    rng = random.Random(seed)
    door = rng.choice(
        ["(open ?y)", "(open ?x) (open ?y)", "(open ?x)", "(not (shut ?y))", "(gate ?x ?y)", "(pass ?a ?y)"]
    )
    located = rng.random() < 0.5
    near = "(at ?a ?x) (road ?x ?y)" if located else "(at ?a ?x)"
    domain = f"""(define (domain map) (:requirements :typing :negative-preconditions) (:types agent place - object)
      (:predicates (at ?a - agent ?p - place) (road ?x ?y) (open ?x) (shut ?x) (gate ?x ?y) (pass ?a ?x)
       (seen ?x) (key ?x))
      (:action move :parameters (?a - agent ?x ?y - place) :precondition (and (at ?a ?x) (road ?x ?y) {door})
       :effect (and (not (at ?a ?x)) (at ?a ?y)))
      (:action unlock :parameters (?a - agent ?x ?y - place) :precondition (and {near} (key ?y))
       :effect (and (open ?y) (gate ?x ?y) (gate ?y ?x) (pass ?a ?y) (not (shut ?y)) (not (key ?y))))
      (:action lock :parameters (?a - agent ?x ?y - place) :precondition (and {near} (not (key ?y)))
       :effect (and (not (open ?y)) (not (gate ?x ?y)) (not (pass ?a ?y)) (shut ?y) (key ?y)))
      (:action look :parameters (?a - agent ?x - place) :precondition (at ?a ?x) :effect (seen ?x)))"""
    places = [f"p{i}" for i in range(rng.randint(8, 14))]
    agents = [f"r{i}" for i in range(rng.randint(1, 2))]
    pairs = {(i, i + 1) for i in range(len(places) - 1)} | {
        (rng.randrange(len(places)), rng.randrange(len(places))) for _ in range(rng.randint(0, 4))
    }
    roads = {(a, b) for i, j in pairs for a, b in ((i, j), (j, i)) if rng.random() < 0.95}
    init = [f"(road p{i} p{j})" for i, j in roads]
    init += [f"(at {agent} {rng.choice(places)})" for agent in agents]
    init += [f"(gate p{i} p{j})" for i, j in roads if rng.random() < 0.8]
    init += [f"({name} {place})" for name in ("open", "key") for place in places if rng.random() < 0.7]
    init += [f"(shut {place})" for place in places if rng.random() < 0.3]
    init += [f"(pass {agent} {place})" for agent in agents for place in places if rng.random() < 0.8]
    goal = [f"(seen {rng.choice(places)})", f"(at {agents[0]} {rng.choice(places)})"]
    objects = rng.sample(
        [*(f"{a} - agent" for a in agents), *(f"{p} - place" for p in places)], len(agents) + len(places)
    )
    problem = f"(:objects {' '.join(objects)}) (:init {' '.join(sorted(init))}) (:goal (and {' '.join(goal)}))"
    return task_of(domain, f"(define (problem map) (:domain map) {problem})")


def random_errands() -> st.SearchStrategy[Task]:
    """Agents on maps so large that a lookahead asks for new places and near places instead of trying all of them."""
    return st.integers(0, 2**32 - 1).map(random_errand_task)


def random_errand_task(seed: int) -> Task:
    """The errands of a seed: 18 to 22 places, actions that leave the place open, and actions that bring things."""
    rng = random.Random(seed)
    roads = rng.choice(["(road ?x ?y)", "(road ?x ?y) (open ?y)", "(can ?a ?x ?y)", "(can ?a ?x ?y) (road ?x ?y)", ""])
    first, second = rng.sample(["?t - tool", "?x - place"], 2)  # which of them comes first decides between equals
    domain = f"""(define (domain errands) (:requirements :typing) (:types agent place tool thing - object)
      (:predicates (at ?a - agent ?p - place) (road ?x ?y) (can ?a ?x ?y) (open ?x) (sees ?x ?g) (fits ?t ?g)
       (ready ?a ?t) (photo ?a ?g) (sent ?g) (lies ?g ?x) (has ?a ?g) (idle ?a))
      (:action move :parameters (?a - agent ?x ?y - place) :precondition (and (at ?a ?x) {roads})
       :effect (and (not (at ?a ?x)) (at ?a ?y)))
      (:action prepare :parameters (?a - agent {first} {second}) :precondition (and (at ?a ?x) (open ?x))
       :effect (ready ?a ?t))
      (:action take :parameters (?a - agent {first} {second} ?g - thing)
       :precondition (and (at ?a ?x) (ready ?a ?t) (sees ?x ?g) (fits ?t ?g))
       :effect (and (photo ?a ?g) (not (ready ?a ?t))))
      (:action send :parameters (?g - thing ?a - agent ?x - place)
       :precondition (and (at ?a ?x) (photo ?a ?g) (open ?x)) :effect (sent ?g))
      (:action load :parameters (?a - agent ?g - thing ?x - place) :precondition (and (at ?a ?x) (lies ?g ?x) (idle ?a))
       :effect (and (has ?a ?g) (not (lies ?g ?x)) (not (idle ?a))))
      (:action put :parameters (?g - thing ?x - place ?a - agent) :precondition (and (at ?a ?x) (has ?a ?g))
       :effect (and (lies ?g ?x) (idle ?a) (not (has ?a ?g)))))"""
    objects = {f"p{i}": "place" for i in range(rng.randint(18, 22))}
    places = list(objects)
    agents = [f"r{i}" for i in range(rng.randint(1, 3))]
    tools = [f"t{i}" for i in range(rng.randint(1, 2))]
    things = [f"g{i}" for i in range(rng.randint(1, 3))]
    objects |= dict.fromkeys(agents, "agent") | dict.fromkeys(tools, "tool") | dict.fromkeys(things, "thing")
    density = rng.choice([0.05, 0.2, 0.5])
    pairs = {(x, y) for x in places for y in places if x < y and rng.random() < density}
    pairs |= {(x, y) for x, y in pairwise(places) if rng.random() < 0.95}
    two_way = [pair for x, y in sorted(pairs) for pair in ((x, y), (y, x)) if rng.random() < 0.98]
    init = [f"(road {x} {y})" for x, y in two_way]
    init += [f"(can {agent} {x} {y})" for agent in agents for x, y in two_way if rng.random() < 0.9]
    init += [f"(at {agent} {rng.choice(places)})" for agent in agents]
    init += [f"(idle {agent})" for agent in agents if rng.random() < 0.9]
    share = rng.choice([0.3, 0.9])
    init += [f"(open {place})" for place in places if rng.random() < share]
    init += [f"(sees {place} {thing})" for place in places for thing in things if rng.random() < share]
    init += [f"(fits {tool} {thing})" for tool in tools for thing in things if rng.random() < 0.8]
    init += [f"(lies {thing} {rng.choice(places)})" for thing in things if rng.random() < 0.8]
    goal = [f"(sent {thing})" for thing in things if rng.random() < 0.5]
    goal += [f"(lies {thing} {rng.choice(places)})" for thing in things if rng.random() < 0.7]
    goal += [f"(at {agent} {rng.choice(places)})" for agent in agents if rng.random() < 0.2]
    names = rng.sample(list(objects.items()), len(objects))
    problem = (
        f"(:objects {' '.join(f'{name} - {kind}' for name, kind in names)})\n(:init {' '.join(init)})\n"
        f"(:goal (and {' '.join(goal)}))"
    )
    return task_of(domain, f"(define (problem errands) (:domain errands)\n{problem})")
