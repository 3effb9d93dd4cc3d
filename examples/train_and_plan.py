"""Trains a small policy on the problems of a folder, plans with it, and prints the plan; takes some seconds."""

from pathlib import Path

import saltus

folder = Path(__file__).parent / "blocksworld"
run = saltus.train(folder, config="tiny", settings=["episodes=10", "larger_problems=0"])
task = saltus.load(folder / "domain.pddl", folder / "p03.pddl")
plan = run.best_policy().plan(task)
print(plan)
