#!/usr/bin/env python3
"""Files that the benchmarks turn to 16 bits are valid ONNX: an operand that ONNX does not take in f16 stays f32."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import run_cases  # noqa: E402

from harness.agreement import onnxruntime_outputs, relative_error  # noqa: E402
from harness.forms import FORMS  # noqa: E402
from harness.sluice_cli import compile_model, run_model  # noqa: E402

X = np.random.default_rng(1).random((1, 3, 6, 6), dtype=np.float32)
X[0] *= [[[0.5]], [[0.7]], [[0.9]]]  # the largest of the channels are not alike in f16
TOLERANCE = 2e-3


def network(nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray], rank: int = 4,
            opset: int = 17) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    kind = TensorProto.INT64 if nodes[-1].op_type == "NonMaxSuppression" else TensorProto.FLOAT
    y = helper.make_tensor_value_info("y", kind, [None] * rank)
    return helper.make_model(helper.make_graph(nodes, "wide", [x], [y], weights),
                             opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def upsampling() -> onnx.ModelProto:
    """Scales no f16 holds, from a constant that a product reads, too."""
    scales = np.array([1, 1, 4 / 3, 4 / 3], np.float32)
    return network([
        helper.make_node("Resize", ["x", "", "scales"], ["large"], mode="linear"),
        helper.make_node("Reshape", ["scales", "column"], ["factors"]),
        helper.make_node("ReduceMax", ["factors"], ["factor"], keepdims=0),
        helper.make_node("Mul", ["large", "factor"], ["y"]),
    ], {"scales": scales, "column": np.array([4, 1])})


def constant_node() -> onnx.ModelProto:
    scales = numpy_helper.from_array(np.array([1, 1, 4 / 3, 4 / 3], np.float32))
    return network([
        helper.make_node("Constant", [], ["scales"], value=scales),
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("Resize", ["h", "", "scales"], ["y"], mode="linear"),
    ], {})


def boxes() -> onnx.ModelProto:
    """A NonMaxSuppression reads the input, a value and constants; all must be f32."""
    corners = np.array([[[0, 0, 4, 4], [0, 0, 4, 5], [8, 8, 9, 9]]], np.float32)
    return network([
        helper.make_node("ReduceMax", ["x"], ["most"], axes=[2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["most", "axis"], ["scores"]),
        helper.make_node("NonMaxSuppression", ["corners", "scores", "count", "overlap", "least"], ["y"]),
    ], {"axis": np.array([1]), "corners": corners, "count": np.array([3]),
        "overlap": np.array([0.7], np.float32), "least": np.array([0.1], np.float32)}, rank=2)


def sums() -> onnx.ModelProto:
    """CumSum before opset 14 has f32, but not f16, in its result as well; its integers are left alone."""
    return network([
        helper.make_node("CumSum", ["x", "axis"], ["sums"]),
        helper.make_node("CumSum", ["shape", "first"], ["ends"]),
        helper.make_node("Reshape", ["sums", "ends"], ["rows"]),
        helper.make_node("Mul", ["rows", "half"], ["y"]),
    ], {"axis": np.array(2), "first": np.array(0), "shape": np.array([9, 3]),
        "half": np.array(0.5, np.float32)},
        rank=2, opset=13)


def turns(folder: Path, model: onnx.ModelProto) -> str:
    path = folder / "plain.onnx"
    onnx.save_model(model, path)
    narrow = FORMS["f16"](path, [])
    proto = onnx.load(narrow)
    onnx.checker.check_model(proto, full_check=True)
    if not any(tensor.data_type == TensorProto.FLOAT16 for tensor in proto.graph.initializer) and not any(
            node.op_type == "Cast" for node in proto.graph.node):
        return "nothing became f16"
    expected = onnxruntime_outputs(path, {"x": X})["y"]
    package = compile_model(narrow, folder / "narrow.sluice")
    for name, actual in (("onnxruntime", onnxruntime_outputs(narrow, {"x": X})["y"]),
                         ("Sluice", run_model(package, {"x": X}, ["y"])["y"])):
        error = relative_error(actual, expected)
        if not error <= TOLERANCE:
            return f"{name} is off by {error}"
    return ""


CASES = {"scales of a Resize": upsampling, "scales of a Constant": constant_node, "NonMaxSuppression": boxes,
         "CumSum of opset 13": sums}

if __name__ == "__main__":
    sys.exit(run_cases({name: lambda f, m=make: turns(f, m()) for name, make in CASES.items()}))
