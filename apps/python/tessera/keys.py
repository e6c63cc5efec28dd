"""Searches in, and groups of, keys that are sorted over the ranks of an mpi4py communicator.

Each rank passes its part of the keys, a numpy array of one dimension, of any length, also 0: rank
after rank the keys ascend, or descend with descending=True. DistArray.sort leaves them so in local.
Positions count the keys of all ranks from 0, rank after rank. Keys are compared as numbers: -0
equals 0, all NaN are equal and last. dtypes: booleans, integers, float16, float32 and float64, the
same on all ranks; those of less than 32 bits are compared in copies of 32 bits.

All functions are collective. If the arguments of any rank are wrong, or keys are out of order, all
ranks raise the same ValueError or TypeError.
"""

from __future__ import annotations

from typing import Any

import numpy

from .layouts import MPI, _distributed, ranks_of

_SIDES = ("left", "right")
_WIDE = {"?": "u4", "B": "u4", "H": "u4", "b": "i4", "h": "i4", "e": "f4"}


def compared_as(dtype: numpy.dtype[Any], name: str) -> numpy.dtype[Any]:
    """Returns the dtype of 32 or 64 bits in which the library compares keys of a dtype; raises
    TypeError that names the argument if there is none."""
    if dtype.kind in "iuf" and dtype.itemsize in (4, 8):
        return dtype.newbyteorder("=")
    if dtype.char not in _WIDE:
        raise TypeError(f"{name} has dtype {dtype}: must be a boolean, an integer, float16, "
                        "float32 or float64")
    return numpy.dtype(_WIDE[dtype.char])


def _keys(keys: Any, name: str) -> tuple[numpy.ndarray[Any, Any], numpy.dtype[Any]]:
    """Returns contiguous keys as they are compared, and their own dtype. Local."""
    array = numpy.asarray(keys)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: must have 1")
    wide = compared_as(array.dtype, name)
    return numpy.ascontiguousarray(array, wide), array.dtype.newbyteorder("=")


def searchsorted(sorted: Any, values: Any, comm: MPI.Comm | None = None, side: str = "left",
                 descending: bool = False) -> numpy.ndarray[Any, Any]:
    """Returns the positions at which this rank's values would keep the keys in order, as int64.

    side: "left" before the keys that equal a value, "right" behind them. Ranks may have any numbers
    of values, of the keys' dtype. Each value is sent once. Only the first and last keys of the
    ranks are checked for their order.

    >>> from tessera import keys
    >>> keys.searchsorted(numpy.array([1.0, 2.0, 2.0, 5.0]), [2.0, 9.0], MPI.COMM_SELF)
    array([1, 4])
    """
    ranks, comm = ranks_of(comm)
    here: list[Any] = []

    def check() -> Any:
        if side not in _SIDES:
            raise ValueError(f"side is {side!r}: must be 'left' or 'right'")
        among, dtype = _keys(sorted, "sorted")
        is_array = isinstance(values, numpy.ndarray) and values.size > 0
        wanted, other = _keys(numpy.asarray(values, None if is_array else dtype), "values")
        if other != dtype:
            raise TypeError(f"values has dtype {other}: must be {dtype}, as sorted")
        here.extend((among, wanted))
        return dtype, side, bool(descending)
    ranks.agree(check)
    positions = numpy.empty(len(here[1]), numpy.int64)
    _distributed.searchsorted(ranks, here[0], here[1], _SIDES.index(side), bool(descending),
                              positions)
    return positions


def group_boundaries(sorted: Any, comm: MPI.Comm | None = None,
                     descending: bool = False) -> tuple[numpy.ndarray[Any, Any], int]:
    """Returns the positions at which groups of equal keys begin on this rank, as int64, and the end
    of its last group, which may be on a later rank.

    >>> from tessera import keys
    >>> keys.group_boundaries(numpy.array([1, 1, 4, 7, 7, 7]), MPI.COMM_SELF)
    (array([0, 2, 3]), 6)
    """
    ranks, comm = ranks_of(comm)
    here, _ = _agreed(ranks, sorted, descending)
    begins = numpy.empty(len(here), numpy.int64)
    count, end = _distributed.groups(ranks, here, bool(descending), begins)
    return begins[:count].copy(), end


def unique(sorted: Any, comm: MPI.Comm | None = None, return_counts: bool = False,
           descending: bool = False) -> Any:
    """Returns the distinct keys whose first one is on this rank; with return_counts also how often
    each occurs on all ranks, as int64.

    >>> from tessera import keys
    >>> keys.unique(numpy.array([1, 1, 4, 7, 7, 7]), MPI.COMM_SELF, return_counts=True)
    (array([1, 4, 7]), array([2, 1, 3]))
    """
    ranks, comm = ranks_of(comm)
    here, dtype = _agreed(ranks, sorted, descending)
    distinct, counts = numpy.empty_like(here), numpy.empty(len(here), numpy.int64)
    n = _distributed.unique(ranks, here, bool(descending), distinct, counts)
    found = distinct[:n].astype(dtype)
    return (found, counts[:n].copy()) if return_counts else found


def _agreed(ranks: _distributed.Ranks, sorted: Any,
            descending: bool) -> tuple[numpy.ndarray[Any, Any], numpy.dtype[Any]]:
    """Returns what _keys() does, of one dtype on all ranks. Collective."""
    here: list[Any] = []

    def check() -> Any:
        here.extend(_keys(sorted, "sorted"))
        return here[1], bool(descending)
    ranks.agree(check)
    return here[0], here[1]
