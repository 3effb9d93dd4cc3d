"""Stage `graph`: lookahead trees in, relational graphs out, as batches that the model reads without another copy.

`vocabulary.py` says which relations an encoding has; `reference.py` writes the graphs out by the paper's formulas;
`assemble.py` has the kernel build whole batches of the same graphs. The paper's section "Transition Encodings in
R-GNNs".
"""

from saltus.graph.assemble import assemble
from saltus.graph.batch import GraphBatch
from saltus.graph.query import Query
from saltus.graph.reference import RelationalGraph, encode
from saltus.graph.spec import ENCODINGS, NULLARY, EncodingSpec
from saltus.graph.vocabulary import Relation, Vocabulary

__all__ = [
    "ENCODINGS",
    "NULLARY",
    "EncodingSpec",
    "GraphBatch",
    "Query",
    "Relation",
    "RelationalGraph",
    "Vocabulary",
    "assemble",
    "encode",
]
