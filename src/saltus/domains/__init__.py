"""Stage `domains`: the paper's 21 benchmark domains, as PDDL files and seeded problem generators.

Takes a domain's name, a split and a position in it (or sizes), and a seed; gives the text of a solvable PDDL problem.
The same arguments give the same bytes, and the problems of a split are independent: problem i of n can be made alone.
The ten domains of the IPC 2023 Learning Track have the splits training, validation, easy, medium and hard; the other
eleven have training, validation and test, with the sizes in the paper's appendix on domains (table of object and atom
counts). Each generator's docstring says why its problems are solvable and which counts are exact.
"""

from saltus.domains.registry import (
    DOMAINS,
    SPLIT_NAMES,
    DomainEntry,
    draw_sizes,
    generate_problem,
    generate_sizes,
)

__all__ = [
    "DOMAINS",
    "SPLIT_NAMES",
    "DomainEntry",
    "draw_sizes",
    "generate_problem",
    "generate_sizes",
]
