"""Plans for a problem of unified-planning with a bundled policy, and prints the plan; needs `saltus[up]`."""

from pathlib import Path

from unified_planning.io import PDDLReader
from unified_planning.shortcuts import OneshotPlanner

import saltus.up

saltus.up.register()
folder = Path(__file__).parent / "blocksworld"
problem = PDDLReader().parse_problem(str(folder / "domain.pddl"), str(folder / "p03.pddl"))
with OneshotPlanner(name="saltus") as planner:  # params={"policy": "runs/gardener"} takes a policy of your own
    result = planner.solve(problem, timeout=60)
print(result.status.name, result.plan, sep="\n")
