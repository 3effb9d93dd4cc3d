"""Stage `policy`: from Q-values to jumps, rollouts and plans. Importing it does not import PyTorch."""

from typing import TYPE_CHECKING

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.policy.admissible import Admissible
    from saltus.policy.catalogue import load_policy
    from saltus.policy.choose import Boltzmann, Greedy
    from saltus.policy.figures import Figures
    from saltus.policy.outcome import PROTOCOLS, Limits, Outcome
    from saltus.policy.planning import Planner, Progress, plan_stepwise
    from saltus.policy.policies import YARDSTICKS, GoalCountPolicy, LearnedPolicy, RandomPolicy
    from saltus.policy.rollout import Decision, Ending, Policy, Rollout, Step, play, run_rollout, run_rollouts
    from saltus.policy.search import JumpSearch
else:
    __getattr__ = names_later(
        __name__,
        {
            "admissible": "Admissible",
            "catalogue": "load_policy",
            "choose": "Boltzmann Greedy",
            "figures": "Figures",
            "outcome": "PROTOCOLS Limits Outcome",
            "planning": "Planner Progress plan_stepwise",
            "policies": "YARDSTICKS GoalCountPolicy LearnedPolicy RandomPolicy",
            "rollout": "Decision Ending Policy Rollout Step play run_rollout run_rollouts",
            "search": "JumpSearch",
        },
    )

__all__ = [
    "PROTOCOLS",
    "YARDSTICKS",
    "Admissible",
    "Boltzmann",
    "Decision",
    "Ending",
    "Figures",
    "GoalCountPolicy",
    "Greedy",
    "JumpSearch",
    "LearnedPolicy",
    "Limits",
    "Outcome",
    "Planner",
    "Policy",
    "Progress",
    "RandomPolicy",
    "Rollout",
    "Step",
    "load_policy",
    "plan_stepwise",
    "play",
    "run_rollout",
    "run_rollouts",
]
