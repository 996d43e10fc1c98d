"""Element types: ONNX's numbers, their names, numpy's types, and how tensors of other types travel.

The extension takes and gives arrays of numpy's own types. Tensors of strings, of ml_dtypes and of types
below 8 bits travel as (bytes, element type, shape), as `sluice/sluice.h` stores them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import InvalidArgument, Unimplemented

Array = npt.NDArray[Any]
Encoded = tuple[Array, int, tuple[int, ...]]
Item = Array | Encoded | list[Any]


class ElementType(NamedTuple):
    """An element type of ONNX. `numpy` is a type of numpy or, with a dot, one of ml_dtypes."""

    number: int
    name: str
    numpy: str
    bits: int


STRING = 8
_ALL = [
    ElementType(1, "f32", "float32", 32),
    ElementType(2, "u8", "uint8", 8),
    ElementType(3, "i8", "int8", 8),
    ElementType(4, "u16", "uint16", 16),
    ElementType(5, "i16", "int16", 16),
    ElementType(6, "i32", "int32", 32),
    ElementType(7, "i64", "int64", 64),
    ElementType(STRING, "string", "object", 0),
    ElementType(9, "bool", "bool", 8),
    ElementType(10, "f16", "float16", 16),
    ElementType(11, "f64", "float64", 64),
    ElementType(12, "u32", "uint32", 32),
    ElementType(13, "u64", "uint64", 64),
    ElementType(14, "c64", "complex64", 64),
    ElementType(15, "c128", "complex128", 128),
    ElementType(16, "bf16", ".bfloat16", 16),
    ElementType(17, "f8e4m3fn", ".float8_e4m3fn", 8),
    ElementType(18, "f8e4m3fnuz", ".float8_e4m3fnuz", 8),
    ElementType(19, "f8e5m2", ".float8_e5m2", 8),
    ElementType(20, "f8e5m2fnuz", ".float8_e5m2fnuz", 8),
    ElementType(21, "u4", ".uint4", 4),
    ElementType(22, "i4", ".int4", 4),
    ElementType(23, "f4e2m1", ".float4_e2m1fn", 4),
    ElementType(24, "f8e8m0", ".float8_e8m0fnu", 8),
    ElementType(25, "u2", ".uint2", 2),
    ElementType(26, "i2", ".int2", 2),
]
BY_NUMBER = {element.number: element for element in _ALL}
_BY_NUMPY = {element.numpy.lstrip("."): element for element in _ALL}


def dtype_of(number: int) -> np.dtype[Any]:
    """The numpy type of an element type. Raises Unimplemented if ml_dtypes is not installed."""
    element = BY_NUMBER[number]
    if not element.numpy.startswith("."):
        return np.dtype(element.numpy)
    try:
        import ml_dtypes
    except ImportError:
        raise Unimplemented(
            f"arrays of {element.name} need the package ml_dtypes: pip install ml_dtypes"
        ) from None
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, element.numpy[1:]))
    return dtype


def element_type_within(type_text: str) -> int:
    """The element type of a tensor, or of those of a sequence or optional: of "seq(f32[2,3])" 1."""
    inner = re.match(r"(?:seq\(|optional\()*(\w+)\[", type_text)
    for element in _ALL:
        if inner is not None and element.name == inner[1]:
            return element.number
    raise InvalidArgument(f"no element type in {type_text}")


def find_element_type(dtype: np.dtype[Any]) -> int | None:
    """ONNX's number of a numpy type; None if it has none. Texts are strings, whatever their length."""
    if dtype.kind in "UST":
        return STRING
    element = _BY_NUMPY.get(dtype.name)
    return element.number if element else None


def encode(array: Array, number: int) -> Array | Encoded:
    """`array`, of element type `number`, as the extension takes it; no copy where none is needed."""
    element = BY_NUMBER[number]
    if number == STRING:
        return _encode_strings(array)
    array = np.asarray(array, order="C")
    if not element.numpy.startswith("."):
        return array
    raw = array.reshape(-1).view(np.uint8)
    return (raw if element.bits == 8 or element.bits == 16 else _pack(raw, element.bits), number,
            array.shape)


def decode(item: Item) -> Any:
    """What the extension gives as a numpy array, or a list of those."""
    if isinstance(item, list):
        return [decode(element) for element in item]
    if not isinstance(item, tuple):
        return item
    raw, number, shape = item
    if number == STRING:
        return _decode_strings(raw, shape)
    element = BY_NUMBER[number]
    if element.bits < 8:
        raw = _unpack(raw, element.bits, int(np.prod(shape, dtype=np.int64)), number)
    return raw.view(dtype_of(number)).reshape(shape)


def _pack(raw: Array, bits: int) -> Array:
    """Elements of one byte each to `bits` each; the first lies in the lowest bits."""
    per_byte = 8 // bits
    padded = np.zeros(-(-raw.size // per_byte) * per_byte, np.uint8)
    padded[: raw.size] = raw & ((1 << bits) - 1)
    columns = padded.reshape(-1, per_byte)
    packed = np.zeros(columns.shape[0], np.uint8)
    for i in range(per_byte):
        packed |= columns[:, i] << (i * bits)
    return packed


def _unpack(raw: Array, bits: int, count: int, number: int) -> Array:
    per_byte = 8 // bits
    mask = (1 << bits) - 1
    columns = np.stack([(raw >> (i * bits)) & mask for i in range(per_byte)], axis=1)
    elements = columns.reshape(-1)[:count]
    if BY_NUMBER[number].name.startswith("i"):  # ml_dtypes keeps the sign in all 8 bits
        sign = 1 << (bits - 1)
        elements = ((elements.astype(np.int16) ^ sign) - sign).astype(np.int8).view(np.uint8)
    return np.ascontiguousarray(elements)


def _encode_strings(array: Array) -> Encoded:
    """n + 1 offsets into the bytes that follow them."""
    texts = []
    for text in array.reshape(-1).tolist():
        if isinstance(text, str):
            text = text.encode()
        if not isinstance(text, bytes):
            raise InvalidArgument(f"a tensor of strings holds str or bytes, not {type(text).__name__}")
        texts.append(text)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    raw = np.frombuffer(offsets.tobytes() + b"".join(texts), np.uint8)
    return raw, STRING, array.shape


def _decode_strings(raw: Array, shape: tuple[int, ...]) -> Array:
    count = int(np.prod(shape, dtype=np.int64))
    offsets = raw[: 8 * (count + 1)].view(np.int64)
    data = raw[8 * (count + 1) :].tobytes()
    texts = np.empty(count, object)
    for i in range(count):
        texts[i] = data[offsets[i] : offsets[i + 1]].decode("utf-8", "surrogateescape")
    return texts.reshape(shape)
