"""Arrays on the ranks of an mpi4py communicator: tessera.DistArray.

All methods are collective unless they say "local": every rank of the communicator calls them, in
the same order. If the arguments of any rank are wrong, all ranks raise the same exception. The
library communicates in a duplicate of the communicator. A rank uses OMP_NUM_THREADS threads, or its
share of the cores.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import transpose as _transpose
from .keys import expect_keys
from .layouts import (MPI, Layout, _distributed, layout_of, permutation_of, ranks_of,
                      shape_of)

_READ_AS = {"f64": "f8", "f32": "f4", "f16": "f2", "c64": "c8", "c128": "c16", "i64": "i8",
            "i32": "i4", "i16": "i2", "i8": "i1", "u64": "u8", "u32": "u4", "u16": "u2",
            "u8": "u1", "bool": "u1"}


def _split_name(name: str) -> tuple[str, str]:
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}: must be a string, 'file.h5:/dataset'")
    file, colon, dataset = name.rpartition(":/")
    if not colon or not file:
        raise ValueError(f"name is {name!r}: must be 'file.h5:/dataset'")
    return file, "/" + dataset


class DistArray:
    """An array of one or more axes on the ranks of an mpi4py communicator; zeros at first.

    shape: of the whole array. dtype: any without Python objects to move elements; products take
    float16, float32, float64, complex64 and complex128, sorts booleans, integers, float16, float32
    and float64, files all of them but booleans. comm: any intracommunicator, MPI.COMM_WORLD if
    None. layout: see Layout. Raises ValueError, TypeError and MemoryError, on all ranks if on any.

    local is this rank's share, a numpy array in which the caller reads and writes.

    >>> a = tessera.DistArray((6, 4), comm=MPI.COMM_SELF)
    >>> a.local[...] = numpy.arange(24.0).reshape(6, 4)
    >>> a.redistribute(tessera.Layout((1, 1), block=(2, 3)))
    DistArray(shape=(6, 4), dtype=float64, layout=Layout(grid=(1, 1), block=(2, 3), owners=None))
    """

    __array_ufunc__ = None  # expressions with numpy arrays must not gather silently
    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    comm: MPI.Comm
    layout: Layout
    local: numpy.ndarray[Any, Any]

    def __init__(self, shape: Any, dtype: Any = float, comm: MPI.Comm | None = None,
                 layout: Any = 0) -> None:
        ranks, comm = ranks_of(comm)
        ranks.agree(lambda: self._describe(ranks, comm, shape, dtype, layout))

    def _describe(self, ranks: _distributed.Ranks, comm: MPI.Comm, shape: Any, dtype: Any,
                  layout: Any, local: Any = numpy.zeros) -> Any:
        """Sets all members; returns what must be the same on all ranks. local: this rank's share,
        or what makes it of its shape and dtype; numpy.empty for results, whose large pages are
        mapped faster than those of numpy.zeros. Local."""
        self._ranks, self.comm = ranks, comm
        self.shape = shape_of(shape)
        self.dtype = numpy.dtype(dtype)
        if self.dtype.hasobject or self.dtype.itemsize == 0:
            raise TypeError(f"dtype is {self.dtype}: must have bytes, and no Python objects")
        self.layout = layout_of(layout, self.shape, ranks)
        self._cut = _distributed.Cut(ranks, self.shape, self.layout.grid or (),
                                     self.layout.block or (), self.layout.owners or ())
        share = self._cut.local_shape
        if callable(local):
            local = local(share, self.dtype)
        elif not isinstance(local, numpy.ndarray):
            raise TypeError(f"local is of type {type(local).__name__}: must be a numpy array")
        elif local.shape != share or local.dtype != self.dtype:
            raise ValueError(f"local has shape {local.shape} and dtype {local.dtype}: must be "
                             f"{share} and {self.dtype}")
        elif not (local.flags.c_contiguous or local.flags.f_contiguous):
            raise ValueError("local is not contiguous: must be, in C's or Fortran's order")
        self.local = local
        return self.shape, self.dtype, self.layout

    def _made(self, describe: Callable[[], tuple[Any, ...]]) -> DistArray:
        """Returns a new array of the same ranks, of which describe() returns shape, dtype, layout
        and perhaps local."""
        return made(self._ranks, self.comm, describe)

    @classmethod
    def from_local(cls, local: Any, shape: Any, comm: MPI.Comm | None = None,
                   layout: Any = 0) -> DistArray:
        """Returns the array of which `local` is this rank's share, without a copy.

        >>> share = numpy.ones((3, 2))
        >>> tessera.DistArray.from_local(share, (3, 2), MPI.COMM_SELF).local is share
        True
        """
        ranks, comm = ranks_of(comm)
        return made(ranks, comm, lambda: (shape, local.dtype if isinstance(
            local, numpy.ndarray) else float, layout, local))

    @classmethod
    def from_numpy(cls, array: Any, comm: MPI.Comm | None = None, layout: Any = 0,
                   root: int = 0) -> DistArray:
        """Returns an array that rank `root` has as a whole; the other ranks pass None.

        >>> tessera.DistArray.from_numpy([3, 1, 2], MPI.COMM_SELF).local
        array([3, 1, 2])
        """
        ranks, comm = ranks_of(comm)
        here: list[Any] = [None, None, None]

        def check() -> Any:
            if not 0 <= root < ranks.size:
                raise ValueError(f"root is {root}: must be in 0 .. {ranks.size - 1}")
            if comm.rank == root:
                if array is None:
                    raise ValueError("array is None: must be an array on rank root")
                here[2] = numpy.asarray(array)
                here[0], here[1] = here[2].shape, here[2].dtype
            return root
        ranks.agree(check)
        shape, dtype = pickle.loads(ranks.broadcast(pickle.dumps(here[:2]), root))
        at_root = Layout((1,) * len(shape), owners=(root,))
        whole = made(ranks, comm, lambda: (
            shape, dtype, at_root,
            numpy.empty if here[2] is None else numpy.ascontiguousarray(here[2])))
        return whole.redistribute(layout)

    @classmethod
    def from_h5(cls, name: str, comm: MPI.Comm | None = None, layout: Any = 0,
                dtype: Any = None) -> DistArray:
        """Returns a dataset, 'file.h5:/dataset', of which each rank reads its share.

        dtype: that of the dataset if None, uint8 for booleans.
        """
        ranks, comm = ranks_of(comm)

        def describe(where: Any) -> tuple[Any, ...]:
            shape, stored = _distributed.describe(*_split_name(name))
            if dtype is None and stored not in _READ_AS:
                raise ValueError(f"{name} holds {stored}: must hold numbers")
            return shape, dtype or _READ_AS[stored], where
        blocks = isinstance(layout, Layout) and (layout.block or layout.grid is None)
        array = made(ranks, comm, lambda: describe(0 if blocks else layout))

        def read() -> None:
            low, high = array._box()
            here = _native(array.local)
            _distributed.read(*_split_name(name), low, high, here)
            if here is not array.local:
                array.local[...] = here
        ranks.agree(read)
        return array.redistribute(layout) if blocks else array

    def to_h5(self, name: str, overwrite: bool = False) -> None:
        """Writes the array as a dataset, 'file.h5:/dataset'. The file appears when it is complete;
        overwrite: an output of Tessera may be replaced. Raises OSError if it exists."""
        self._ranks.agree(lambda: _split_name(name))
        is_boxes = self.layout.grid is not None and self.layout.block is None
        boxes = self if is_boxes else self.redistribute(0)
        low, _ = boxes._box()
        _distributed.write(self._ranks, *_split_name(name), self.shape, low,
                           _native(boxes._dense()), overwrite)

    def _box(self) -> tuple[list[int], list[int]]:
        """Returns the bounds of a share of consecutive indices. Local."""
        low = [int(self.indices(d)[0]) if n else 0 for d, n in enumerate(self.local.shape)]
        return low, [begin + n for begin, n in zip(low, self.local.shape)]

    @property
    def ndim(self) -> int:
        """The number of axes. Local."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of the whole array. Local."""
        return math.prod(self.shape)

    @property
    def T(self) -> DistArray:
        """The array with its axes reversed: a view of the same memory. Local."""
        view = DistArray.__new__(DistArray)
        view._describe(self._ranks, self.comm, self.shape[::-1], self.dtype,
                       self.layout.permuted(range(self.ndim)[::-1]), self.local.T)
        return view

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DistArray(shape={self.shape}, dtype={self.dtype}, layout={self.layout})"

    def indices(self, axis: int) -> numpy.ndarray[Any, Any]:
        """Returns the global indices of the local ones along an axis. Local.

        >>> tessera.DistArray((3, 5), comm=MPI.COMM_SELF).indices(1)
        array([0, 1, 2, 3, 4])
        """
        return self._cut.indices(range(self.ndim)[axis])

    def redistribute(self, layout: Any) -> DistArray:
        """Returns a copy in another layout, one message for each pair of ranks."""
        result = self._made(lambda: (self.shape, self.dtype, layout, numpy.empty))
        self._move_to(result)
        return result

    def _move_to(self, to: DistArray) -> None:
        local = self.local if self._is_matrix() else self._dense()
        _distributed.relayout(self._ranks, self._cut, local, to._cut, to.local)

    def _is_matrix(self) -> bool:
        """Returns whether shares may be in Fortran's order where they are moved. Local."""
        return self.ndim == 2 and self.dtype.itemsize in (1, 2, 4, 8, 16)

    def _dense(self) -> numpy.ndarray[Any, Any]:
        """Returns the share in C's order, copied if it is in Fortran's. Local."""
        return self.local if self.local.flags.c_contiguous else _transpose(self.local.T)

    def transpose(self, axes: Sequence[int] | None = None, layout: Any = None) -> DistArray:
        """Returns a copy of which axis k is axis axes[k]; None reverses the axes. layout: that of
        the result; None: that of this array. The elements are sent once; those of matrices arrive
        transposed, others are permuted locally.

        >>> a = tessera.DistArray((2, 3, 4), comm=MPI.COMM_SELF)
        >>> a.transpose((2, 0, 1)).shape
        (4, 2, 3)
        """
        order: tuple[int, ...] = ()

        def describe() -> tuple[Any, ...]:
            nonlocal order
            order = permutation_of(axes, self.ndim)
            shape = tuple(self.shape[k] for k in order)
            to = layout_of(self.layout if layout is None else layout, shape, self._ranks)
            return (self.shape, self.dtype, to.permuted(numpy.argsort(order).tolist()),
                    _empty_columns if self._is_matrix() and order == (1, 0) else numpy.empty)
        moved = self._made(describe)
        self._move_to(moved)
        share = (moved.local.T if moved.local.flags.f_contiguous and order == (1, 0)
                 else _transpose(moved.local, order))
        return self._made(lambda: (tuple(self.shape[k] for k in order), self.dtype,
                                   moved.layout.permuted(order), share))

    def to_numpy(self, root: int = 0) -> numpy.ndarray[Any, Any] | None:
        """Returns the whole array on rank `root`, None on the others."""
        whole = self.redistribute(Layout((1,) * self.ndim, owners=(root,)))
        return whole.local if self.comm.rank == root else None

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray[Any, Any]:
        """Returns the whole array on every rank: numpy.asarray(a)."""
        whole = self.redistribute("all").local
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __matmul__(self, other: DistArray) -> DistArray:
        return self.matmul(other)

    def matmul(self, other: DistArray, layout: Any = None) -> DistArray:
        """Returns the matrix product, as `a @ b`, in a layout; None: in that of this array.

        Elements as in tessera.matmul. Operands in any layouts, also transposed ones (a.T), are read
        where they are.

        >>> a = tessera.DistArray.from_numpy([[1.0, 2.0], [3.0, 4.0]], MPI.COMM_SELF)
        >>> numpy.asarray(a.T @ a)
        array([[10., 14.],
               [14., 20.]])
        """
        def describe() -> tuple[Any, ...]:
            if not isinstance(other, DistArray):
                raise TypeError(f"b is of type {type(other).__name__}: must be a DistArray")
            if not self._ranks.same(other._ranks):
                raise ValueError("b is on another communicator than a")
            if self.ndim != 2 or other.ndim != 2:
                raise ValueError(f"a has {self.ndim} and b {other.ndim} dimensions: must have 2")
            if self.shape[1] != other.shape[0]:
                raise ValueError(f"b has shape {other.shape}: must have {self.shape[1]} rows, as a "
                                 f"of shape {self.shape} has columns")
            dtype = numpy.result_type(self.dtype, other.dtype)
            if dtype.char not in "efdFD":
                raise TypeError(f"a has dtype {self.dtype} and b {other.dtype}: their product must "
                                "be of float16, float32, float64, complex64 or complex128")
            return ((self.shape[0], other.shape[1]), dtype,
                    self.layout if layout is None else layout, numpy.empty)
        c = self._made(describe)
        _distributed.matmul(self._ranks, self._cut, self.local.astype(c.dtype, copy=False),
                            other._cut, other.local.astype(c.dtype, copy=False), c._cut, c.local)
        return c

    def _in_rows(self) -> DistArray:
        """Returns this array, or a copy, in even shares of rows."""
        is_so = self.layout == layout_of(0, self.shape, self._ranks)
        return self if is_so else self.redistribute(0)

    def _expect_keys(self) -> None:
        if self.ndim != 1:
            raise ValueError(f"the array has {self.ndim} dimensions: must have 1")
        expect_keys(self.dtype, "the array")

    def sort(self, descending: bool = False) -> None:
        """Sorts a one-dimensional array in place; order as in tessera.sort.

        >>> a = tessera.DistArray.from_numpy([3.0, 1.0, 2.0], MPI.COMM_SELF)
        >>> a.sort()
        >>> a.local
        array([1., 2., 3.])
        """
        self._ranks.agree(self._expect_keys)
        rows = self._in_rows()
        keys = _native(rows.local)
        _distributed.sort(self._ranks, keys, bool(descending))
        if keys is not rows.local:
            rows.local[...] = keys
        if rows is not self:
            rows._move_to(self)

    def argsort(self, descending: bool = False) -> DistArray:
        """Returns the int64 indices that sort a one-dimensional array, in even shares; equal
        elements keep their order."""
        self._ranks.agree(self._expect_keys)
        keys = _native(self._in_rows().local)
        order = self._made(lambda: (self.shape, numpy.int64, 0))
        _distributed.argsort(self._ranks, keys, bool(descending), order.local)
        return order

    def take(self, numbers: Any) -> Any:
        """Returns the rows (indices of the first axis) of those numbers: an array in even shares of
        rows for a DistArray of int64, and for numpy arrays, which may differ between the ranks,
        the rows that each asks for.

        >>> a = tessera.DistArray.from_numpy([10, 20, 30], MPI.COMM_SELF)
        >>> a.take(numpy.array([2, 0]))
        array([30, 10])
        """
        wanted: list[Any] = []

        def check() -> bool:
            each = numbers if isinstance(numbers, DistArray) else numpy.asarray(numbers)
            if each.ndim != 1 or each.dtype.kind not in "iu":
                raise TypeError("numbers must be integers in one dimension, and has dtype "
                                f"{each.dtype} and {each.ndim} dimensions")
            wanted.append(each)
            return isinstance(numbers, DistArray)
        of_array = self._ranks.agree(check)
        local = wanted[0]._in_rows().local if of_array else wanted[0]
        local = numpy.ascontiguousarray(local, numpy.int64)
        rows = self._in_rows()
        if of_array:
            taken = self._made(lambda: ((*numbers.shape, *self.shape[1:]), self.dtype, 0))
            to = taken.local
        else:
            to = numpy.empty((len(local), *self.shape[1:]), self.dtype)
        row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        if row_bytes > 0:
            _distributed.take(self._ranks, rows._dense(), row_bytes, local, to)
        return taken if of_array else to

    def stencil(self, steps: int, kernel: str = "heat", weights: Any = None,
                boundary: str = "nearest", value: float = 0.0) -> DistArray:
        """Returns a field of one to three axes after `steps` steps; arguments as tessera.stencil.

        >>> u = tessera.DistArray.from_numpy([0.0, 0.0, 8.0, 0.0, 0.0], MPI.COMM_SELF)
        >>> u.stencil(1).local
        array([0., 1., 6., 1., 0.])
        """
        from .fields import Field
        field = Field(self.shape, self.dtype, self.comm, kernel=kernel, weights=weights,
                      boundary=boundary, value=value)
        field.assign(self)
        field.advance(steps)
        return field.array(self.layout)


def _native(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Returns the array, copied if it has the other byte order. Local."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _empty_columns(shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> numpy.ndarray[Any, Any]:
    """Returns an array in Fortran's order, uninitialised."""
    return numpy.empty(shape, dtype, order="F")


def made(ranks: _distributed.Ranks, comm: MPI.Comm,
          describe: Callable[[], tuple[Any, ...]]) -> DistArray:
    """Returns the array that describe(), a local function, describes: shape, dtype, layout, and
    perhaps local or what makes it. Collective."""
    array = DistArray.__new__(DistArray)
    ranks.agree(lambda: array._describe(ranks, comm, *describe()))
    return array
