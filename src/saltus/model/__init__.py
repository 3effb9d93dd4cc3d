"""Stage `model`: graph batches in, a Q-value per candidate out."""

from saltus.model.layout import Layout, make_layout
from saltus.model.rgnn import RelationalNetwork, Scores
from saltus.model.spec import AGGREGATIONS, ModelSpec

__all__ = ["AGGREGATIONS", "Layout", "ModelSpec", "RelationalNetwork", "Scores", "make_layout"]
