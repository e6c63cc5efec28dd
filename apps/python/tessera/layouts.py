"""Communicators of mpi4py, and layouts of arrays on their ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

try:
    from mpi4py import MPI as MPI
except ImportError as _missing:
    raise ImportError("tessera.DistArray needs mpi4py (apt install python3-mpi4py): "
                      f"{_missing}") from _missing
try:
    from . import _distributed as _distributed
except ImportError as _missing:
    raise ImportError("this tessera was built without MPI, or its MPI library is not found: "
                      f"{_missing}") from _missing

def _check_library() -> None:
    """Raises ImportError unless mpi4py uses the MPI library of this module."""
    _distributed.require_one_library()
    ours = _distributed.mpi_library()
    theirs = _distributed.version_in(MPI.Get_library_version())
    if ours != theirs:
        raise ImportError(f"mpi4py uses {theirs}, tessera {ours}: must be one MPI library; build "
                          "tessera with that of mpi4py, or install an mpi4py of that of tessera")


_check_library()


def ranks_of(comm: MPI.Comm | None) -> tuple[_distributed.Ranks, MPI.Comm]:
    """Returns the library's ranks of a communicator, and the communicator. Collective."""
    comm = MPI.COMM_WORLD if comm is None else comm
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is of type {type(comm).__name__}: must be a communicator of mpi4py")
    return _distributed.Ranks(comm.py2f()), comm


def numbers_of(values: Any, name: str) -> tuple[int, ...]:
    """Returns a sequence of integers as a tuple; raises TypeError naming the argument."""
    try:
        return tuple(int(v.__index__()) for v in values)
    except (TypeError, AttributeError):
        raise TypeError(f"{name} is {values!r}: must be a sequence of integers") from None


def shape_of(shape: Any) -> tuple[int, ...]:
    """Returns a shape, which may be one number, as a tuple."""
    extents = numbers_of((shape,) if hasattr(shape, "__index__") else shape, "shape")
    if not extents or min(extents) < 0:
        raise ValueError(f"shape is {extents}: must have axes of at least 0 elements")
    return extents


@dataclass(frozen=True)
class Layout:
    """Where the elements of an array are: a grid of ranks with one number of parts per axis.

    grid: the parts of each axis; None: every rank holds all elements. Rank r has place r of the
    grid, the last axis fastest; ranks beyond the grid hold nothing. block: None for one even share
    a part, or for each axis the length of the blocks that are dealt out to its parts in turn
    (block-cyclic, as in ScaLAPACK). owners: the rank of each place, if not 0, 1, 2, ...

    Where a layout is expected, an axis stands for even shares along it (0: blocks of rows, 1: of
    columns, -1: along the last axis), a tuple for a grid, "grid" for the grid whose blocks of the
    first two axes are nearest to squares, and "all" for Layout(None).

    >>> tessera.Layout((2, 3), block=(64, 64)).permuted((1, 0))
    Layout(grid=(3, 2), block=(64, 64), owners=(0, 3, 1, 4, 2, 5))
    """

    grid: tuple[int, ...] | None
    block: tuple[int, ...] | None = None
    owners: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("grid", "block", "owners"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, numbers_of(getattr(self, name), name))
        if self.owners is not None and self.owners == tuple(range(len(self.owners))):
            object.__setattr__(self, "owners", None)

    def permuted(self, axes: Sequence[int]) -> Layout:
        """Returns the layout of an array of which axis k is axis axes[k] of this one. Local."""
        if self.grid is None:
            return self
        order = permutation_of(axes, len(self.grid))
        places = numpy.array(self.owners or range(math.prod(self.grid))).reshape(self.grid)
        return Layout(tuple(self.grid[k] for k in order),
                      self.block and tuple(self.block[k] for k in order),
                      tuple(places.transpose(order).ravel().tolist()))


def permutation_of(axes: Sequence[int] | None, dims: int) -> tuple[int, ...]:
    """Returns axes without negative ones; None reverses them. Raises ValueError, TypeError."""
    order = tuple(range(dims))[::-1] if axes is None else numbers_of(axes, "axes")
    plain = tuple(k + dims if k < 0 else k for k in order)
    if sorted(plain) != list(range(dims)):
        raise ValueError(f"axes is {axes}: must have each of the {dims} axes of the array once")
    return plain


def layout_of(layout: Any, shape: tuple[int, ...], ranks: _distributed.Ranks) -> Layout:
    """Returns the layout that an argument stands for."""
    if isinstance(layout, Layout):
        return layout
    if layout == "all":
        return Layout(None)
    if layout == "grid":
        if len(shape) < 2:
            return layout_of(0, shape, ranks)
        return Layout(_distributed.nearest_grid(ranks, *shape[:2]) + (1,) * (len(shape) - 2))
    if isinstance(layout, (tuple, list)):
        return Layout(tuple(layout))
    if isinstance(layout, str) or not hasattr(layout, "__index__"):
        raise TypeError(f"layout is {layout!r}: must be a Layout, an axis, a grid, 'grid' or 'all'")
    axis = layout.__index__()
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"layout is {axis}: must be an axis of {len(shape)}")
    grid = [1] * len(shape)
    grid[axis] = ranks.size
    return Layout(tuple(grid))
