"""Trains a small policy on the problems of a folder, plans with it, and prints the plan; takes some seconds."""

from pathlib import Path

import saltus

folder = Path(__file__).parent / "gardener"
run = saltus.train(folder, config="tiny", settings=["episodes=20"])
task = saltus.load(folder / "domain.pddl", folder / "large.pddl")
plan = run.best_policy().plan(task)  # None if no plan is found
print(plan)
