from collections.abc import Sequence
from typing import Any, SupportsIndex

from numpy import int64
from numpy.typing import ArrayLike, NDArray

from .distributed import DistArray as DistArray
from .fields import Field as Field
from .layouts import Layout as Layout
from .results import read_results as read_results

__all__ = ["argsort", "matmul", "read_results", "sort", "stencil", "threads", "transpose"]
__version__: str

def threads() -> int: ...
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> Any: ...
def transpose(
    a: ArrayLike,
    axes: Sequence[SupportsIndex] | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[Any]: ...
def sort(
    a: ArrayLike,
    *,
    descending: bool = False,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[Any]: ...
def argsort(
    a: ArrayLike,
    *,
    descending: bool = False,
    out: NDArray[int64] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[int64]: ...
def stencil(
    u: ArrayLike,
    steps: SupportsIndex,
    *,
    kernel: str = "heat",
    weights: ArrayLike | None = None,
    boundary: str = "nearest",
    value: float = 0.0,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[Any]: ...
