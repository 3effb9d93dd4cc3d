"""Trains a small policy on a folder of problems, plans with it, and prints the plan."""

import saltus

run = saltus.train("examples/gardener", config="tiny", settings=["episodes=20"], out="runs/python")
task = saltus.load("examples/gardener/domain.pddl", "examples/gardener/large.pddl")
plan = run.best_policy.plan(task)  # None where the policy fails
print(plan)
