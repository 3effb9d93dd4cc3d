"""Stage `policy`: Q-values in; jumps, rollouts and plans out. Importing it does not import PyTorch."""

from saltus.policy.attempt import PROTOCOLS, Attempt, Limits, Outcome
from saltus.policy.choose import Boltzmann, Greedy
from saltus.policy.plan import Planner, attempts
from saltus.policy.policies import YARDSTICKS, GoalCountPolicy, LearnedPolicy, RandomPolicy
from saltus.policy.rollout import Decision, Ending, Episode, Hopeless, Policy, Step, rollout, rollout_batch
from saltus.policy.search import JumpSearch
from saltus.policy.shipped import load_policy

__all__ = [
    "PROTOCOLS",
    "YARDSTICKS",
    "Attempt",
    "Boltzmann",
    "Decision",
    "Ending",
    "Episode",
    "GoalCountPolicy",
    "Greedy",
    "Hopeless",
    "JumpSearch",
    "LearnedPolicy",
    "Limits",
    "Outcome",
    "Planner",
    "Policy",
    "RandomPolicy",
    "Step",
    "attempts",
    "load_policy",
    "rollout",
    "rollout_batch",
]
