"""Messages of protobuf, as far as facts and initializers of an ONNX file need them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import InvalidArgument

_MAX_VARINT_BYTES = 10
_MAX_NUMBER = 2**64 - 1

Fields = Iterator[tuple[int, int | bytes | memoryview]]


def messages(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The messages of a field."""
    for number, value in fields(message):
        if number == wanted and not isinstance(value, int):
            yield memoryview(value)


def messages_at(message: memoryview, path: tuple[int, ...]) -> Iterator[memoryview]:
    """Messages inside messages, by the numbers of their fields."""
    if not path:
        yield message
        return
    for inner in messages(message, path[0]):
        yield from messages_at(inner, path[1:])


def fields(message: memoryview) -> Fields:
    """Fields of a message: numbers, and views of texts and messages. Raises InvalidArgument at damage."""
    for number, value, _ in fields_with_bytes(message):
        yield number, value


def fields_with_bytes(message: memoryview) -> Iterator[tuple[int, int | memoryview, memoryview]]:
    """The same, with the bytes of each field, its key included."""
    place = 0
    while place < len(message):
        begin = place
        key, place = _varint(message, place)
        kind = key & 7
        value: Any
        if kind == 0:
            value, place = _varint(message, place)
        elif kind in (1, 2, 5):
            size, place = _varint(message, place) if kind == 2 else (8 if kind == 1 else 4, place)
            if size > len(message) - place:
                raise InvalidArgument(f"the model is damaged: a field of {size} bytes, where {len(message) - place} follow")
            value, place = message[place : place + size], place + size
        else:
            raise InvalidArgument(f"the model is damaged: a field of kind {kind}")
        yield key >> 3, value, message[begin:place]


def varints(message: memoryview) -> Iterator[int]:
    """The numbers of a packed field."""
    place = 0
    while place < len(message):
        value, place = _varint(message, place)
        yield value


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number of at most 64 bits, and the place behind it."""
    value = 0
    for i, byte in enumerate(message[place : place + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & _MAX_NUMBER, place + i + 1
    raise InvalidArgument("the model is damaged: a number without an end")


def text(value: int | bytes | memoryview) -> str:
    return "" if isinstance(value, int) else bytes(value).decode("utf-8", "replace")


def number_field(number: int, value: int) -> bytes:
    """A field with a number, which is not negative."""
    return _to_varint(number << 3) + _to_varint(value)


def bytes_field(number: int, *parts: bytes | memoryview) -> list[bytes | memoryview]:
    """A field with the parts, one after the other, as its text or message."""
    size = sum(len(part) for part in parts)
    return [_to_varint(number << 3 | 2) + _to_varint(size), *parts]


def _to_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
