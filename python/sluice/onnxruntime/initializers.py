"""SessionOptions.add_initializer: values in place of a model's own, before it is compiled.

Field numbers are those of ModelProto, GraphProto and TensorProto in onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..dtypes import BY_NUMBER, find_element_type
from ..errors import InvalidArgument
from .options import warn_once
from .protobuf import bytes_field, fields, fields_with_bytes, number_field, text, varints

_GRAPH = 7
_INITIALIZER = 5
_Parts = Iterator[bytes | memoryview]


def replace_initializers(model: bytes, values: Mapping[str, Any]) -> bytes:
    """The model with other values; initializers of its main graph alone. A name that it lacks warns once.

    Raises InvalidArgument for a value of another type or shape than the model's, and for a compiled package.
    """
    if model.startswith(b"SLUICE\r\n"):
        raise InvalidArgument("the initializers of a compiled package cannot be replaced; compile the ONNX model")
    unused = set(values)
    replaced = b"".join(_replace_in_model(memoryview(model), values, unused))
    for name in sorted(unused):
        warn_once(f"initializer {name}", f'the model has no initializer "{name}"')
    return replaced


def _replace_in_model(model: memoryview, values: Mapping[str, Any], unused: set[str]) -> _Parts:
    for number, value, encoded in fields_with_bytes(model):
        if number == _GRAPH and not isinstance(value, int):
            yield from bytes_field(_GRAPH, *_replace_in_graph(value, values, unused))
        else:
            yield encoded


def _replace_in_graph(graph: memoryview, values: Mapping[str, Any], unused: set[str]) -> _Parts:
    for number, value, encoded in fields_with_bytes(graph):
        if number == _INITIALIZER and not isinstance(value, int):
            name = next((text(given) for at, given in fields(value) if at == 8), "")
            if name in values:
                unused.discard(name)
                yield from bytes_field(_INITIALIZER, _tensor(name, values[name], value))
                continue
        yield encoded


def _tensor(name: str, value: Any, declared: memoryview) -> bytes:
    """The TensorProto of a value that takes the place of `declared`."""
    array = np.ascontiguousarray(value)
    number = find_element_type(array.dtype)
    dims, element_type = _dims_and_type(declared)
    known = number is not None and BY_NUMBER[number].bits >= 8 and not array.dtype.hasobject
    if not known or number != element_type or np.shape(value) != dims:
        wanted = BY_NUMBER[element_type].name if element_type in BY_NUMBER else str(element_type)
        raise InvalidArgument(f'initializer "{name}": got {array.dtype}{list(np.shape(value))}, the model has '
                              f"{wanted}{list(dims)}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    parts: list[bytes | memoryview] = [number_field(1, dim) for dim in dims]
    parts += [number_field(2, element_type), *bytes_field(8, name.encode()), *bytes_field(9, array.tobytes())]
    return b"".join(parts)


def _dims_and_type(tensor: memoryview) -> tuple[tuple[int, ...], int]:
    dims: list[int] = []
    element_type = 0
    for number, value in fields(tensor):
        if number == 1 and isinstance(value, int):
            dims.append(value)
        elif number == 1 and not isinstance(value, int):
            dims += varints(memoryview(value))
        elif number == 2 and isinstance(value, int):
            element_type = value
    return tuple(dims), element_type
