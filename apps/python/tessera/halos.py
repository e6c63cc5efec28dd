"""Halos of fields in the caller's memory: tessera.HaloPlan."""

from __future__ import annotations

from typing import Any

import numpy

from . import _gpu
from .layouts import MPI, _distributed, numbers_of, ranks_of, shape_of


class HaloPlan:
    """Fills the ghost layers of fields in the caller's memory, edges and corners included: planned
    once, executed many times, for steps of the caller's own.

    shape: of the whole field, one to three axes. widths: the layers on both sides of a rank's box,
    one number or one for each axis. dtype: numbers. comm: as DistArray. grid: the even shares of
    each axis; None: those that send the least. boundary: as tessera.stencil, or "given", which
    leaves what is beyond the whole field; value: of "constant". fields: exchanged at once, in one
    message for each pair of ranks. Raises ValueError, TypeError and MemoryError, on all ranks if on
    any.

    box: this rank's slices of the whole field. local_shape: that of its box with the ghost layers,
    which an array that is passed has. inner: the slices of the box in such an array.

    >>> halo = tessera.HaloPlan(4, 1, comm=MPI.COMM_SELF, boundary="wrap")
    >>> u = numpy.zeros(halo.local_shape)
    >>> u[halo.inner] = [1, 2, 3, 4]
    >>> halo.execute(u)
    >>> u
    array([4., 1., 2., 3., 4., 1.])
    """

    def __init__(self, shape: Any, widths: Any, dtype: Any = float, comm: MPI.Comm | None = None, *,
                 grid: Any = None, boundary: str = "nearest", value: float = 0.0,
                 fields: int = 1) -> None:
        self._ranks, self.comm = ranks_of(comm)
        self._arguments: tuple[Any, ...] = ()

        def check() -> Any:
            self.shape, self.dtype = shape_of(shape), numpy.dtype(dtype)
            dims = len(self.shape)
            layers = numbers_of((widths,) * dims if hasattr(widths, "__index__") else widths,
                                "widths")
            parts = () if grid is None else numbers_of(grid, "grid")
            for name, given in (("widths", layers), ("grid", parts)):
                if given and len(given) != dims:
                    raise ValueError(f"{name} has {len(given)} numbers: must have {dims}, as shape")
            self.fields, = numbers_of((fields,), "fields")
            self._arguments = (self.shape, self.dtype, layers, parts, str(boundary), float(value),
                               self.fields)
            return self._arguments
        self._ranks.agree(check)
        self._on_host = _distributed.Halo(self._ranks, *self._arguments, "")
        self._on_gpu: tuple[Any, int] | None = None
        self._started: Any = None
        self._held: tuple[Any, ...] = ()  # the arrays of start(), until wait()
        low, high = self._on_host.low, self._on_host.high
        is_empty = any(a == b for a, b in zip(low, high))
        layers = self._arguments[2]
        self.box = tuple(slice(a, b) for a, b in zip(low, high))
        self.local_shape = tuple(0 if is_empty else b - a + 2 * w
                                 for a, b, w in zip(low, high, layers))
        self.inner = tuple(slice(w, max(w, n - w)) for n, w in zip(self.local_shape, layers))

    @property
    def nbytes(self) -> int:
        """The bytes of the plan's messages on this rank. Local."""
        return self._on_host.bytes + (0 if self._on_gpu is None else self._on_gpu[0].bytes)

    def start(self, *fields: Any) -> None:
        """Starts an execution on `fields`, arrays of local_shape: afterwards their boxes may be
        written; the ghost layers belong to the plan until wait().

        Fields are numpy arrays with any positive strides, or all in the memory of an NVIDIA GPU
        (cupy, torch and others with __cuda_array_interface__), the same one in all calls of a plan:
        that packs and fills the layers, after all its earlier work, and the messages pass through
        the host.
        """
        described: list[numpy.ndarray[Any, Any]] = []
        device = 0

        def check() -> bool:
            nonlocal device
            if self._started is not None:
                raise ValueError("the plan is started: call wait() first")
            if len(fields) != self.fields:
                raise ValueError(f"{len(fields)} fields are given: the plan has {self.fields}")
            names = {f"fields[{f}]": field for f, field in enumerate(fields)}
            on_gpu = any(map(_gpu.is_on_gpu, fields))
            if on_gpu:
                arrays, device = _gpu.described(names)
                if self._on_gpu is not None and self._on_gpu[1] != device:
                    raise ValueError(f"the fields are on the GPU {device}: those of earlier calls "
                                     f"were on {self._on_gpu[1]}")
            else:
                arrays = names
            described.extend(self._checked(array, name) for name, array in arrays.items())
            return on_gpu
        on_gpu = self._ranks.agree(check)
        if on_gpu and self._on_gpu is None:
            self._on_gpu = (_distributed.Halo(self._ranks, *self._arguments, f"gpu={device}"),
                            device)
        plan = self._on_gpu[0] if on_gpu and self._on_gpu is not None else self._on_host
        plan.start([field[self.inner].ctypes.data if field.size else 0 for field in described],
                   [s // self.dtype.itemsize if n > 1 else 1 for field in described
                    for s, n in zip(field.strides, field.shape)])
        self._started, self._held = plan, fields

    def _checked(self, field: Any, name: str) -> numpy.ndarray[Any, Any]:
        """Returns a field if it is one of the plan. Local."""
        if not isinstance(field, numpy.ndarray):
            raise TypeError(f"{name} is of type {type(field).__name__}: must be a numpy array, or "
                            "one of a GPU")
        if field.dtype != self.dtype or field.shape != self.local_shape:
            raise ValueError(f"{name} has shape {field.shape} and dtype {field.dtype}: must be "
                             f"{self.local_shape} and {self.dtype}")
        if not field.flags.writeable or not field.flags.aligned:
            raise ValueError(f"{name} is read-only or not aligned: must be writable")
        if any(n > 1 and (s <= 0 or s % self.dtype.itemsize)
               for n, s in zip(field.shape, field.strides)):
            raise ValueError(f"{name} has strides {field.strides}: must be positive multiples of "
                             f"{self.dtype.itemsize}")
        return field

    def wait(self) -> None:
        """Waits for the messages and fills all ghost layers: with the neighbours' points as they
        were at start(), and beyond the whole field with values by the boundary from the points as
        they are now."""
        def check() -> None:
            if self._started is None:
                raise ValueError("the plan is not started: call start() first")
        self._ranks.agree(check)
        plan, self._started = self._started, None
        plan.wait()
        self._held = ()

    def execute(self, *fields: Any) -> None:
        """Starts and waits."""
        self.start(*fields)
        self.wait()
