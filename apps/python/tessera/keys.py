"""Searches in, and groups of, keys that are sorted over the ranks of an mpi4py communicator.

Each rank passes its part of the keys, a numpy array of one dimension, of any length, also 0: rank
after rank the keys ascend, or descend with descending=True. DistArray.sort leaves them so in local.
Positions count the keys of all ranks from 0, rank after rank. Keys are compared as numbers: -0
equals 0, all NaN are equal and last. dtypes: booleans, integers, float16, float32 and float64, the
same on all ranks.

All functions are collective. If the arguments of any rank are wrong, or keys are out of order, all
ranks raise the same ValueError or TypeError.
"""

from __future__ import annotations

from typing import Any

import numpy

from .layouts import MPI, _distributed, ranks_of

_SIDES = ("left", "right")


def expect_keys(dtype: numpy.dtype[Any], name: str) -> None:
    """Raises TypeError that names the argument unless elements of the dtype are keys."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise TypeError(f"{name} has dtype {dtype}: must be a boolean, an integer, float16, "
                        "float32 or float64")


def _keys(keys: Any, name: str) -> numpy.ndarray[Any, Any]:
    """Returns contiguous keys in native byte order. Local."""
    array = numpy.asarray(keys)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: must have 1")
    expect_keys(array.dtype, name)
    return numpy.ascontiguousarray(array, array.dtype.newbyteorder("="))


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
        here.append(_keys(sorted, "sorted"))
        is_array = isinstance(values, numpy.ndarray) and values.size > 0
        here.append(_keys(numpy.asarray(values, None if is_array else here[0].dtype), "values"))
        if here[1].dtype != here[0].dtype:
            raise TypeError(f"values has dtype {here[1].dtype}: must be {here[0].dtype}, as sorted")
        return here[0].dtype, side, bool(descending)
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
    here = _agreed(ranks, sorted, descending)
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
    here = _agreed(ranks, sorted, descending)
    distinct, counts = numpy.empty_like(here), numpy.empty(len(here), numpy.int64)
    n = _distributed.unique(ranks, here, bool(descending), distinct, counts)
    return (distinct[:n].copy(), counts[:n].copy()) if return_counts else distinct[:n].copy()


def _agreed(ranks: _distributed.Ranks, sorted: Any,
            descending: bool) -> numpy.ndarray[Any, Any]:
    """Returns this rank's keys, of one dtype on all ranks. Collective."""
    here: list[Any] = []

    def check() -> Any:
        here.append(_keys(sorted, "sorted"))
        return here[0].dtype, bool(descending)
    ranks.agree(check)
    return here[0]
