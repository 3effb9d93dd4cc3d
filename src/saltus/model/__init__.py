"""Stage `model`: graph batches in, a Q-value per candidate out.

PyTorch is imported with the first name that needs it: sizes of networks and descriptions of policies do not.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

from saltus.model.spec import AGGREGATIONS, ModelSpec

# Before PyTorch is imported: its threads sleep while they wait for each other. Spinning, as they do otherwise, makes a
# plan take twenty times longer where another program keeps a core busy.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from saltus.model.layout import Layout, make_layout
    from saltus.model.rgnn import RelationalNetwork, Scores

__all__ = ["AGGREGATIONS", "Layout", "ModelSpec", "RelationalNetwork", "Scores", "make_layout"]

_LATER = {"Layout": "layout", "make_layout": "layout", "RelationalNetwork": "rgnn", "Scores": "rgnn"}
"""Modules of the names that need PyTorch."""


def __getattr__(name: str) -> Any:
    """Names that need PyTorch."""
    if name in _LATER:
        return getattr(importlib.import_module(f"saltus.model.{_LATER[name]}"), name)
    raise AttributeError(f"module 'saltus.model' has no attribute {name!r}")
