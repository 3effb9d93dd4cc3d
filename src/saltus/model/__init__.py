"""Stage `model`: graph batches in, a Q-value per candidate out.

PyTorch is imported with the first name that needs it: sizes of networks and descriptions of policies do not.
"""

import os
from typing import TYPE_CHECKING

from saltus.later import names_later

# Before PyTorch is imported: its threads sleep while they wait for each other. Spinning, as they do otherwise, makes a
# plan take twenty times longer where another program keeps a core busy.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from saltus.model.layout import Layout, make_layout
    from saltus.model.rgnn import RelationalNetwork, Scores
    from saltus.model.spec import ModelSpec

__all__ = ["Layout", "ModelSpec", "RelationalNetwork", "Scores", "make_layout"]

if not TYPE_CHECKING:
    __getattr__ = names_later(
        __name__,
        {"layout": "Layout make_layout", "rgnn": "RelationalNetwork Scores", "spec": "ModelSpec"},
    )
