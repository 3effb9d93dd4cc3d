"""Stage `model`: graph batches in, a Q-value for every candidate out."""

from saltus.model.layout import Layout, make_layout
from saltus.model.rgnn import RelationalNetwork, Scores
from saltus.model.spec import AGGREGATIONS, READOUTS, ModelSpec

__all__ = ["AGGREGATIONS", "READOUTS", "Layout", "ModelSpec", "RelationalNetwork", "Scores", "make_layout"]
