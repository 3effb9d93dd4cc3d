"""The list of commands: where each is and what it does, so that only the module of the command that runs is imported.

The summaries repeat the first paragraphs of the commands' docstrings, which a test compares: `saltus --help` lists all
commands without importing any.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command that has not been imported yet."""

    place: str
    """Its function, as `module:function` below `saltus.cli`."""
    summary: str

    def load(self) -> Callable[..., int | None]:
        """The function, imported."""
        module, _, function = self.place.partition(":")
        command: Callable[..., int | None] = getattr(importlib.import_module(f"saltus.cli.{module}"), function)
        return command


COMMANDS = {
    "plan": CommandEntry(
        "plan:plan", "Find a plan with a policy: in every state, jump to the best state of its lookahead tree."
    ),
    "train": CommandEntry("train:train", "Learn a policy from a folder of small problems."),
    "train-all": CommandEntry("train_all:train_all", "Train policies for many domains and seeds in parallel."),
    "bench": CommandEntry(
        "bench:bench",
        "Run a policy on every problem of some suites, each in a process of its own, and record the results.",
    ),
    "experiment": CommandEntry(
        "experiment:experiment",
        "Train and compare systems on domains as a file describes it: what is missing is trained and played.",
    ),
    "wl-goose": CommandEntry(
        "wl_goose:wl_goose", "Train the baseline WL-GOOSE: a heuristic for greedy best-first search."
    ),
    "report": CommandEntry(
        "report:report", "Compare benchmark results with each other and with the paper, and show training curves."
    ),
    "explain": CommandEntry(
        "explain:explain", "Write a page that steps through a policy's rollout: trees, Q-values, jumps, goals."
    ),
    "policies": CommandEntry(
        "policies:policies",
        "Show what policies are: method, size, domain, how they were trained, and how they did in validation.",
    ),
    "domains": CommandEntry("generate:domains", "List the domains that come with Saltus."),
    "generate": CommandEntry("generate:generate", "Generate solvable problems of a domain, from small to large."),
    "grow": CommandEntry(
        "grow:grow", "Make larger problems from the training problems of a folder, without a generator."
    ),
    "info": CommandEntry("inspect:info", "Show the sizes, types, predicates, schemas and free moves of a problem."),
    "stats": CommandEntry(
        "inspect:stats", "Show the number of problems, objects and atoms per split, as in the paper's data table."
    ),
    "validate": CommandEntry(
        "inspect:validate", "Check whether a plan solves a problem; if not, say why and exit with code 1."
    ),
    "lookahead": CommandEntry(
        "explore:lookahead", "Run a lookahead from the initial state and show the size of its tree."
    ),
    "branching": CommandEntry("explore:branching", "Estimate the branching factor of every problem in a folder."),
    "graph": CommandEntry(
        "graph:graph", "Show the relational graphs of the lookahead from the initial state, as the network sees them."
    ),
    "ipc-learn": CommandEntry(
        "train:ipc_learn",
        "Learn with the interface of the IPC's learning track: every better policy is written as the next of DK.1,"
        " DK.2, …",
    ),
    "ipc-plan": CommandEntry(
        "plan:ipc_plan",
        "Find a plan with the interface of the IPC's learning track: with the last intact policy of DK.1, DK.2, …,"
        " or DK.",
    ),
}
"""All commands, in the order of the help."""
