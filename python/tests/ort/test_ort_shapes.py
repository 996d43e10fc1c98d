"""Shapes of inputs and outputs, as sluice.onnxruntime and onnxruntime describe them."""

from __future__ import annotations

import pathlib
from typing import Any

import onnxruntime
import pytest
import sluice.onnxruntime as ort
from onnx import TensorProto, helper

Dims = list[Any] | None


def model(operator: str, inputs: dict[str, Dims], output: Dims) -> bytes:
    f32 = TensorProto.FLOAT
    kind = TensorProto.INT64 if operator == "NonZero" else f32
    attributes = {"axis": 0} if operator == "Concat" else {}
    graph = helper.make_graph([helper.make_node(operator, list(inputs), ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info(name, f32, dims) for name, dims in inputs.items()],
                              [helper.make_tensor_value_info("y", kind, output)])
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def shapes(engine: Any, source: Any, options: Any = None) -> list[Any]:
    session = engine.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return [arg.shape for arg in session.get_inputs() + session.get_outputs()]


@pytest.mark.parametrize("source", [
    model("Relu", {"t": [None, 3]}, [None, 3]), model("Relu", {"t": ["N", 3]}, [None, 3]),
    model("Relu", {"t": [None, 3]}, ["N", 3]), model("Relu", {"t": ["N", 3]}, None),
    model("Relu", {"t": [None, 3]}, None), model("Relu", {"t": None}, None), model("Relu", {"t": [-1, 3]}, [-1, 3]),
    model("Relu", {"t": ["batch size", "x+1"]}, ["batch size", "x+1"]), model("Relu", {"t": ["t_dim0", 3]}, None),
    model("Relu", {"t": ["N", "N"]}, ["M", "K"]), model("Relu", {"t": ["N", 3]}, [4, 3]),
    model("Relu", {"a very long name of an input, such as exporters make/of_scopes": [None, None]}, None),
    model("Concat", {"t": ["N", 3], "u": ["M", 3]}, None), model("Concat", {"t": ["N", 3], "u": ["M", 3]}, ["K", 3]),
    model("NonZero", {"t": ["N", 3]}, [2, None]), model("NonZero", {"t": ["N", 3]}, None)])
def test_free_dimensions_have_the_files_names_or_none(source: bytes, tmp_path: pathlib.Path) -> None:
    theirs = shapes(onnxruntime, source)
    assert shapes(ort, source) == theirs
    (tmp_path / "model.onnx").write_bytes(source)
    assert shapes(ort, str(tmp_path / "model.onnx")) == theirs


def test_overridden_dimensions_are_numbers() -> None:
    for engine in (ort, onnxruntime):
        options = engine.SessionOptions()
        options.add_free_dimension_override_by_name("N", 4)
        assert shapes(engine, model("Relu", {"t": ["N", 3]}, ["N", 3]), options) == [[4, 3], [4, 3]]
