"""Stage `policy`: Q-values in; jumps, rollouts and plans out."""

from saltus.policy.choose import Boltzmann, Greedy
from saltus.policy.policies import YARDSTICKS, GoalCountPolicy, LearnedPolicy, RandomPolicy
from saltus.policy.rollout import Decision, Ending, Episode, Policy, Step, rollout, rollout_batch

__all__ = [
    "YARDSTICKS",
    "Boltzmann",
    "Decision",
    "Ending",
    "Episode",
    "GoalCountPolicy",
    "Greedy",
    "LearnedPolicy",
    "Policy",
    "RandomPolicy",
    "Step",
    "rollout",
    "rollout_batch",
]
