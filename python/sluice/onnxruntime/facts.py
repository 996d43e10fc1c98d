"""The facts of get_modelmeta(): read from the ONNX file itself, whose weights are skipped.

Field numbers are those of ModelProto and GraphProto in onnx.proto.
"""

from __future__ import annotations

import mmap
import os
from typing import NamedTuple

from ..package import is_uncompiled
from .protobuf import fields, messages, messages_at, text


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


def is_onnx(source: str | bytes) -> bool:
    """Whether it is an ONNX model: no package, and no folder of Hugging Face."""
    return is_uncompiled(source) and not (isinstance(source, str) and os.path.isdir(source))


def view_of(source: str | bytes) -> memoryview:
    """The bytes of a model. A file is mapped, not read."""
    if isinstance(source, bytes):
        return memoryview(source)
    with open(source, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_facts(source: str | bytes) -> ModelMetadata:
    """The facts of an ONNX model that Sluice has compiled, so that its bytes are well formed."""
    facts = ModelMetadata()
    if not is_onnx(source):
        return facts
    for number, value in fields(view_of(source)):
        if number == 2:
            facts.producer_name = text(value)
        elif number == 4:
            facts.domain = text(value)
        elif number == 5:
            facts.version = int(value) if isinstance(value, int) else 0
        elif number == 6:
            facts.description = text(value)
        elif number == 7 and not isinstance(value, int):
            _read_graph(facts, memoryview(value))
        elif number == 14 and not isinstance(value, int):
            entry = dict(fields(memoryview(value)))
            facts.custom_metadata_map[text(entry.get(1, b""))] = text(entry.get(2, b""))
    return facts


def _read_graph(facts: ModelMetadata, graph: memoryview) -> None:
    for number, value in fields(graph):
        if number == 2:
            facts.graph_name = text(value)
        elif number == 10:
            facts.graph_description = text(value)


class Dimension(NamedTuple):
    """A dimension of an input or output: a size, or the texts by which it can be overridden, or none of them."""

    size: int | None
    name: str
    denotation: str


INPUTS, OUTPUTS = 11, 12  #: fields of a graph


def read_dims(source: str | bytes, field: int) -> dict[str, list[Dimension]]:
    """The dimensions of the inputs, or of the outputs, that are tensors of a known rank."""
    found = {}
    for graph in messages(view_of(source), 7):
        for value_info in messages(graph, field):
            names = [text(value) for number, value in fields(value_info) if number == 1]
            for shape in messages_at(value_info, (2, 1, 2)):
                found[names[0] if names else ""] = [_dimension(dim) for dim in messages(shape, 1)]
    return found


def _dimension(message: memoryview) -> Dimension:
    parts = dict(fields(message))
    size = parts.get(1)
    if not isinstance(size, int) or size >= 1 << 63:  # some exporters write -1 for an unknown one
        size = None
    return Dimension(size, text(parts.get(2, b"")),
                     text(parts.get(3, b"")))
