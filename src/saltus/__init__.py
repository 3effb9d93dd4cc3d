"""Saltus learns general policies for classical planning: trained on small problems, they solve far larger ones.

import saltus

policy = saltus.load_policy("blocksworld")  # or saltus.train("my-domain").best_policy()
plan = policy.plan(saltus.load("domain.pddl", "p01.pddl"))
print(plan)
"""

from typing import TYPE_CHECKING, Any

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.errors import (
        ConfigurationError,
        InputError,
        PddlError,
        PlanError,
        Position,
        SaltusError,
        UnsupportedError,
    )
    from saltus.learn import train
    from saltus.lookahead import LookaheadTree, PlaySpec, TreeSpec, lookahead
    from saltus.policy.catalogue import load_policy
    from saltus.task import Action, Goal, Plan, State, Task, Verdict, load, read_plan, validate, write_plan

    __version__: str
else:
    _import_name = names_later(
        __name__,
        {
            "errors": "ConfigurationError InputError PddlError PlanError Position SaltusError UnsupportedError",
            "learn": "train",
            "lookahead": "LookaheadTree PlaySpec TreeSpec lookahead",
            "policy.catalogue": "load_policy",
            "task": "Action Goal Plan State Task Verdict load read_plan validate write_plan",
        },
    )

    def __getattr__(name: str) -> Any:
        """A public name, or the version, when it is first used."""
        if name == "train":
            return _train_or_refusal()
        if name != "__version__":
            return _import_name(name)
        from importlib.metadata import version

        return version("saltus")

    def _train_or_refusal() -> Any:
        """`learn.train`; without PyTorch a function that says so when it is called: `import *` asks for every name."""
        from saltus.errors import ConfigurationError

        try:
            return _import_name("train")
        except ConfigurationError as error:
            message = str(error)

        def train(*_: object, **__: object) -> None:
            raise ConfigurationError(message)

        return train


__all__ = [
    "Action",
    "ConfigurationError",
    "Goal",
    "InputError",
    "LookaheadTree",
    "PddlError",
    "Plan",
    "PlanError",
    "PlaySpec",
    "Position",
    "SaltusError",
    "State",
    "Task",
    "TreeSpec",
    "UnsupportedError",
    "Verdict",
    "__version__",
    "load",
    "load_policy",
    "lookahead",
    "read_plan",
    "train",
    "validate",
    "write_plan",
]


def __dir__() -> list[str]:
    """All public names, those that are imported later included."""
    return sorted(__all__)
