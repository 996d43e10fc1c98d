#!/usr/bin/env python3
"""Networks in f16 and bf16 compute in f32: right, on no kernel of 16 bits, with weights that stay in 16 bits."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import run_cases  # noqa: E402

from harness.sluice_cli import compile_model, run_command, run_model  # noqa: E402

ELEMENTS = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
TOLERANCE = {"f16": 0.02, "bf16": 0.15}


def network(element: int) -> onnx.ModelProto:
    """Takes and gives f32; everything between the two Casts has 16 bits."""
    random = np.random.default_rng(1)

    def weight(name: str, *shape: int) -> TensorProto:
        values = random.standard_normal(shape) / np.sqrt(shape[0])
        return helper.make_tensor(name, element, shape, values.ravel().tolist())

    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=element),
        helper.make_node("MatMul", ["h", "w1"], ["p"]),
        helper.make_node("Add", ["p", "b1"], ["a"]),
        helper.make_node("Gelu", ["a"], ["g"]),
        helper.make_node("Reshape", ["g", "folded"], ["r"]),
        helper.make_node("LayerNormalization", ["r", "scale"], ["n"]),
        helper.make_node("MatMul", ["n", "w2"], ["m"]),
        helper.make_node("Softmax", ["m"], ["s"], axis=-1),
        helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes, "halves",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weight("w1", 32, 48), weight("b1", 48), weight("scale", 48), weight("w2", 48, 9),
         numpy_helper.from_array(np.array([12, 48]), "folded")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def agrees(folder: Path, name: str) -> str:
    path = folder / "model.onnx"
    onnx.save_model(network(ELEMENTS[name]), path)
    feeds = {"x": np.random.default_rng(2).standard_normal((2, 6, 32), dtype=np.float32)}
    plain = compile_model(path, folder / "plain.sluice", "reference", ["--no-optimize"])
    expected = run_model(plain, feeds, ["y"])["y"]
    package = compile_model(path, folder / "cpu.sluice", "cpu")
    actual = run_model(package, feeds, ["y"])["y"]
    difference = np.abs(actual - expected).max()
    if not difference <= TOLERANCE[name]:
        return f"results differ by {difference}"
    products = [line for line in run_command("inspect", package, "--text").splitlines()
                if "MatMul" in line or "LayerNormalization" in line]
    narrow = [line for line in products if ": f16" in line or ": bf16" in line]
    if narrow or not products:
        return f"computes in 16 bits: {narrow or 'nothing'}"
    kept = [line for line in products if "sluice::NarrowMatMul" in line]
    return "" if len(kept) == 2 else f"weights became f32: {products}"


def norm_in_parts(element: int) -> onnx.ModelProto:
    """A layer normalization as exporters write it for BERT. Its epsilon is 0 in f16."""
    constants = [helper.make_tensor("two", element, [], [2.0]), helper.make_tensor("eps", element, [], [1e-12]),
                 helper.make_tensor("scale", element, [32], np.linspace(0.5, 2, 32).tolist()),
                 helper.make_tensor("bias", element, [32], np.linspace(-1, 1, 32).tolist())]
    nodes = [helper.make_node(kind, inputs, [output], **attributes) for output, kind, inputs, attributes in (
        ("h", "Cast", ["x"], {"to": element}),
        ("mean", "ReduceMean", ["h"], {"axes": [-1]}),
        ("d", "Sub", ["h", "mean"], {}),
        ("square", "Pow", ["d", "two"], {}),
        ("variance", "ReduceMean", ["square"], {"axes": [-1]}),
        ("sum", "Add", ["variance", "eps"], {}),
        ("deviation", "Sqrt", ["sum"], {}),
        ("normal", "Div", ["d", "deviation"], {}),
        ("scaled", "Mul", ["normal", "scale"], {}),
        ("shifted", "Add", ["scaled", "bias"], {}),
        ("y", "Cast", ["shifted"], {"to": TensorProto.FLOAT}),
    )]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 32]) for name in "xy")
    graph = helper.make_graph(nodes, "norm", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def finds_norms(folder: Path, name: str) -> str:
    path = folder / "model.onnx"
    onnx.save_model(norm_in_parts(ELEMENTS[name]), path)
    feeds = {"x": np.random.default_rng(3).standard_normal((4, 32), dtype=np.float32)}
    feeds["x"][2] = 0  # without an epsilon this is 0 / 0
    plain = compile_model(path, folder / "plain.sluice", "reference", ["--no-optimize"])
    expected = run_model(plain, feeds, ["y"])["y"]
    package = compile_model(path, folder / "cpu.sluice", "cpu")
    actual = run_model(package, feeds, ["y"])["y"]
    if not np.allclose(actual, expected, rtol=0, atol=TOLERANCE[name], equal_nan=True):
        return f"results are {actual}, in parts {expected}"
    if np.isnan(actual[2]).all() != (name == "f16"):
        return f"a row of zeros becomes {actual[2]}"
    text = run_command("inspect", package, "--text")
    return "" if "LayerNormalization" in text and "ReduceMean" not in text else text


if __name__ == "__main__":
    cases = {name: lambda f, n=name: agrees(f, n) for name in ELEMENTS}
    cases |= {f"{name}, a normalization in parts": lambda f, n=name: finds_norms(f, n) for name in ELEMENTS}
    sys.exit(run_cases(cases))
