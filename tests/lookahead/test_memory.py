"""Tasks whose actions do not fit into memory: a tree that is cut off, in a process that may not have more."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux"),
]

CONDITIONAL = """(define (domain a) (:requirements :conditional-effects) (:predicates (p ?a) (r ?a) (s))
  (:action go :effect (s))
  (:action a :parameters (?x ?y ?z ?v) :precondition (s) :effect (when (p ?x) (r ?y))))"""
SKEWED = """(define (domain a) (:predicates (p ?a) (r ?a) (next ?a ?b))
  (:action a :parameters (?x ?y ?z ?w) :precondition (p ?x) :effect (r ?y)))"""
PAIRS = """(define (domain a) (:predicates (p ?a ?b) (r ?a))
  (:action a :parameters (?x ?y) :effect (p ?x ?y)))"""
WIDE = """(define (domain a) (:predicates (p ?a ?b ?c ?d) (r ?a) (s))
  (:action go :effect (s))
  (:action a :parameters (?x ?y ?z ?w) :precondition (s) :effect (p ?x ?y ?z ?w)))"""
WALKS = """(define (domain a) (:predicates (p ?a) (r ?a) (q ?a ?b ?c ?d))
  (:action walk :parameters (?x ?y) :precondition (p ?x) :effect (and (not (p ?x)) (p ?y)))
  (:action a :parameters (?x ?y ?z ?w) :precondition (p ?x) :effect (q ?x ?y ?z ?w)))"""

PROGRAM = """
import json, resource, sys
sys.path.insert(0, "")
from tests.tasks import task_of
from saltus.lookahead import PlaySpec, TreeSpec, applicable_actions, lookahead, search
domain, objects, facts, spec, megabytes = json.loads(sys.stdin.read())
names = " ".join(f"o{i}" for i in range(objects))
chain = " ".join(f"(next o{i} o{i + 1})" for i in range(objects - 1)) if "next" in domain else ""
task = task_of(domain, f"(define (problem p) (:domain a) (:objects {names}) (:init {facts} {chain}) (:goal (r o1)))")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20),) * 2)
if spec is None:
    print(json.dumps([action.arguments for action in applicable_actions(task, task.initial_state, limit=2)]))
else:
    search.MAX_ATOMS = spec.pop("max_atoms", search.MAX_ATOMS)
    play = PlaySpec(max_nodes=spec.pop("max_nodes", PlaySpec.max_nodes))
    tree = lookahead(task, spec=TreeSpec(**spec), play=play)
    print(json.dumps([len(tree), tree.truncated, len(tree.action_of(len(tree) - 1).arguments)]))
"""


def limited(domain: str, objects: int, facts: str, spec: dict[str, object] | None, megabytes: int) -> list[object]:
    """What the program prints when it may take so many megabytes more than it has."""
    given = json.dumps([domain, objects, facts, spec, megabytes])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=given, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_bindings_that_all_start_alike_are_split_further() -> None:
    """8 million actions with the same first argument; the first ones need no list of all."""
    assert limited(SKEWED, 200, "(p o1)", None, 150) == [[1, 0, 0, 0], [1, 0, 0, 1]]
    nodes, truncated, _ = limited(SKEWED, 200, "(p o1)", {"root_successors": "all", "max_nodes": 3}, 150)
    assert (nodes, truncated) == (3, True)


def test_conditional_schemas_are_split() -> None:
    """Every inner node has 10 million actions of one conditional schema."""
    nodes, truncated, _ = limited(CONDITIONAL, 56, "(p o1)", {"max_nodes": 20}, 150)
    assert (nodes, truncated) == (20, True)


@pytest.mark.parametrize(
    ("domain", "objects", "facts", "spec"),
    [
        (PAIRS, 60, "", {"kind": "iw", "width": 2, "max_atoms": 1000, "root_successors": "novel"}),
        (SKEWED, 200, "(p o1)", {"root_successors": "classes", "max_atoms": 100_000_000_000}),
        (WIDE, 60, "", {"kind": "iw"}),
        (WALKS, 60, "(p o1)", {"kind": "iw", "free_moves": True, "root_successors": "novel"}),
        (WALKS, 60, "(p o1)", {"kind": "aiw", "free_moves": True, "root_successors": "classes", "max_atoms": 10}),
        (PAIRS, 999, "", {"kind": "flat", "root_successors": "all", "max_atoms": 100_000_000_000}),
    ],
    ids=["pairs", "classes", "gathered", "walks", "classes of walks", "tree"],
)
def test_a_tree_that_does_not_fit_is_cut_off(domain: str, objects: int, facts: str, spec: dict[str, object]) -> None:
    nodes, truncated, _ = limited(domain, objects, facts, spec, 220)
    assert truncated
    assert isinstance(nodes, int)
    assert nodes >= 2
