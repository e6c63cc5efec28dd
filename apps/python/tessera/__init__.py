"""Fast products, transposes, sorts and stencils of numpy arrays on all cores of one process, arrays
on the ranks of mpi4py (tessera.DistArray, Field, HaloPlan, Layout, RelayoutPlan), and results
files (read_results).

Functions take what numpy's functions of the same names take, also tensors of other libraries, read
arrays where they are if the layout allows it, and release the GIL while they compute. `threads=0`
stands for all cores that the process may use (OMP_NUM_THREADS, its affinity); in a process forked
from one that has imported tessera, calls use one thread, because OpenMP's threads do not survive a
fork.

matmul, transpose, sort, argsort, HaloPlan and RelayoutPlan also take arrays in the memory of an
NVIDIA GPU (cupy, torch and others with __cuda_array_interface__) and compute there, in a build with
CUDA. All arrays of a call, `out` too, are on one GPU, which becomes the current one; the result
without `out` is an array that cupy.asarray and torch.as_tensor take without a copy. Nothing is
copied to the host or converted, except messages of plans: matrices without contiguous rows or
columns, and mixed dtypes, are refused. A call waits for all earlier work of the GPU, and returns
when the result is complete.

>>> import numpy, tessera
>>> a = numpy.arange(6.0).reshape(2, 3)
>>> tessera.matmul(a, a.T)
array([[ 5., 14.],
       [14., 50.]])
"""

import importlib as _importlib
import os as _os

import numpy as _numpy

from . import _gpu, _kernels
from .results import read_results

__all__ = ["argsort", "matmul", "permute", "read_results", "sort", "stencil", "threads",
           "transpose"]
__version__ = _kernels.version

_ON_RANKS = {"DistArray": "distributed", "Field": "fields", "HaloPlan": "halos",
             "Layout": "layouts", "RelayoutPlan": "relayouts"}  # need mpi4py


def __getattr__(name):
    if name not in _ON_RANKS:
        raise AttributeError(f"module 'tessera' has no attribute '{name}'")
    return getattr(_importlib.import_module(f".{_ON_RANKS[name]}", __name__), name)


_os.register_at_fork(after_in_child=_kernels.after_fork)


_HOST = _kernels.Place.host


def _on_gpu(*arrays):
    """Returns whether one of the arrays is in the memory of a GPU."""
    return any(type(x) is not _numpy.ndarray and _gpu.is_on_gpu(x) for x in arrays)


def _array(x, name, function=""):
    """Returns x as a plain array, not copied if it shares its memory (__array__, __dlpack__, the
    buffer protocol); throws TypeError for masked arrays, whose mask would be lost, and for those on
    a GPU."""
    if type(x) is _numpy.ndarray:
        return x
    if isinstance(x, _numpy.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: must have no mask; pass its filled()")
    if _gpu.is_on_gpu(x):
        _gpu.refuse(name, function)
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return _numpy.from_dlpack(x)
    return _numpy.asarray(x)


def threads():
    """Returns the number of threads of calls with threads=0.

    >>> tessera.threads() >= 1
    True
    """
    return _kernels.threads()


def matmul(a, b, *, out=None, threads=0):
    """Returns the matrix product of a (m x k) and b (k x n), as numpy's `a @ b`.

    Vectors: a may have the shape (k,) and b (k,); the result then lacks that axis and is a scalar
    if it lacks both. Elements are float16, float32, float64, complex64 or complex128; operands of
    different dtypes, also of integers with one of these, are converted to the dtype that numpy
    computes in. Products of float16 are summed in float32, and each element is rounded once.
    Matrices whose rows or columns are contiguous, possibly with gaps between them, are not copied,
    also transposed. Results are the same bits for any number of threads. Arrays on a GPU: see
    help(tessera).

    out: a writable array of the result's dtype and shape with contiguous rows or columns that
    overlaps neither operand; it is returned.

    Raises ValueError for shapes that do not match, more than two axes (stacks of matrices) and an
    unsuitable out, TypeError for other dtypes, MemoryError.

    >>> a = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    >>> tessera.matmul(a, a)
    array([[ 7., 10.],
           [15., 22.]])
    >>> tessera.matmul(a, [1, 1])
    array([3., 7.])
    >>> c = numpy.empty((2, 2))
    >>> tessera.matmul(a.T, a, out=c) is c
    True
    """
    if _on_gpu(a, b, out):
        return _gpu.call(_kernels.matmul, {"a": a, "b": b}, out)
    return _kernels.matmul(_array(a, "a"), _array(b, "b"), out, threads, _HOST)


def transpose(a, axes=None, *, out=None, threads=0):
    """Returns a contiguous copy of a with its axes permuted: axis k is axis axes[k] of a.

    Equals numpy.ascontiguousarray(numpy.transpose(a, axes)) for every dtype without Python objects.
    axes: each axis once, negative ones counted from the end; None reverses them. Arrays whose
    elements are dense in memory, in any order of axes, and matrices with gaps between their rows
    are read where they are; others are copied first.

    out: a writable array of a's dtype and the result's shape, contiguous in C's order, that does
    not overlap a; it is returned.

    Raises ValueError for axes that are no permutation or separate more than 6 axes, and for an
    unsuitable out, TypeError for a dtype with objects, MemoryError.

    >>> tessera.transpose(numpy.arange(6).reshape(2, 3))
    array([[0, 3],
           [1, 4],
           [2, 5]])
    >>> tessera.transpose(numpy.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    if _on_gpu(a, out):
        return _gpu.call(_kernels.transpose, {"a": a}, out, axes)
    return _kernels.transpose(_array(a, "a"), axes, out, threads, _HOST)


def permute(a, axes, *, out=None, threads=0):
    """Returns transpose(a, axes, out=out, threads=threads): the name of torch and of tensor
    libraries for it.

    >>> tessera.permute(numpy.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(a, axes, out=out, threads=threads)


def sort(a, *, descending=False, out=None, threads=0):
    """Returns a sorted copy of a one-dimensional array, as numpy.sort.

    Elements are integers and floats of at most 64 bits, or bool; those of less than 32 bits are
    sorted in a copy in 32 bits, and not on a GPU. NaN is last, as in numpy, also in descending
    order. What numpy leaves open is fixed: -0.0 precedes 0.0, and NaN are ordered by their bits, so
    that the result is the same for any number of threads. The result has native byte order. Needs
    memory for another copy.

    out: a writable array of the result's dtype and shape, contiguous; it is returned. out=a sorts
    in place; other overlaps are refused.

    Raises ValueError for other shapes and an unsuitable out, TypeError for other dtypes,
    MemoryError.

    >>> tessera.sort(numpy.array([2.5, float("nan"), -1.0]))
    array([-1. ,  2.5,  nan])
    >>> tessera.sort([3, 1, 2], descending=True)
    array([3, 2, 1])
    """
    if _on_gpu(a, out):
        return _gpu.call(_kernels.sort, {"a": a}, out, bool(descending))
    return _kernels.sort(_array(a, "a"), bool(descending), out, threads, _HOST)


def argsort(a, *, descending=False, out=None, threads=0):
    """Returns the int64 indices that sort a one-dimensional array, stably.

    Equals numpy.argsort(a, kind="stable"): equal elements, among them -0.0 and 0.0, and NaN, keep
    their order, also in descending order; NaN are last. Dtypes as in sort. Needs 24 bytes for each
    element in addition to the result.

    out: a writable, contiguous array of int64 and a's shape that does not overlap a; it is
    returned.

    Raises ValueError, TypeError and MemoryError as sort.

    >>> tessera.argsort(numpy.array([3.0, 1.0, 2.0, 1.0]))
    array([1, 3, 2, 0])
    >>> tessera.argsort(numpy.array([3.0, 1.0, 2.0, 1.0]), descending=True)
    array([0, 2, 1, 3])
    """
    if _on_gpu(a, out):
        return _gpu.call(_kernels.argsort, {"a": a}, out, bool(descending))
    return _kernels.argsort(_array(a, "a"), bool(descending), out, threads, _HOST)


def stencil(u, steps, *, kernel="heat", weights=None, boundary="nearest", value=0.0, out=None,
            threads=0):
    """Returns a field of 1 to 3 axes after `steps` steps of u[p] = sum of weight * u[p + offset].

    kernel: heat, laplace, advection, star1 to star4, and in two dimensions box3x3 to box9x9 and
    life; `tessera list` describes them. weights: an array of as many axes as u instead of a kernel,
    with its centre at shape // 2, as that of scipy.ndimage.correlate.
    boundary: the values outside of u, by their names in scipy.ndimage: nearest, mirror, reflect,
    wrap, or constant with `value`; reflect101 is mirror (what numpy.pad calls reflect).

    u has float16, float32 or float64 elements, and is copied once into two fields with halos;
    float16 is computed in float32 and rounded once a step. Results are the same bits for any number
    of threads; sums are fused, so that the last bits differ from those of numpy's expressions.

    out: a writable array of u's dtype and shape, contiguous; it is returned. out=u is allowed;
    other overlaps are refused.

    Raises ValueError for an unknown kernel or boundary, steps < 0, and shapes that do not suit,
    TypeError for other dtypes, MemoryError.

    >>> u = numpy.array([0.0, 0.0, 8.0, 0.0, 0.0])
    >>> tessera.stencil(u, 1)
    array([0., 1., 6., 1., 0.])
    >>> tessera.stencil(u, 2, weights=[0, 0, 1], boundary="wrap")
    array([8., 0., 0., 0., 0.])
    """
    return _kernels.stencil(_array(u, "u", "stencil"), steps, kernel, weights, boundary, value, out,
                            threads)
