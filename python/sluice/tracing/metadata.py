"""Facts in an ONNX model that its package keeps."""

from __future__ import annotations

import onnx

KEY = "sluice.torch"  #: the record of a trace


def write(model: onnx.ModelProto, key: str, value: str) -> None:
    entry = model.metadata_props.add()
    entry.key, entry.value = key, value


def find(model: onnx.ModelProto, key: str) -> str | None:
    return next((entry.value for entry in model.metadata_props if entry.key == key), None)
