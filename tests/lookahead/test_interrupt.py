"""Ctrl-C during a long kernel call ends it at once, as it would end Python code."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")

# Joins without end: cliques of ten in a dense graph of three hundred objects, and actions that always apply.
PROGRAM = """
import sys
sys.path.insert(0, "")
from tests.tasks import task_of
from saltus.lookahead import *
from saltus.lookahead.free_moves import find_free_moves
from saltus.task import Literal

names = " ".join(f"o{i}" for i in range(300))
facts = " ".join(f"(e o{i} o{(i * k + k) % 300})" for i in range(300) for k in range(1, 150))
pairs = [(i, j) for i in range(10) for j in range(i)]
edges = " ".join(f"(e ?x{i} ?x{j})" for i, j in pairs)
xs = " ".join(f"?x{i}" for i in range(10))
domain = (
    "(define (domain a) (:predicates (e ?a ?b) (r ?a) (s)) (:action go :effect (s))"
    f"(:action a :parameters ({xs}) :precondition (and (s) {edges}) :effect (r ?x0))"
    "(:action b :parameters (?x0 ?x1 ?x2 ?x3) :precondition (and) :effect (r ?x1)))"
)
task = task_of(domain, f"(define (problem p) (:domain a) (:objects {names}) (:init {facts} START) (:goal (r o1)))")
tiny = task_of(
    "(define (domain t) (:predicates (s)) (:action go :effect (s)))",
    "(define (problem p) (:domain t) (:init) (:goal (s)))",
)
walkers = {
    name: task_of(
        "(define (domain w) (:predicates (e ?a ?b) (r ?a) (at ?a))"
        f"(:action go :parameters ({go_xs}) :precondition (and (at ?x0) {go_edges})"
        " :effect (and (not (at ?x0)) (at ?x1)))"
        f"(:action a :parameters ({xs}) :precondition (and (at ?x0) {edges}) :effect (r ?x0)))",
        f"(define (problem p) (:domain w) (:objects {names}) (:init {facts} (at o1)) (:goal (r o1)))",
    )
    for name, go_xs, go_edges in WALKERS
}
state = task.initial_state
literals = [Literal(0, (i, j)) for i, j in pairs]
print("ready", flush=True)
try:
    CALL
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
CALLS = {
    "count": "count_actions(task, state)",
    "applicable": "applicable_actions(task, state)",
    "bindings": "find_bindings(task, state, literals, limit=10**9, max_steps=10**15)",
    "lookahead": "lookahead(task, state, TreeSpec(root_successors='all'), play=PlaySpec(max_nodes=10**9))",
    "width 2": "lookahead(task, state, TreeSpec(kind='iw', width=2), play=PlaySpec(max_nodes=10**9))",
    "batch": "lookahead_batch([(task, state, task.goal)] * 2, TreeSpec(root_successors='novel'), threads=2)",
    "free moves": "find_free_moves(walkers['far'])",
    "walks": "lookahead(walkers['near'], spec=TreeSpec(free_moves=True), play=PlaySpec(max_nodes=10**9))",
    "one of two": "lookahead_batch([(tiny, tiny.initial_state, tiny.goal), (task, state, task.goal)], threads=2)",
}


@pytest.mark.parametrize("call", CALLS)
def test_interrupted(call: str) -> None:
    start = "(s)" if call in ("count", "batch", "one of two") else ""
    walkers = {"free moves": '[("far", xs, edges)]', "walks": '[("near", "?x0 ?x1", "(e ?x0 ?x1)")]'}.get(call, "[]")
    program = PROGRAM.replace("CALL", CALLS[call]).replace("START", start).replace("WALKERS", walkers)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, output, errors) == (0, "interrupted\n", "")
