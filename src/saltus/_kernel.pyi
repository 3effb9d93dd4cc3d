from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def scan(text: bytes, max_nesting: int) -> tuple[NDArray[np.int32], NDArray[np.uint32], list[str], int, int]: ...
def read_atoms(
    token: NDArray[np.int32],
    begin: int,
    end: int,
    predicate_of_symbol: NDArray[np.int32],
    object_of_symbol: NDArray[np.int32],
    arity: NDArray[np.int32],
    first_slot: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    object_type: NDArray[np.int32],
    types: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]: ...

class Task:
    def __init__(
        self,
        types: int,
        domains: Sequence[Sequence[int]],
        nested: Sequence[tuple[bool, int, Sequence[int], Sequence[tuple[int, bool, Sequence[int]]]]],
        schemas: Sequence[
            tuple[
                Sequence[int],
                Sequence[tuple[int, bool, Sequence[int]]],
                Sequence[
                    tuple[
                        Sequence[int],
                        Sequence[tuple[int, bool, Sequence[int]]],
                        Sequence[tuple[int, bool, Sequence[int]]],
                        Sequence[tuple[int, bool, Sequence[int]]],
                    ]
                ],
            ]
        ],
        axioms: Sequence[tuple[int, int, Sequence[int], Sequence[tuple[int, bool, Sequence[int]]]]],
        object_type: NDArray[np.int32],
        arity: NDArray[np.int32],
        fluent: NDArray[np.uint8],
        code_offset: NDArray[np.int64],
        static_rows: NDArray[np.int32],
        static_start: NDArray[np.int64],
    ) -> None: ...

class Spec:
    def __init__(
        self,
        kind: int,
        width: int,
        capacity: int,
        goal_identity: int,
        root: int,
        expand_root_successors: bool,
        keep_root_successors: bool,
        max_better: int,
        max_encoded: int,
        max_nodes: int,
        max_atoms: int,
        max_root_actions: int,
    ) -> None: ...

class Tree:
    @property
    def parent(self) -> NDArray[np.int32]: ...
    @property
    def depth(self) -> NDArray[np.int32]: ...
    @property
    def length(self) -> NDArray[np.int32]: ...
    @property
    def schema(self) -> NDArray[np.int32]: ...
    @property
    def argument_offset(self) -> NDArray[np.int64]: ...
    @property
    def argument(self) -> NDArray[np.int32]: ...
    @property
    def novel(self) -> NDArray[np.uint8]: ...
    @property
    def goals(self) -> NDArray[np.int32]: ...
    @property
    def added_offset(self) -> NDArray[np.int64]: ...
    @property
    def added(self) -> NDArray[np.int64]: ...
    @property
    def deleted_offset(self) -> NDArray[np.int64]: ...
    @property
    def deleted(self) -> NDArray[np.int64]: ...
    @property
    def generated(self) -> int: ...
    @property
    def root_actions(self) -> int: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def left_out(self) -> int: ...
    @property
    def root(self) -> int: ...

class FreeMoves:
    def __init__(
        self,
        task: Task,
        groups: Sequence[tuple[int, int, bool, Sequence[Sequence[int]], Sequence[tuple[int, int, int, int]]]],
    ) -> None: ...
    @property
    def reversible(self) -> NDArray[np.uint8]: ...
    def walks_before(
        self, state: NDArray[np.int64], schema: int, arguments: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]: ...
    def canonical_state(
        self, state: NDArray[np.int64], positive: NDArray[np.int64], negative: NDArray[np.int64]
    ) -> NDArray[np.int64]: ...

def lookahead_batch(
    tasks: list[Task],
    states: list[NDArray[np.int64]],
    positives: list[NDArray[np.int64]],
    negatives: list[NDArray[np.int64]],
    moves: list[FreeMoves | None],
    spec: Spec,
    threads: int,
) -> list[Tree]: ...
def applicable(
    task: Task, state: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]: ...
def count_applicable(task: Task, state: NDArray[np.int64]) -> NDArray[np.int64]: ...
def pick_action(task: Task, state: NDArray[np.int64], schema: int, index: int) -> NDArray[np.int32]: ...
def derive(task: Task, state: NDArray[np.int64]) -> NDArray[np.int64]: ...
def successor(task: Task, state: NDArray[np.int64], schema: int, arguments: NDArray[np.int32]) -> NDArray[np.int64]: ...
def find_bindings(
    task: Task,
    state: NDArray[np.int64],
    literals: Sequence[tuple[int, bool, Sequence[int]]],
    domains: Sequence[int],
    limit: int,
    seed: int,
    steps: int,
) -> tuple[int, NDArray[np.int32]]: ...

class RelaxedProof:
    def __init__(self, task: Task, limit: int) -> None: ...
    @property
    def rules(self) -> int: ...
    def reaches(
        self,
        state: NDArray[np.int64],
        goal: NDArray[np.int64],
        work: int,
        quotas: Sequence[tuple[NDArray[np.int64], int]],
    ) -> bool | None: ...

class GroundActions:
    def __init__(self, task: Task, limit: int, form: str) -> None: ...
    @property
    def complete(self) -> bool: ...
    @property
    def rules(self) -> int: ...
    def reaches(
        self,
        state: NDArray[np.int64],
        goal: NDArray[np.int64],
        quotas: Sequence[tuple[NDArray[np.int64], int]],
        keeping: bool,
    ) -> bool: ...

def reachable_actions(
    task: Task, state: NDArray[np.int64], most: int, check: Callable[[], None]
) -> (
    tuple[
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.int32],
        tuple[
            tuple[NDArray[np.int32], NDArray[np.int32]],
            tuple[NDArray[np.int32], NDArray[np.int32]],
            tuple[NDArray[np.int32], NDArray[np.int32]],
            tuple[NDArray[np.int32], NDArray[np.int32]],
        ],
    ]
    | None
): ...

class Roles:
    def __init__(
        self, task: Task, positive: NDArray[np.int64], negative: NDArray[np.int64], fixed: int, most: int
    ) -> None: ...
    def project(
        self, state: NDArray[np.int64]
    ) -> (
        tuple[
            NDArray[np.int32],
            NDArray[np.int32],
            NDArray[np.int64],
            NDArray[np.int64],
            NDArray[np.int64],
            NDArray[np.int64],
            int,
        ]
        | None
    ): ...

def lift_codes(
    small: Task, whole: Task, representatives: NDArray[np.int32], codes: NDArray[np.int64]
) -> NDArray[np.int64]: ...
def has_negation(task: Task) -> bool: ...
def relaxed_search(
    atoms: int,
    lists: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]],
    initial: NDArray[np.int32],
    goal: NDArray[np.int32],
    unwanted: NDArray[np.int32],
    most_work: int,
    goal_share: int,
    check: Callable[[], None],
) -> tuple[bool, NDArray[np.int32], int]: ...
def without_loops(
    atoms: int,
    lists: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]],
    plan: NDArray[np.int32],
    initial: NDArray[np.int32],
    goal: NDArray[np.int32],
    unwanted: NDArray[np.int32],
) -> NDArray[np.int32]: ...
def without_redundant(
    atoms: int,
    lists: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]],
    plan: NDArray[np.int32],
    initial: NDArray[np.int32],
    goal: NDArray[np.int32],
    unwanted: NDArray[np.int32],
    most_work: int,
) -> NDArray[np.int32]: ...
def find_node(
    root: NDArray[np.int64],
    added_offset: NDArray[np.int64],
    added: NDArray[np.int64],
    deleted_offset: NDArray[np.int64],
    deleted: NDArray[np.int64],
    state: NDArray[np.int64],
) -> int: ...
def find_colours(
    task: Task, state: NDArray[np.int64], positive: NDArray[np.int64], negative: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...

class RelationTables:
    def __init__(
        self,
        is_joint: bool,
        has_root_graph: bool,
        delta: bool,
        primed: bool,
        actions: bool,
        tree: bool,
        world: bool,
        arity: NDArray[np.int32],
        relation: NDArray[np.int32],
        of_type: NDArray[np.int32],
        of_schema: NDArray[np.int32],
        edge: int,
        order: int,
        level: int,
    ) -> None: ...

class GraphTask:
    def __init__(self, task: Task, type_offset: NDArray[np.int64], type_object: NDArray[np.int32]) -> None: ...

class QueryGraphs:
    @property
    def slots(self) -> int: ...

def encode_queries(tables: RelationTables, queries: list[tuple[object, ...]], threads: int) -> list[QueryGraphs]: ...
def join_batches(batches: list[QueryGraphs]) -> tuple[NDArray[Any], ...]: ...
def fill_layout(
    graph_offset: NDArray[np.int32],
    object_count: NDArray[np.int32],
    argument_offset: NDArray[np.int64],
    arguments: NDArray[np.int32],
    slot_position: NDArray[np.int32],
    slot_offset: NDArray[np.int32],
    candidate_node: NDArray[np.int32],
    candidate_graph: NDArray[np.int32],
    depth_node: NDArray[np.int32],
    arity: NDArray[np.int32],
    tile: int,
    piece: int,
    block: NDArray[np.uint8],
    spans: NDArray[np.int64],
) -> None: ...

class Network:
    def __init__(
        self,
        arity: NDArray[np.int32],
        embedding: int,
        hidden_layers: int,
        sharpness: float,
        readout: int,
        object_network: bool,
        weights: NDArray[np.float32],
        instructions: str,
    ) -> None: ...
    @property
    def instructions(self) -> str: ...
    def q_values(
        self,
        graph_offset: NDArray[np.int32],
        object_count: NDArray[np.int32],
        argument_offset: NDArray[np.int64],
        arguments: NDArray[np.int32],
        candidate_node: NDArray[np.int32],
        candidate_graph: NDArray[np.int32],
        source_graph: NDArray[np.int32],
        layers: int,
        threads: int,
        check: Callable[[], None] | None,
    ) -> NDArray[np.float32]: ...

class TrainingPass:
    def __init__(self, instructions: str) -> None: ...
    def begin(
        self,
        nodes: int,
        embedding: int,
        sharpness: float,
        groups: list[tuple[NDArray[np.int32], NDArray[np.int64]]],
        weights: list[NDArray[np.float32]],
        keep: bool,
        threads: int,
    ) -> None: ...
    def forward(self) -> None: ...
    @property
    def bytes(self) -> int: ...
    def read(self, output: NDArray[np.float32]) -> None: ...
    def begin_backward(self, gradient: NDArray[np.float32]) -> None: ...
    def backward(self) -> None: ...
    def add_gradients(self, gradients: list[NDArray[np.float32]]) -> None: ...
