"""Fields on ranks, which a stencil advances."""

from __future__ import annotations

from typing import Any

import numpy

from .distributed import DistArray, made
from .layouts import MPI, Layout, _distributed, numbers_of, ranks_of, shape_of


class Field:
    """A field of zeros with one to three axes, which a stencil advances, for the caller's own code
    between the steps.

    Arguments as those of DistArray and tessera.stencil; dtype float16, float32 or float64. steps:
    of a call of advance() for which the cut is the fastest. box: this rank's slices of the whole
    field. local: its points, a view of the field's memory in which the caller reads and writes;
    after advance() it is another. layout: that of the field.

    >>> field = tessera.Field(5, comm=MPI.COMM_SELF, steps=1)
    >>> field.local[2] = 8.0
    >>> field.advance()
    >>> field.local
    array([0., 1., 6., 1., 0.])
    """

    def __init__(self, shape: Any, dtype: Any = float, comm: MPI.Comm | None = None, *,
                 kernel: str = "heat", weights: Any = None, boundary: str = "nearest",
                 value: float = 0.0, steps: int = 100) -> None:
        self._ranks, self.comm = ranks_of(comm)

        def check() -> Any:
            self.shape = shape_of(shape)
            self.dtype = numpy.dtype(dtype)
            if self.dtype.char not in "efd":
                raise TypeError(f"dtype is {self.dtype}: must be float16, float32 or float64")
            taps = None if weights is None else numpy.ascontiguousarray(weights, float)
            if taps is not None and taps.ndim != len(self.shape):
                raise ValueError(f"weights has {taps.ndim} dimensions: must have {len(self.shape)}")
            arguments[:] = [str(kernel), taps, str(boundary), float(value), f"steps={steps}"]
            return self.shape, self.dtype, arguments
        arguments: list[Any] = []
        self._ranks.agree(check)
        self._field = _distributed.Field(self._ranks, self.shape, self.dtype, *arguments)
        self.layout = Layout(tuple(self._field.grid))
        self.box = tuple(slice(a, b) for a, b in zip(self._field.low, self._field.high))

    @property
    def local(self) -> numpy.ndarray[Any, Any]:
        """This rank's points, a view of the field's memory. Local."""
        return self._field.local(self._field)

    def advance(self, steps: int = 1) -> None:
        """Advances the field by `steps` steps."""
        self._ranks.agree(lambda: numbers_of((steps,), "steps"))
        self._field.advance(steps)

    def assign(self, array: DistArray) -> None:
        """Sets the field to the elements of an array of its shape and dtype."""
        def check() -> None:
            if not isinstance(array, DistArray) or array.shape != self.shape:
                raise ValueError(f"array must be a DistArray of shape {self.shape}")
        self._ranks.agree(check)
        self.local[...] = array.redistribute(self.layout).local

    def array(self, layout: Any = None) -> DistArray:
        """Returns a copy of the field in a layout; None: its own."""
        here = made(self._ranks, self.comm, lambda: (self.shape, self.dtype, self.layout,
                                                      numpy.ascontiguousarray(self.local)))
        return here if layout is None else here.redistribute(layout)
