"""Stage `graph`: lookahead trees in, relational graphs out, in batches that the model reads without another copy.

`encodings.py` lists the encodings and what each is made of, `vocabulary.py` derives the relations, and `assemble.py`
has the kernel build whole batches of graphs. The paper's section "Transition Encodings in R-GNNs".
"""

from typing import TYPE_CHECKING

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.graph.assemble import QueryGraphs, assemble, encode_queries, join
    from saltus.graph.batch import GraphBatch
    from saltus.graph.encodings import ENCODINGS, NULLARY, Candidate, Encoding, EncodingSpec
    from saltus.graph.query import Query
    from saltus.graph.vocabulary import Relation, Vocabulary
else:
    __getattr__ = names_later(
        __name__,
        {
            "assemble": "QueryGraphs assemble encode_queries join",
            "batch": "GraphBatch",
            "encodings": "ENCODINGS NULLARY Candidate Encoding EncodingSpec",
            "query": "Query",
            "vocabulary": "Relation Vocabulary",
        },
    )

__all__ = [
    "ENCODINGS",
    "NULLARY",
    "Candidate",
    "Encoding",
    "EncodingSpec",
    "GraphBatch",
    "Query",
    "QueryGraphs",
    "Relation",
    "Vocabulary",
    "assemble",
    "encode_queries",
    "join",
]
