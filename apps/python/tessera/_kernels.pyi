from collections.abc import Sequence
from enum import Enum
from typing import Any, SupportsIndex

from numpy.typing import NDArray

version: str

class Place(Enum):
    host = 0
    gpu = 1

def threads() -> int: ...
def after_fork() -> None: ...
def use_gpu(number: int, /) -> None: ...
def matmul(
    a: NDArray[Any], b: NDArray[Any], out: Any, threads: SupportsIndex, place: Place, /
) -> Any: ...
def transpose(
    a: NDArray[Any],
    axes: Sequence[SupportsIndex] | None,
    out: Any,
    threads: SupportsIndex,
    place: Place,
    /,
) -> NDArray[Any]: ...
def sort(
    a: NDArray[Any], descending: bool, out: Any, threads: SupportsIndex, place: Place, /
) -> NDArray[Any]: ...
def argsort(
    a: NDArray[Any], descending: bool, out: Any, threads: SupportsIndex, place: Place, /
) -> NDArray[Any]: ...
def stencil(
    u: NDArray[Any],
    steps: SupportsIndex,
    kernel: str,
    weights: Any,
    boundary: str,
    value: float,
    out: Any,
    threads: SupportsIndex,
    /,
) -> NDArray[Any]: ...
