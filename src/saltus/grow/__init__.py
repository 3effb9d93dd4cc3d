"""Stage `grow`: problems from problems: larger ones, or others of the same size, made from given ones alone."""

from saltus.grow.grower import Grower, Grown
from saltus.pddl.writer import write_problem
from saltus.task import Task


def problem_text(task: Task) -> str:
    """PDDL text of a grown task; reading it gives the same problem again."""
    return write_problem(task.domain, task.problem)


__all__ = ["Grower", "Grown", "problem_text"]
