"""Stage `learn`: problems in, a trained policy out.

Importing it imports PyTorch; without it, a `ConfigurationError` names the extra that it comes with.

`train` does it all with one configuration; `open_contest` returns a contest that chooses one; `open_run` returns a run
whose events can be iterated; a `Trainer` learns from tasks in memory.
"""

# ruff: noqa: E402 (what is missing is told before anything needs it)

from saltus.model.device import require_pytorch

require_pytorch("training")

from saltus.learn.config import Configuration, TrainingSpec, load_configuration, named_configurations
from saltus.learn.contest import Contest
from saltus.learn.contest_opening import open_contest, open_numbered_contest
from saltus.learn.contest_state import Budget
from saltus.learn.events import ContestEvent, EpisodeReport, Event
from saltus.learn.folder import RunDescription, RunFolder, Start
from saltus.learn.open import open_numbered_run, open_run, train
from saltus.learn.problems import Problems, listed_problems, load_problems
from saltus.learn.run import Run
from saltus.learn.trainer import Trainer
from saltus.learn.validation import Coverage, Validation, measure

__all__ = [
    "Budget",
    "Configuration",
    "Contest",
    "ContestEvent",
    "Coverage",
    "EpisodeReport",
    "Event",
    "Problems",
    "Run",
    "RunDescription",
    "RunFolder",
    "Start",
    "Trainer",
    "TrainingSpec",
    "Validation",
    "listed_problems",
    "load_configuration",
    "load_problems",
    "measure",
    "named_configurations",
    "open_contest",
    "open_numbered_contest",
    "open_numbered_run",
    "open_run",
    "train",
]
