"""What get_modelmeta() tells: read from the ONNX file itself, whose weights are skipped.

Field numbers are those of ModelProto and GraphProto in onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Fields = Iterator[tuple[int, int | bytes | memoryview]]


class ModelMetadata:
    """Facts of the model's author. Empty for a `.sluice` package."""

    def __init__(self) -> None:
        self.producer_name = ""
        self.graph_name = ""
        self.domain = ""
        self.description = ""
        self.graph_description = ""
        self.version = 0
        self.custom_metadata_map: dict[str, str] = {}


def read_facts(source: str | bytes) -> ModelMetadata:
    """The facts of an ONNX model that Sluice has compiled, so that its bytes are well formed."""
    if isinstance(source, str):
        with open(source, "rb") as file:
            source = file.read()
    facts = ModelMetadata()
    if source.startswith(b"SLUICE\r\n"):
        return facts
    for number, value in _fields(memoryview(source)):
        if number == 2:
            facts.producer_name = _text(value)
        elif number == 4:
            facts.domain = _text(value)
        elif number == 5:
            facts.version = int(value) if isinstance(value, int) else 0
        elif number == 6:
            facts.description = _text(value)
        elif number == 7 and not isinstance(value, int):
            _read_graph(facts, memoryview(value))
        elif number == 14 and not isinstance(value, int):
            entry = dict(_fields(memoryview(value)))
            facts.custom_metadata_map[_text(entry.get(1, b""))] = _text(entry.get(2, b""))
    return facts


def _read_graph(facts: ModelMetadata, graph: memoryview) -> None:
    for number, value in _fields(graph):
        if number == 2:
            facts.graph_name = _text(value)
        elif number == 10:
            facts.graph_description = _text(value)


class Dimension(NamedTuple):
    """A dimension of an input: a size, or the texts by which it can be overridden."""

    size: int | None
    name: str
    denotation: str


def read_input_dims(source: bytes) -> dict[str, list[Dimension]]:
    """The dimensions of the inputs that are tensors of a known rank."""
    inputs = {}
    for graph in _messages(memoryview(source), 7):
        for value_info in _messages(graph, 11):
            names = [_text(value) for number, value in _fields(value_info) if number == 1]
            for shape in _messages_at(value_info, (2, 1, 2)):
                inputs[names[0] if names else ""] = [_dimension(dim) for dim in _messages(shape, 1)]
    return inputs


def _dimension(message: memoryview) -> Dimension:
    fields = dict(_fields(message))
    size = fields.get(1)
    return Dimension(size if isinstance(size, int) else None, _text(fields.get(2, b"")),
                     _text(fields.get(3, b"")))


def _messages(message: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, value in _fields(message):
        if number == wanted and not isinstance(value, int):
            yield memoryview(value)


def _messages_at(message: memoryview, path: tuple[int, ...]) -> Iterator[memoryview]:
    """Messages inside messages, by the numbers of their fields."""
    if not path:
        yield message
        return
    for inner in _messages(message, path[0]):
        yield from _messages_at(inner, path[1:])


def _fields(message: memoryview) -> Fields:
    """Fields of a protobuf message: numbers, and views of texts and messages. Stops at damage."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        value: Any
        if kind == 0:
            value, place = _varint(message, place)
        elif kind == 2:
            size, place = _varint(message, place)
            value, place = message[place : place + size], place + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, place = message[place : place + size], place + size
        else:
            return
        yield key >> 3, value


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return value, place


def _text(value: int | bytes | memoryview) -> str:
    return "" if isinstance(value, int) else bytes(value).decode("utf-8", "replace")
