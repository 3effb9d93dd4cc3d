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
