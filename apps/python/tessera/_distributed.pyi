from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numpy import dtype, int64
from numpy.typing import NDArray

_T = TypeVar("_T")

def mpi_library() -> str: ...
def require_one_library() -> None: ...
def version_in(text: str, /) -> str: ...

class Ranks:
    def __init__(self, fortran_handle: int, /) -> None: ...
    @property
    def size(self) -> int: ...
    def same(self, other: Ranks, /) -> bool: ...
    def agree(self, check: Callable[[], _T], /) -> _T: ...
    def broadcast(self, message: bytes, root: int, /) -> bytes: ...

class Cut:
    def __init__(
        self,
        ranks: Ranks,
        shape: Sequence[int],
        grid: Sequence[int],
        block: Sequence[int],
        owners: Sequence[int],
        /,
    ) -> None: ...
    @property
    def local_shape(self) -> tuple[int, ...]: ...
    def indices(self, axis: int, /) -> NDArray[int64]: ...

def nearest_grid(ranks: Ranks, rows: int, cols: int, /) -> tuple[int, int]: ...
def relayout(
    ranks: Ranks, from_: Cut, a: NDArray[Any], to: Cut, b: NDArray[Any], /
) -> None: ...
def matmul(
    ranks: Ranks,
    cut_a: Cut,
    a: NDArray[Any],
    cut_b: Cut,
    b: NDArray[Any],
    cut_c: Cut,
    c: NDArray[Any],
    /,
) -> None: ...
def sort(ranks: Ranks, keys: NDArray[Any], descending: bool, /) -> None: ...
def argsort(
    ranks: Ranks, keys: NDArray[Any], descending: bool, order: NDArray[Any], /
) -> None: ...
def take(
    ranks: Ranks,
    rows: NDArray[Any],
    row_bytes: int,
    numbers: NDArray[int64],
    taken: NDArray[Any],
    /,
) -> None: ...
def searchsorted(
    ranks: Ranks,
    sorted: NDArray[Any],
    values: NDArray[Any],
    side: int,
    descending: bool,
    positions: NDArray[int64],
    /,
) -> None: ...
def groups(
    ranks: Ranks, sorted: NDArray[Any], descending: bool, begins: NDArray[int64], /
) -> tuple[int, int]: ...
def unique(
    ranks: Ranks,
    sorted: NDArray[Any],
    descending: bool,
    distinct: NDArray[Any],
    counts: NDArray[int64],
    /,
) -> int: ...
def describe(file: str, dataset: str, /) -> tuple[tuple[int, ...], str]: ...
def read(
    file: str, dataset: str, low: Sequence[int], high: Sequence[int], to: NDArray[Any], /
) -> None: ...
def write(
    ranks: Ranks,
    file: str,
    dataset: str,
    shape: Sequence[int],
    low: Sequence[int],
    array: NDArray[Any],
    overwrite: bool,
    /,
) -> None: ...

class Field:
    def __init__(
        self,
        ranks: Ranks,
        shape: Sequence[int],
        dtype: dtype[Any],
        kernel: str,
        weights: NDArray[Any] | None,
        boundary: str,
        value: float,
        options: str,
        /,
    ) -> None: ...
    @property
    def low(self) -> list[int]: ...
    @property
    def high(self) -> list[int]: ...
    @property
    def grid(self) -> list[int]: ...
    def local(self, base: Any, /) -> NDArray[Any]: ...
    def advance(self, steps: int, /) -> None: ...

class Halo:
    def __init__(
        self,
        ranks: Ranks,
        shape: Sequence[int],
        dtype: dtype[Any],
        widths: Sequence[int],
        grid: Sequence[int],
        boundary: str,
        value: float,
        fields: int,
        options: str,
        /,
    ) -> None: ...
    @property
    def low(self) -> list[int]: ...
    @property
    def high(self) -> list[int]: ...
    @property
    def bytes(self) -> int: ...
    def start(self, addresses: Sequence[int], strides: Sequence[int], /) -> None: ...
    def wait(self) -> None: ...

class Relayout:
    def __init__(
        self,
        ranks: Ranks,
        source: Cut,
        axes: Sequence[int],
        target: Cut,
        bytes: int,
        gpu: int,
        /,
    ) -> None: ...
    @property
    def bytes(self) -> int: ...
    def start(self, a: int, b: int, /) -> None: ...
    def wait(self) -> None: ...
    def free(self) -> None: ...
