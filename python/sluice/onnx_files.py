"""Writes an ONNX model to a file, with large weights in a second file beside it: protobuf stops at 2 GiB."""

from __future__ import annotations

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from .errors import InvalidArgument

#: Weights of a model that is passed on as one message; other models go through files.
LARGEST_MESSAGE_BYTES = 1 << 30
_LEAST_BESIDE_BYTES = 1024  # smaller weights stay in the model
_ALIGNMENT_BYTES = 4096
_EXTERNAL = 1  # TensorProto.DataLocation
#: Messages that contain tensors.
_CONTAINERS = {"onnx.ModelProto", "onnx.GraphProto", "onnx.NodeProto", "onnx.AttributeProto", "onnx.FunctionProto",
               "onnx.SparseTensorProto", "onnx.TrainingInfoProto"}


def is_large(model: Any) -> bool:
    """Whether the weights in a ModelProto pass LARGEST_MESSAGE_BYTES. It need not be serializable."""
    return sum(len(tensor.raw_data) for tensor in _tensors(model)) >= LARGEST_MESSAGE_BYTES


def write(model: Any, path: pathlib.Path) -> None:
    """Writes a ModelProto, which stays as it is. The weights of a large one go to PATH.data."""
    if not is_large(model):
        path.write_bytes(model.SerializeToString())
        return
    if any(tensor.data_location == _EXTERNAL for tensor in _tensors(model)):
        raise InvalidArgument("the model has more than 1 GiB of weights, and other weights in files; save all of it with "
                              "onnx.save_model and compile that file")
    beside = path.with_name(path.name + ".data")
    with open(beside, "wb") as file:
        light = _Writer(file, beside.name).without_weights(model)
    path.write_bytes(light.SerializeToString())


@contextlib.contextmanager
def written(model: Any) -> Iterator[pathlib.Path]:
    """A file of the model, for as long as the `with` block runs."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        path = pathlib.Path(folder, "model.onnx")
        write(model, path)
        yield path


def _tensors(message: Any) -> Iterator[Any]:
    for _, value in message.ListFields():
        for part in _parts(value):
            if part.DESCRIPTOR.full_name == "onnx.TensorProto":
                yield part
            elif part.DESCRIPTOR.full_name in _CONTAINERS:
                yield from _tensors(part)


def _parts(value: Any) -> list[Any]:
    """The messages of a field: one, several or none."""
    if hasattr(value, "DESCRIPTOR"):
        return [value]
    is_repeated = not isinstance(value, (str, bytes, int, float))
    return [part for part in value if hasattr(part, "DESCRIPTOR")] if is_repeated else []


class _Writer:
    """Copies messages, and moves the data of their tensors to a file."""

    def __init__(self, file: BinaryIO, location: str) -> None:
        self._file = file
        self._location = location

    def without_weights(self, message: Any) -> Any:
        copy = type(message)()
        self._fill(copy, message)
        return copy

    def _fill(self, copy: Any, message: Any, without: str = "") -> None:
        for field, value in message.ListFields():
            if field.name == without:
                continue
            if isinstance(value, (str, bytes, int, float)):
                setattr(copy, field.name, value)
            elif hasattr(value, "DESCRIPTOR"):
                self._fill_part(getattr(copy, field.name), value)
            elif _parts(value):
                for part in value:
                    self._fill_part(getattr(copy, field.name).add(), part)
            else:
                getattr(copy, field.name).extend(value)

    def _fill_part(self, copy: Any, part: Any) -> None:
        name = part.DESCRIPTOR.full_name
        if name == "onnx.TensorProto" and len(part.raw_data) >= _LEAST_BESIDE_BYTES:
            self._move(copy, part)
        elif name in _CONTAINERS:
            self._fill(copy, part)
        else:
            copy.CopyFrom(part)

    def _move(self, copy: Any, tensor: Any) -> None:
        self._file.seek(-self._file.tell() % _ALIGNMENT_BYTES, 1)
        place = {"location": self._location, "offset": self._file.tell(), "length": len(tensor.raw_data)}
        self._file.write(tensor.raw_data)
        self._fill(copy, tensor, without="raw_data")
        copy.data_location = _EXTERNAL
        for key, each in place.items():
            entry = copy.external_data.add()
            entry.key, entry.value = key, str(each)
