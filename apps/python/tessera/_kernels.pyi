from collections.abc import Sequence
from typing import Any, SupportsIndex

from numpy.typing import NDArray

version: str

def threads() -> int: ...
def after_fork() -> None: ...
def matmul(
    a: NDArray[Any], b: NDArray[Any], out: Any, threads: SupportsIndex, /
) -> Any: ...
def transpose(
    a: NDArray[Any],
    axes: Sequence[SupportsIndex] | None,
    out: Any,
    threads: SupportsIndex,
    /,
) -> NDArray[Any]: ...
def sort(
    a: NDArray[Any], descending: bool, out: Any, threads: SupportsIndex, /
) -> NDArray[Any]: ...
def argsort(
    a: NDArray[Any], descending: bool, out: Any, threads: SupportsIndex, /
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
