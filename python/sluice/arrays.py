"""Arrays of callers: numpy, torch, DLPack, the buffer protocol, numbers and lists."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from .dtypes import BY_NUMBER, STRING, Array, Encoded, dtype_of, encode, find_element_type
from .errors import InvalidArgument, ResourceExhausted


def empty(shape: int | tuple[int, ...], dtype: Any = np.float32) -> Array:
    """An uninitialised array at an address of a multiple of 64 bytes.

    Sluice reads and writes such arrays in place; numpy promises 16 bytes only.
    """
    wanted, dims, size_bytes = layout_of(shape, dtype)
    raw: Array = _native.aligned_bytes(size_bytes)
    array: Array = raw.view(wanted).reshape(dims)
    return array


def layout_of(shape: int | Sequence[int], dtype: Any) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """The type, dimensions and bytes of an array that a caller wants in raw memory.

    Raises TypeError for a type that no tensor of numbers has, InvalidArgument for a negative dimension, and
    ResourceExhausted for more bytes than an address space has.
    """
    wanted = np.dtype(dtype)
    if wanted.hasobject or find_element_type(wanted) in (None, STRING):
        raise TypeError(f"raw memory holds numbers of a tensor's type, not {wanted}")
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(dim < 0 for dim in dims):
        raise InvalidArgument(f"negative dimensions are not allowed: {dims}")
    if math.prod(max(int(dim), 1) for dim in dims) * wanted.itemsize > sys.maxsize:  # as numpy counts
        raise ResourceExhausted(f"no memory holds an array of {wanted} with dimensions {dims}")
    return wanted, dims, math.prod(map(int, dims)) * wanted.itemsize


def is_torch(value: object) -> bool:
    """Whether `value` is a tensor of torch; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def from_torch(tensor: Any) -> Array:
    """A view of a tensor in memory of the processor."""
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu":
        raise InvalidArgument(f"the tensor is on {tensor.device}; pass tensor.cpu()")
    tensor = tensor.detach().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16" or name.startswith("float8"):
        integer = torch.int16 if name == "bfloat16" else torch.uint8
        array: Array = tensor.contiguous().view(integer).numpy().view(dtype_of(number_of_torch(tensor.dtype)))
        return array
    array = tensor.numpy()
    return array


def to_torch(array: Array) -> Any:
    """A tensor that shares the array's memory."""
    torch = sys.modules["torch"]
    number = find_element_type(array.dtype)
    if number == STRING:
        return array
    if number is not None and BY_NUMBER[number].numpy.startswith("."):
        dtype = getattr(torch, array.dtype.name, None)
        if dtype is None:
            raise InvalidArgument(f"torch has no type for {array.dtype.name}")
        bits = np.int16 if array.dtype.itemsize == 2 else np.uint8
        return torch.from_numpy(array.view(bits)).view(dtype)
    return torch.from_numpy(array)


def find_element_type_by_name(name: str) -> int:
    for element in BY_NUMBER.values():
        if element.numpy.lstrip(".") == name:
            return element.number
    raise InvalidArgument(f"no element type {name}")


def number_of_torch(dtype: Any) -> int:
    """The element type of one of torch's types."""
    return find_element_type_by_name(str(dtype).removeprefix("torch."))


def to_numpy(value: object, number: int, name: str) -> Array:
    """`value` as an array. Arrays and tensors keep their type; lists and numbers take `number`'s."""
    if isinstance(value, np.ndarray):
        return value
    if is_torch(value):
        return from_torch(value)
    if isinstance(value, np.generic):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise InvalidArgument(f'input "{name}": {error}') from error
    if number != STRING and (buffer := _find_buffer(value)) is not None:
        return np.asarray(buffer)
    if isinstance(value, (str, bytes)):
        return np.asarray(value, object)
    if isinstance(value, (list, tuple, int, float, bool, complex)) or hasattr(value, "__array__"):
        try:
            return np.asarray(value, None if hasattr(value, "__array__") else dtype_of(number))
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidArgument(f'input "{name}": {error}') from error
    raise TypeError(f'input "{name}": {type(value).__name__} is no array')


def _find_buffer(value: Any) -> memoryview | None:
    """The memory of an object with the buffer protocol, such as array.array."""
    try:
        return memoryview(value)
    except TypeError:
        return None


def to_input(value: object, number: int, name: str, declared: str) -> Array | Encoded:
    """`value` for the extension. Raises InvalidArgument for another element type than `number`."""
    array = to_numpy(value, number, name)
    given = STRING if array.dtype == object else find_element_type(array.dtype)
    if given is None:
        raise InvalidArgument(f'input "{name}": numpy type {array.dtype} has no element type; the '
                              f"model takes {declared}")
    if given != number:
        dims = ",".join(str(dim) for dim in array.shape)
        raise InvalidArgument(f'input "{name}": got {BY_NUMBER[given].name}[{dims}], model takes '
                              f"{declared}; convert with .astype({dtype_of(number).name!r})")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return encode(array, number)
