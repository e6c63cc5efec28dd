from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, overload

from numpy import int64
from numpy.typing import ArrayLike, NDArray

from .distributed import DistArray as DistArray
from .fields import Field as Field
from .halos import HaloPlan as HaloPlan
from .layouts import Layout as Layout
from .relayouts import RelayoutPlan as RelayoutPlan
from .results import read_results as read_results

__all__ = [
    "argsort",
    "matmul",
    "permute",
    "read_results",
    "sort",
    "stencil",
    "threads",
    "transpose",
]
__version__: str

class _OnGpu(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _Tensor(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def threads() -> int: ...
def matmul(
    a: ArrayLike | _Tensor | _OnGpu,
    b: ArrayLike | _Tensor | _OnGpu,
    *,
    out: NDArray[Any] | _OnGpu | None = None,
    threads: SupportsIndex = 0,
) -> Any: ...
@overload
def transpose(
    a: _OnGpu,
    axes: Sequence[SupportsIndex] | None = None,
    *,
    out: _OnGpu | None = None,
    threads: SupportsIndex = 0,
) -> Any: ...
@overload
def transpose(
    a: ArrayLike | _Tensor,
    axes: Sequence[SupportsIndex] | None = None,
    *,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[Any]: ...
@overload
def permute(
    a: _OnGpu,
    axes: Sequence[SupportsIndex],
    *,
    out: _OnGpu | None = None,
    threads: SupportsIndex = 0,
) -> Any: ...
@overload
def permute(
    a: ArrayLike | _Tensor,
    axes: Sequence[SupportsIndex],
    *,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[Any]: ...
@overload
def sort(
    a: _OnGpu,
    *,
    descending: bool = False,
    out: _OnGpu | None = None,
    threads: SupportsIndex = 0,
) -> Any: ...
@overload
def sort(
    a: ArrayLike | _Tensor,
    *,
    descending: bool = False,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[Any]: ...
def argsort(
    a: ArrayLike | _Tensor,
    *,
    descending: bool = False,
    out: NDArray[int64] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[int64]: ...
def stencil(
    u: ArrayLike | _Tensor,
    steps: SupportsIndex,
    *,
    kernel: str = "heat",
    weights: ArrayLike | None = None,
    boundary: str = "nearest",
    value: float = 0.0,
    out: NDArray[Any] | None = None,
    threads: SupportsIndex = 0,
) -> NDArray[Any]: ...
