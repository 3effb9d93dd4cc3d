"""Stage `experiment`: a file in; trained systems, records and a report out.

A file names systems, domains and seeds. What is missing is trained and played, and an experiment that was killed at any
point goes on where it was.
"""

from saltus.experiment.experiment import Experiment, Standing
from saltus.experiment.spec import ExperimentSpec, read_experiment

__all__ = ["Experiment", "ExperimentSpec", "Standing", "read_experiment"]
