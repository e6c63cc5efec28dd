"""Arrays in the memory of an NVIDIA GPU, of any library that has __cuda_array_interface__."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy

from . import _kernels

_ON_HOST = (1, 3, 11)  # DLPack's numbers of the host's memory, also pinned for CUDA and ROCm


class GpuArray:
    """A result in the memory of a GPU, which it owns: cupy.asarray(x), torch.as_tensor(x, device=
    "cuda") and other libraries with __cuda_array_interface__ take it without a copy."""

    __cuda_array_interface__: dict[str, Any]

    def __init__(self, described: numpy.ndarray[Any, Any], device: int) -> None:
        self._owner = described.base
        self._device = device
        self.shape, self.dtype = described.shape, described.dtype
        self.__cuda_array_interface__ = {
            "shape": self.shape, "typestr": self.dtype.str, "version": 3, "strides": None,
            "data": (described.ctypes.data if described.size else 0, False), "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._device

    def __repr__(self) -> str:
        return f"GpuArray(shape={self.shape}, dtype={self.dtype})"


def is_on_gpu(x: Any) -> bool:
    """Returns whether x is an array that the processor cannot read."""
    if hasattr(x, "__cuda_array_interface__"):
        return True
    return hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] not in _ON_HOST


def refuse(name: str, function: str) -> None:
    """Raises TypeError: the function takes arrays of the host."""
    raise TypeError(f"{name} is in the memory of a GPU: {function} takes arrays of the host; copy "
                    "it first, as by cupy.asnumpy(a) or torch's a.cpu()")


def _described(x: Any, name: str) -> numpy.ndarray[Any, Any]:
    """Returns a numpy array with the address, shape and strides of x; nothing may read it."""
    if not is_on_gpu(x):
        raise TypeError(f"{name} is in the memory of the host and another argument in that of a "
                        "GPU: must be on the same GPU")
    if not hasattr(x, "__cuda_array_interface__"):
        raise TypeError(f"{name} is on a device and has no __cuda_array_interface__: pass "
                        f"cupy.from_dlpack({name})")
    about = dict(x.__cuda_array_interface__)
    if about.get("mask") is not None:
        raise TypeError(f"{name} is a masked array: must have no mask")
    about = {key: about[key] for key in ("shape", "typestr", "data", "strides", "descr")
             if about.get(key) is not None}
    if not about["data"][0]:  # of no elements: any address
        return numpy.empty(about["shape"], about["typestr"])
    return numpy.asarray(types.SimpleNamespace(__array_interface__={**about, "version": 3}))


def described(arrays: dict[str, Any]) -> tuple[dict[str, numpy.ndarray[Any, Any]], int]:
    """Returns what describes the arrays, and the number of their GPU, which becomes current; raises
    TypeError and ValueError that name an argument, or say why no GPU can be used."""
    result = {name: _described(x, name) for name, x in arrays.items()}
    devices = {x.__dlpack_device__()[1] for x in arrays.values() if hasattr(x, "__dlpack_device__")}
    if len(devices) > 1:
        raise ValueError(f"the arguments are on the GPUs {sorted(devices)}: must be on one")
    device = devices.pop() if devices else 0
    _kernels.use_gpu(device)
    return result, device


def call(function: Callable[..., numpy.ndarray[Any, Any]], arrays: dict[str, Any], out: Any,
         *middle: Any) -> Any:
    """Returns the result of a function of _kernels for arrays on one GPU, which becomes current:
    `out`, or a new array on the GPU."""
    here, device = described({**arrays, **({} if out is None else {"out": out})})
    result = function(*(here[name] for name in arrays), *middle, here.get("out"), 0,
                      _kernels.Place.gpu)
    return GpuArray(result, device) if out is None else out
