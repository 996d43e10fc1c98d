"""What Sluice uses of torch and its tensors on a GPU, over the driver that the process finds as libcuda.so.1.

Stands in for torch where no GPU is: torch refuses tensors of a device that its own libraries do not find.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np


def open_driver() -> Any:
    library = ctypes.CDLL("libcuda.so.1")

    def find(name: str) -> Any:
        address = ctypes.c_void_p()
        found = ctypes.c_int()
        status = library.cuGetProcAddress_v2(name.encode(), ctypes.byref(address), 12050, ctypes.c_uint64(),
                                             ctypes.byref(found))
        assert status == 0 and address.value, name
        return ctypes.CFUNCTYPE(ctypes.c_int, *ARGUMENTS[name])(address.value)

    return types.SimpleNamespace(**{name.removeprefix("cu"): find(name) for name in ARGUMENTS})


_POINTER, _ADDRESS, _SIZE = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t
ARGUMENTS = {
    "cuInit": (ctypes.c_uint,), "cuDevicePrimaryCtxRetain": (_POINTER, ctypes.c_int), "cuCtxSetCurrent": (_POINTER,),
    "cuMemAlloc": (_POINTER, _SIZE), "cuMemFree": (_ADDRESS,), "cuMemHostAlloc": (_POINTER, _SIZE, ctypes.c_uint),
    "cuMemcpyHtoDAsync": (_ADDRESS, _POINTER, _SIZE, _POINTER), "cuMemcpyDtoHAsync": (_POINTER, _ADDRESS, _SIZE, _POINTER),
    "cuStreamCreateWithPriority": (_POINTER, ctypes.c_uint, ctypes.c_int), "cuStreamSynchronize": (_POINTER,),
}
cuda = open_driver()


def check(status: int) -> None:
    assert status == 0, f"CUDA answers {status}"


class Device:
    def __init__(self, index: int | None) -> None:
        self.type = "cpu" if index is None else "cuda"
        self.index = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.index == other.index

    def __repr__(self) -> str:
        return self.type if self.index is None else f"cuda:{self.index}"


class DType:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


DTYPES = {name: DType(name) for name in ("float32", "float16", "int64")}
_contexts: dict[int, ctypes.c_void_p] = {}


def enter(index: int) -> None:
    if index not in _contexts:
        check(cuda.Init(0))
        _contexts[index] = ctypes.c_void_p()
        check(cuda.DevicePrimaryCtxRetain(ctypes.byref(_contexts[index]), index))
    check(cuda.CtxSetCurrent(_contexts[index]))


class Stream:
    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()
        enter(0)
        check(cuda.StreamCreateWithPriority(ctypes.byref(self.handle), 1, 0))

    def synchronize(self) -> None:
        check(cuda.StreamSynchronize(self.handle))


class Tensor:
    """A tensor of a GPU. Only `free` frees its memory."""

    def __init__(self, shape: tuple[int, ...], dtype: DType, device: Device, *, shift: int = 0) -> None:
        self.shape, self.dtype, self.device = shape, dtype, device
        self.requires_grad = False
        self.is_transposed = False
        self.nbytes = int(np.prod(shape)) * np.dtype(dtype.name).itemsize
        address = _ADDRESS()
        enter(device.index or 0)
        check(cuda.MemAlloc(ctypes.byref(address), self.nbytes + shift))
        self.address = address.value + shift

    def data_ptr(self) -> int:
        return self.address

    def detach(self) -> Tensor:
        return self

    resolve_conj = resolve_neg = detach

    def contiguous(self) -> Tensor:
        return tensor(self.numpy()) if self.is_transposed else self

    def clone(self) -> Tensor:
        return tensor(self.numpy())

    def free(self) -> None:
        check(cuda.MemFree(self.address))

    def fill_late(self, values: np.ndarray) -> None:
        """The bytes come when the current stream is waited for."""
        pinned = ctypes.c_void_p()
        check(cuda.MemHostAlloc(ctypes.byref(pinned), values.nbytes, 0))
        assert pinned.value is not None
        ctypes.memmove(pinned.value, values.ctypes.data, values.nbytes)
        check(cuda.MemcpyHtoDAsync(self.address, pinned, values.nbytes, current.handle))

    def numpy(self) -> np.ndarray:
        values: np.ndarray = np.empty(self.shape[::-1] if self.is_transposed else self.shape, self.dtype.name)
        check(cuda.MemcpyDtoHAsync(values.ctypes.data, self.address, values.nbytes, current.handle))
        current.synchronize()
        return np.ascontiguousarray(values.T) if self.is_transposed else values


def tensor(values: np.ndarray, *, device: int = 0, shift: int = 0) -> Tensor:
    made = Tensor(values.shape, DTYPES[values.dtype.name], Device(device), shift=shift)
    made.fill_late(values)
    current.synchronize()
    return made


def transposed(values: np.ndarray) -> Tensor:
    """The same values, in memory column by column."""
    made = tensor(np.ascontiguousarray(values.T))
    made.shape, made.is_transposed = values.shape, True
    return made


def install() -> None:
    """As the module `torch` of this process."""
    @contextlib.contextmanager
    def on(device: Device) -> Iterator[None]:
        enter(device.index or 0)
        yield

    module: Any = types.ModuleType("torch")
    module.Tensor = Tensor
    module.empty = lambda shape, dtype, device: Tensor(shape, dtype, device)
    module.is_grad_enabled = lambda: True
    module.cuda = types.SimpleNamespace(device=on, current_stream=lambda device: current)
    for name, dtype in DTYPES.items():
        setattr(module, name, dtype)
    sys.modules["torch"] = module


current = Stream()
