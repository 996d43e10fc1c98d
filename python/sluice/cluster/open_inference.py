"""Requests and answers of the Open Inference Protocol as arrays, for engines that call a model in Python.

The JSON is HTTP's without the extension of binary data, and the messages are gRPC's, for example from the package
tritonclient. Tensors hold numbers, no strings. Wrong requests raise InvalidArgument.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import Array
from ..errors import Error, InvalidArgument
from ..signature import TensorSpec

#: numpy's types, and the field of gRPC's InferTensorContents.
_TYPES = {
    "BOOL": ("bool", "bool_contents"), "UINT8": ("uint8", "uint_contents"), "UINT16": ("uint16", "uint_contents"),
    "UINT32": ("uint32", "uint_contents"), "UINT64": ("uint64", "uint64_contents"), "INT8": ("int8", "int_contents"),
    "INT16": ("int16", "int_contents"), "INT32": ("int32", "int_contents"), "INT64": ("int64", "int64_contents"),
    "FP16": ("float16", ""), "FP32": ("float32", "fp32_contents"), "FP64": ("float64", "fp64_contents"),
}
_NAMES = {np.dtype(kind): name for name, (kind, _) in _TYPES.items()}
#: HTTP's statuses, by codes of errors; others are 500.
_STATUSES = {3: 400, 4: 504, 5: 404, 8: 429, 12: 501, 14: 503}
_MOST_DIMENSIONS = 32  # numpy's


class Request(NamedTuple):
    """An inference. `outputs`: names that are wanted; none: all."""

    inputs: dict[str, Array]
    outputs: tuple[str, ...] = ()
    id: str = ""


def status_of(error: Error) -> int:
    """HTTP's status of an answer."""
    return _STATUSES.get(error.code, 500)


def datatype_of(dtype: np.dtype[Any]) -> str:
    """The protocol's name. InvalidArgument for a type that it lacks."""
    if dtype not in _NAMES:
        raise InvalidArgument(f"a tensor of {dtype}: the protocol has no such numbers")
    return _NAMES[dtype]


def _layout(name: Any, datatype: Any, shape: Sequence[Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if not isinstance(name, str):
        raise InvalidArgument(f"an input without a name: {name!r}")
    if not isinstance(datatype, str) or datatype not in _TYPES:
        raise InvalidArgument(f'input "{name}": datatype {datatype!r}; take one of {", ".join(_TYPES)}')
    if len(shape) > _MOST_DIMENSIONS or not all(type(dim) is int and dim >= 0 for dim in shape):
        raise InvalidArgument(f'input "{name}": shape {shape!r} is no list of up to {_MOST_DIMENSIONS} numbers from 0 on')
    return np.dtype(_TYPES[datatype][0]), tuple(shape)


def _shaped(name: str, values: Array, shape: tuple[int, ...]) -> Array:
    if values.size != math.prod(shape):
        raise InvalidArgument(f'input "{name}": {values.size} values for the shape {list(shape)}')
    return values.reshape(shape)


def _field(of: Any, name: str, kind: type, where: str) -> Any:
    found = of.get(name) if isinstance(of, dict) else None
    if not isinstance(found, kind):
        raise InvalidArgument(f"{where}: {name} is missing, or is no {kind.__name__}")
    return found


#: Kinds of numpy's types that JSON's numbers may have for a type of a kind.
_FITTING = {"b": "b", "u": "iu", "i": "iu", "f": "iuf"}


def _check_range(name: str, values: Array, dtype: np.dtype[Any]) -> None:
    """Refuses what a conversion would change: fractions and too large numbers of integers."""
    fits = values.dtype.kind in _FITTING[dtype.kind]
    if fits and dtype.kind in "ui":
        limits = np.iinfo(dtype)
        fits = limits.min <= int(values.min()) and int(values.max()) <= limits.max
    if not fits:
        raise InvalidArgument(f'input "{name}": data of {values.dtype} is no {datatype_of(dtype)}, or out of its range')


def _input_of_json(one: Any) -> tuple[str, Array]:
    name = _field(one, "name", str, "an input")
    dtype, shape = _layout(name, one.get("datatype"), _field(one, "shape", list, f'input "{name}"'))
    data = _field(one, "data", list, f'input "{name}" (binary data is not taken here)')
    try:
        values = np.asarray(data)
        if values.size:
            _check_range(name, values, dtype)
        with np.errstate(all="ignore"):
            return name, _shaped(name, values.astype(dtype), shape)
    except InvalidArgument:
        raise
    except (ValueError, OverflowError, TypeError) as error:  # lists of several lengths
        raise InvalidArgument(f'input "{name}": {error}') from None


def request_of_json(body: bytes) -> Request:
    """Reads a body of `POST /v2/models/NAME/infer`."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"the body is no JSON: {error}") from None
    inputs = dict(_input_of_json(one) for one in _field(document, "inputs", list, "the body"))
    wanted = document.get("outputs", [])
    if not isinstance(wanted, list):
        raise InvalidArgument("the body: outputs is no list")
    return Request(inputs, tuple(_field(one, "name", str, "an output") for one in wanted), str(document.get("id", "")))


def json_of(model: str, request: Request, outputs: Mapping[str, Array]) -> dict[str, Any]:
    """The answer's body."""
    found = [{"name": name, "datatype": datatype_of(value.dtype), "shape": list(value.shape), "data": value.ravel().tolist()}
             for name, value in outputs.items()]
    return {"model_name": model, **({"id": request.id} if request.id else {}), "outputs": found}


def metadata_of(model: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> dict[str, Any]:
    """The body of `GET /v2/models/NAME`; a dimension of any size is -1."""
    def described(spec: TensorSpec) -> dict[str, Any]:
        shape = [-1 if dim is None else dim for dim in spec.shape or ()]
        return {"name": spec.name, "datatype": datatype_of(spec.dtype), "shape": shape}

    return {"name": model, "platform": "sluice", "inputs": [described(spec) for spec in inputs],
            "outputs": [described(spec) for spec in outputs]}


def request_of_message(message: Any) -> Request:
    """Reads a ModelInferRequest. Its tensors lie in `raw_input_contents`, or each in its `contents`."""
    raw = list(message.raw_input_contents)
    if raw and len(raw) != len(message.inputs):
        raise InvalidArgument(f"{len(raw)} raw contents for {len(message.inputs)} inputs")
    inputs: dict[str, Array] = {}
    for i, one in enumerate(message.inputs):
        dtype, shape = _layout(one.name, one.datatype, [int(dim) for dim in one.shape])
        if raw:
            if len(raw[i]) != math.prod(shape) * dtype.itemsize:
                raise InvalidArgument(f'input "{one.name}": {len(raw[i])} bytes for {one.datatype}{list(shape)}')
            values = np.frombuffer(raw[i], dtype)
        else:
            field = _TYPES[one.datatype][1]
            try:
                values = np.asarray(list(getattr(one.contents, field)) if field else [], dtype)
            except OverflowError as error:
                raise InvalidArgument(f'input "{one.name}": {error}') from None
        inputs[one.name] = _shaped(one.name, values, shape)
    return Request(inputs, tuple(output.name for output in message.outputs), message.id)


def fill_response(response: Any, model: str, request: Request, outputs: Mapping[str, Array]) -> None:
    """An empty ModelInferResponse."""
    response.model_name, response.id = model, request.id
    for name, value in outputs.items():
        response.outputs.add(name=name, datatype=datatype_of(value.dtype), shape=value.shape)
        response.raw_output_contents.append(np.ascontiguousarray(value).tobytes())
