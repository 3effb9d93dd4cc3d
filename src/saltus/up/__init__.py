"""Stage `up`: Saltus as an engine of the library unified-planning, which comes with the extra `up`.

import saltus.up
from unified_planning.shortcuts import OneshotPlanner

saltus.up.register()
with OneshotPlanner(name="saltus") as planner:
    result = planner.solve(problem)
"""

from typing import TYPE_CHECKING, Any

from saltus.errors import ConfigurationError
from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.up.engine import SaltusEngine
    from saltus.up.registration import ENGINE, register
else:
    _import_name = names_later(__name__, {"engine": "SaltusEngine", "registration": "ENGINE register"})

    def __getattr__(name: str) -> Any:
        """A public name, when it is first used; the engine needs unified-planning."""
        try:
            return _import_name(name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "unified_planning":
                raise
            raise ConfigurationError("the engine needs unified-planning: pip install 'saltus[up]'") from error


__all__ = ["ENGINE", "SaltusEngine", "register"]
