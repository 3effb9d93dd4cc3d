"""Commands that inspect problems and plans: `info`, `stats` and `validate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from saltus.cli import output
from saltus.cli.options import DomainFile, Json, ProblemFile, Strict
from saltus.cli.progress import each
from saltus.cli.standard_input import DASH, check_inputs
from saltus.errors import plural
from saltus.files import PDDL_BYTES, PLAN_BYTES, STANDARD_INPUT, read_standard_input
from saltus.lookahead.free_groups import move_schemas
from saltus.lookahead.free_moves import find_free_moves
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.policy.exit_codes import ExitCode
from saltus.task import Plan, Split, Suite, Task, build_task, find_suites, load, read_plan
from saltus.task import validate as judge
from saltus.task.plan import cost_text, plan_of_bytes
from saltus.task.suite import TEST_SPLITS

FOLDER_HELP = "Folder with a domain.pddl and its problems, or a folder of such folders."


def read_task(domain: Path, problem: Path, *, strict: bool = False) -> Task:
    """The task in two files, of which one may be standard input; the reader's warnings go to standard error."""
    check_inputs(domain, problem)
    known = parse_domain(read_source(domain, strict=strict))
    return with_warnings(build_task(known, parse_problem(read_source(problem, strict=strict), known)))


def read_source(path: Path, *, strict: bool = False) -> Source:
    """The tokens of a file or of standard input."""
    if path != DASH:
        return Source.from_file(path, strict=strict)
    return Source.from_bytes(read_standard_input(PDDL_BYTES), STANDARD_INPUT, strict=strict)


def with_warnings(task: Task) -> Task:
    """The task, after its reader's warnings went to standard error."""
    for message in task.problem.warnings:
        output.warning(message)
    return task


def read_tasks(suites: Sequence[Suite], description: str) -> Iterator[tuple[Suite, str, Path, Task]]:
    """Suite, split, file and task of every problem, with a progress bar; each domain is read once."""
    files = [(suite, split, path) for suite in suites for split, paths in suite.splits.items() for path in paths]
    domains = {suite.domain: parse_domain(Source.from_file(suite.domain)) for suite in suites}
    for suite, split, path in each(files, description):
        yield suite, split, path, load(domains[suite.domain], path)


def info(
    domain: DomainFile,
    problem: Annotated[
        Path | None, typer.Argument(help="PDDL problem file; - for standard input (default: the domain alone).")
    ] = None,
    json: Json = False,
    strict: Strict = False,
) -> None:
    """Show the sizes, types, predicates, schemas and free moves of a problem.

    Objects and atoms are counted as in the paper: constants count as objects, and every object adds one atom per type
    that it has. Free moves only shift an agent from place to place and can be undone; agents are those that have a
    place in the initial state. Of a domain alone, the schemas that only shift an agent are listed.

    Examples:

        saltus info examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl

        saltus info examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl --json

        saltus info examples/gardener/domain.pddl
    """
    task = empty_task(domain, strict=strict) if problem is None else read_task(domain, problem, strict=strict)
    facts = describe(task)
    if problem is None:
        facts |= {"problem": None, "free_moves": None}
    if json:
        output.print_json(facts)
        return
    console = output.console()
    if problem is None:
        console.print(Text.assemble((task.domain.name, "bold"), f", {task.object_count:,} constants"))
    else:
        console.print(Text.assemble((task.domain.name, "bold"), " / ", (task.name, "bold")))
        console.print(
            f"{task.object_count:,} objects, {task.atom_count:,} atoms, {len(task.initial_state):,} fluent atoms, "
            f"{task.goal.size:,} goal atoms"
        )
    console.print(output.table("Types", ["type", "objects"], list(facts["types"].items())))
    predicates = [
        (entry["name"], entry["kind"], entry["arity"], entry["initial atoms"], entry["goal atoms"])
        for entry in facts["predicates"]
    ]
    console.print(output.table("Predicates", ["predicate", "kind", "arity", "initial", "goal"], predicates, left=2))
    schemas = [
        (entry["name"], " ".join(entry["parameters"]), entry["preconditions"], entry["adds"], entry["deletes"])
        for entry in facts["schemas"]
    ]
    columns = ["schema", "parameters", "preconditions", "adds", "deletes"]
    console.print(output.table("Schemas", columns, schemas, left=2))
    if facts["free_moves"]:
        groups = [
            (
                f"({' '.join([group['predicate'], *group['arguments']])})",
                agents_text(group["agents"]),
                " ".join(group["schemas"]),
                "yes" if group["blocked_by_others"] else "no",
            )
            for group in facts["free_moves"]
        ]
        columns = ["whereabouts", "agents", "schemas", "others may block"]
        console.print(output.table("Free moves", columns, groups, left=4))
    elif problem is not None:
        console.print("no free moves")
    else:
        moves = [entry["name"] for entry in facts["schemas"] if entry["move"]]
        may_be_free = f"{' '.join(moves)} (whether they are free depends on the problem)"
        console.print(f"moves: {may_be_free if moves else 'none'}")


def empty_task(domain: Path, *, strict: bool = False) -> Task:
    """The task of a domain with no object but its constants, no atom and no goal."""
    known = parse_domain(read_source(domain, strict=strict))
    text = f"(define (problem none) (:domain {known.name}) (:init) (:goal (and)))"
    return with_warnings(build_task(known, parse_problem(Source.from_bytes(text.encode()), known)))


def agents_text(agents: Sequence[Sequence[str]]) -> str:
    """The number of agents, and the names of the first ones."""
    names = ["-".join(objects) for objects in agents[:5] if objects]
    more = ", …" if len(agents) > 5 else ""
    return f"{len(agents):,}" + (f": {', '.join(names)}{more}" if names else "")


def describe(task: Task) -> dict[str, Any]:
    """The facts that `info` shows about a task, as plain values."""
    declared = len(task.domain.types)
    members = task.is_a[task.object_type, :declared].sum(axis=0).tolist()
    goal_predicates = [task.decode(code)[0] for code in (*task.goal.positive.tolist(), *task.goal.negative.tolist())]
    initial = task.problem.init_predicate.tolist()
    moves = move_schemas(task)
    derived = task.derived
    return {
        "domain": task.domain.name,
        "problem": task.name,
        "requirements": list(task.domain.requirements),
        "objects": task.object_count,
        "atoms": task.atom_count,
        "fluent_atoms": len(task.initial_state),
        "goal_atoms": len(goal_predicates),
        "goal_holds": task.goal.holds(task.initial_state),
        "goal_impossible": task.goal.impossible,
        "action_costs": task.has_costs,
        "types": dict(zip(task.types[:declared], members, strict=True)),
        "predicates": [
            {
                "name": predicate.name,
                "kind": "derived" if i in derived else "fluent" if task.fluent[i] else "static",
                "arity": int(task.arity[i]),
                "initial atoms": initial.count(i),
                "goal atoms": goal_predicates.count(i),
            }
            for i, predicate in enumerate(task.domain.predicates)
        ],
        "schemas": [
            {
                "name": schema.name,
                "parameters": [f"{p.name} - {' or '.join(p.types)}" for p in task.domain.schemas[i].parameters],
                "preconditions": len(schema.precondition) + len(schema.nested),
                "adds": sum(len(effect.adds) for effect in schema.effects),
                "deletes": sum(len(effect.deletes) for effect in schema.effects),
                "conditional": schema.is_conditional,
                "move": i in moves,
            }
            for i, schema in enumerate(task.schemas)
        ],
        "free_moves": free_moves_of(task),
    }


def free_moves_of(task: Task) -> list[dict[str, Any]]:
    """The groups of agents that move freely, as plain values; arguments of the predicate are agent or place."""
    moves = find_free_moves(task)
    if moves is None:
        return []
    return [
        {
            "predicate": task.domain.predicates[group.predicate].name,
            "arguments": ["place" if i == group.place else "agent" for i in range(len(group.objects))],
            "agents": [[task.objects[number] for number in agent] for agent in agents],
            "schemas": [task.schemas[move.schema].name for move in group.moves],
            "blocked_by_others": group.blocked_by_others,
        }
        for group, agents in zip(moves.groups, moves.agents(task, task.initial_state), strict=True)
    ]


GROUPS = {Split.TRAINING: (Split.TRAINING,), Split.VALIDATION: (Split.VALIDATION,), Split.TEST: TEST_SPLITS}
"""Columns of the paper's data table, each with the splits it covers."""


def stats(
    folder: Annotated[Path, typer.Argument(help=FOLDER_HELP)],
    json: Json = False,
) -> None:
    """Show the number of problems, objects and atoms per split, as in the paper's data table.

    Example:

        saltus stats examples/blocksworld
    """
    suites = find_suites(folder)
    sizes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for suite, split, _, task in read_tasks(suites, "Reading"):
        sizes.setdefault((suite.name, split), []).append((task.object_count, task.atom_count))
    rows = [row for suite in suites for row in _rows(suite, sizes)]
    columns = ["domain", "split", "problems", "objects min", "objects max", "atoms min", "atoms max"]
    if json:
        output.print_json([dict(zip([c.replace(" ", "_") for c in columns], row, strict=True)) for row in rows])
    else:
        output.console().print(output.table(f"Problems in {folder}", columns, rows, left=2))


def _rows(suite: Suite, sizes: dict[tuple[str, str], list[tuple[int, int]]]) -> list[tuple[str | int, ...]]:
    rows: list[tuple[str | int, ...]] = []
    for group, splits in GROUPS.items():
        found = [pair for split in splits for pair in sizes.get((suite.name, split), [])]
        if found:
            objects, atoms = zip(*found, strict=True)
            rows.append((suite.name, group, len(found), min(objects), max(objects), min(atoms), max(atoms)))
    return rows


def read_plan_file(path: Path) -> Plan:
    """The plan in a file or in standard input."""
    if path != DASH:
        return read_plan(path)
    return plan_of_bytes(read_standard_input(PLAN_BYTES), STANDARD_INPUT)


def validate(
    domain: DomainFile,
    problem: ProblemFile,
    plan: Annotated[Path, typer.Argument(help="Plan file, one '(action argument …)' per line; - for standard input.")],
    json: Json = False,
    strict: Strict = False,
) -> int:
    """Check whether a plan solves a problem; if not, say why and exit with code 1.

    Example:

        saltus validate examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl examples/blocksworld/p100.plan
    """
    check_inputs(domain, problem, plan)
    task = read_task(domain, problem, strict=strict)
    verdict = judge(task, read_plan_file(plan))
    if json:
        output.print_json(asdict(verdict))
    elif verdict:
        cost = cost_text(verdict.cost, unit_cost=verdict.unit_cost)
        output.result(f"valid: {plural(verdict.length, 'action')}, cost {cost}")
    else:
        output.result(f"invalid: {verdict.reason}")
    return ExitCode.SUCCESS if verdict else ExitCode.INVALID_PLAN
