"""Relayouts of arrays in the caller's memory: tessera.RelayoutPlan."""

from __future__ import annotations

from typing import Any

import numpy

from . import _gpu
from .layouts import MPI, _distributed, layout_of, permutation_of, ranks_of, shape_of


class RelayoutPlan:
    """Moves arrays from one layout to another, perhaps with their axes permuted, in the caller's
    memory: planned once, executed many times, as between the steps of a Fourier transform.

    shape: of the whole array a. source, target: the layouts of a and b (see Layout). axes: axis k
    of b is axis axes[k] of a; None: b has the axes of a. dtype: any without Python objects. comm:
    as DistArray. Raises ValueError, TypeError and MemoryError, on all ranks if on any.

    a_shape, b_shape: those of this rank's shares, which arrays that are passed have.

    >>> plan = tessera.RelayoutPlan((2, 3), 0, 1, axes=(1, 0), comm=MPI.COMM_SELF)
    >>> a, b = numpy.arange(6.0).reshape(plan.a_shape), numpy.empty(plan.b_shape)
    >>> plan.execute(a, b)
    >>> b
    array([[0., 3.],
           [1., 4.],
           [2., 5.]])
    """

    def __init__(self, shape: Any, source: Any, target: Any, dtype: Any = float,
                 comm: MPI.Comm | None = None, *, axes: Any = None) -> None:
        self._ranks, self.comm = ranks_of(comm)

        def cut(shape: tuple[int, ...], layout: Any) -> tuple[Any, _distributed.Cut]:
            where = layout_of(layout, shape, self._ranks)
            return where, _distributed.Cut(self._ranks, shape, where.grid or (), where.block or (),
                                           where.owners or ())

        def check() -> Any:
            self.shape, self.dtype = shape_of(shape), numpy.dtype(dtype)
            if self.dtype.hasobject or self.dtype.itemsize == 0:
                raise TypeError(f"dtype is {self.dtype}: must have bytes, and no Python objects")
            dims = len(self.shape)
            if dims > 6:
                raise ValueError(f"shape has {dims} axes: must have at most 6")
            self.axes = permutation_of(range(dims) if axes is None else axes, dims)
            self.source, self._from = cut(self.shape, source)
            self.target, self._to = cut(tuple(self.shape[k] for k in self.axes), target)
            return self.shape, self.dtype, self.axes, self.source, self.target
        self._ranks.agree(check)
        self.a_shape, self.b_shape = self._from.local_shape, self._to.local_shape
        self._plans: dict[int, _distributed.Relayout] = {}  # by GPU, -1 for the host
        self._started: Any = None
        self._held: tuple[Any, ...] = ()  # the arrays of start(), until wait()

    @property
    def nbytes(self) -> int:
        """The bytes of the plan's buffers on this rank, which it has from the first start() on.
        Local."""
        return sum(plan.bytes for plan in self._plans.values())

    def start(self, a: Any, b: Any) -> None:
        """Starts an execution that reads `a` and writes `b`, contiguous arrays of a_shape and
        b_shape: afterwards `a` may be written; `b` belongs to the plan until wait().

        Both are numpy arrays, or in the memory of an NVIDIA GPU (cupy, torch and others with
        __cuda_array_interface__), the same one in all calls of a plan: that packs and unpacks them
        after all its earlier work, and messages travel from GPU to GPU where the machine permits.
        """
        described: list[numpy.ndarray[Any, Any]] = []
        device = -1

        def check() -> bool:
            nonlocal device
            if self._started is not None:
                raise ValueError("the plan is started: call wait() first")
            arrays = {"a": a, "b": b}
            on_gpu = any(map(_gpu.is_on_gpu, arrays.values()))
            if on_gpu:
                arrays, device = _gpu.described(arrays)
                others = [gpu for gpu in self._plans if gpu not in (-1, device)]
                if others:
                    raise ValueError(f"the arrays are on the GPU {device}: those of earlier calls "
                                     f"were on {others[0]}")
            described.extend(self._checked(x, name, share, name == "b") for (name, x), share in zip(
                arrays.items(), (self.a_shape, self.b_shape)))
            if numpy.may_share_memory(*described):
                raise ValueError("b overlaps a: must be other memory")
            return on_gpu
        self._ranks.agree(check)
        if device not in self._plans:
            self._plans[device] = _distributed.Relayout(
                self._ranks, self._from, self.axes, self._to, self.dtype.itemsize, device)
        plan = self._plans[device]
        plan.start(*(x.ctypes.data if x.size else 0 for x in described))
        self._started, self._held = plan, (a, b)

    def _checked(self, x: Any, name: str, shape: tuple[int, ...],
                 is_written: bool) -> numpy.ndarray[Any, Any]:
        """Returns an array if it is this rank's share. Local."""
        if not isinstance(x, numpy.ndarray):
            raise TypeError(f"{name} is of type {type(x).__name__}: must be a numpy array, or one "
                            "of a GPU")
        if x.dtype != self.dtype or x.shape != shape:
            raise ValueError(f"{name} has shape {x.shape} and dtype {x.dtype}: must be {shape} and "
                             f"{self.dtype}")
        if not x.flags.c_contiguous or not x.flags.aligned:
            raise ValueError(f"{name} is not contiguous in C's order: must be")
        if is_written and not x.flags.writeable:
            raise ValueError(f"{name} is read-only: must be writable")
        return x

    def wait(self) -> None:
        """Waits for the messages and completes `b`."""
        def check() -> None:
            if self._started is None:
                raise ValueError("the plan is not started: call start() first")
        self._ranks.agree(check)
        plan, self._started = self._started, None
        plan.wait()
        self._held = ()

    def execute(self, a: Any, b: Any) -> None:
        """Starts and waits."""
        self.start(a, b)
        self.wait()

    def free(self) -> None:
        """Frees the buffers; a later start() makes new ones. Without it, a plan of arrays on GPUs
        keeps those on the GPUs to the end of the program, because all ranks free them together."""
        def check() -> None:
            if self._started is not None:
                raise ValueError("the plan is started: call wait() first")
        self._ranks.agree(check)
        for device in sorted(self._plans):
            self._plans.pop(device).free()
