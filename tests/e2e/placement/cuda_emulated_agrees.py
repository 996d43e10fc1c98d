#!/usr/bin/env python3
"""Models on an emulated GPU, which runs the PTX of generated kernels, against the whole model on `reference`.

Operations without a kernel run on `cpu`. Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import Report, scratch_folder  # noqa: E402

import make  # noqa: E402
from harness.agreement import error_against, relative_error  # noqa: E402
from harness.sluice_cli import Arrays, SluiceError, compile_model, run_command, run_model  # noqa: E402
from networks import NETWORKS  # noqa: E402

TARGETS = "cuda-emulated,cpu"
SEEDS = (1, 2, 3)


def write_chain(path: Path) -> Arrays:
    """A product, an element-wise chain, a reduction, a softmax, and an operation that no kernel computes."""
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((40, 24), dtype=np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Sigmoid", ["product"], ["gate"]),
        helper.make_node("Mul", ["product", "gate"], ["swish"]),
        helper.make_node("ReduceMean", ["swish", "axes"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["swish", "mean"], ["centred"]),
        helper.make_node("Softmax", ["centred"], ["probabilities"], axis=1),
        helper.make_node("CumSum", ["probabilities", "axis"], ["y"]),
    ]
    constants = [helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel()),
                 helper.make_tensor("axes", TensorProto.INT64, [1], [2]),
                 helper.make_tensor("axis", TensorProto.INT64, [], [1])]
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 33, 40])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 33, 24])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return {"x": generator.standard_normal((3, 33, 40), dtype=np.float32)}


def check(name: str, model: Path, feeds: Arrays, on_host: set[str], folder: Path, report: Report) -> None:
    """`on_host`: the operators that run on the processor; all others run on the device."""
    outputs = [output.name for output in onnx.load(model).graph.output]
    expected = run_model(compile_model(model, folder / "whole.sluice", "reference"), feeds, outputs)
    package = compile_model(model, folder / "device.sluice", TARGETS)
    nodes = json.loads(run_command("explain", package, "--json"))["nodes"]
    left = {node["operator"] for node in nodes if node["backend"] == "cpu"}
    used = {node["operator"] for node in nodes if node["backend"] == "cuda-emulated"}
    report.add(left == on_host and bool(used), f"{name}: {sorted(used)} on the device, {sorted(left)} on the host")
    for seed in SEEDS:
        os.environ["SLUICE_CUDA_EMULATED"] = f"seed={seed}"
        report.case(f"{name}, seed {seed}", lambda: error_against(package, feeds, expected))


def write_branches(path: Path) -> Arrays:
    """Six products of one input that are added in pairs: work of several streams that wait for each other."""
    generator = np.random.default_rng(0)
    branches = range(6)
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"product{i}"], name=f"product{i}") for i in branches]
    nodes += [helper.make_node("Add", [f"product{i}", f"product{(i + 1) % 6}"], [f"pair{i}"], name=f"pair{i}")
              for i in branches]
    nodes += [helper.make_node("Sum", [f"pair{i}" for i in branches], ["y"], name="sum")]
    weights = [helper.make_tensor(f"w{i}", TensorProto.FLOAT, [20, 20],
                                  generator.standard_normal(400, dtype=np.float32)) for i in branches]
    graph = helper.make_graph(nodes, "branches", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [9, 20])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [9, 20])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return {"x": generator.standard_normal((9, 20), dtype=np.float32)}


def check_two_devices(model: Path, feeds: Arrays, folder: Path, report: Report) -> None:
    """Branches in turn on two devices: each executor gives the whole model's outputs in every order of work."""
    expected = run_model(compile_model(model, folder / "whole.sluice", "reference"), feeds, ["y"])
    names = [name for i in range(6) for name in (f"product{i}", f"pair{i}")]
    rules = [text for i, name in enumerate(names) for text in ("--place", f"{name}=cuda-emulated:{i % 2}")]
    os.environ["SLUICE_CUDA_EMULATED"] = "devices=2"
    package = compile_model(model, folder / "two.sluice", TARGETS, rules)
    for executor in ("linear", "dataflow", "parallel"):
        for seed in SEEDS:
            os.environ["SLUICE_CUDA_EMULATED"] = f"devices=2,seed={seed}"

            def error() -> float:
                actual = run_model(package, feeds, ["y"], ("--executor", executor))
                return relative_error(actual["y"], expected["y"])
            report.case(f"two devices, {executor}, seed {seed}", error)


def reason_to_skip(folder: Path) -> str:
    model = make.write("mlp", folder)
    try:
        compile_model(model, folder / "probe.sluice", "cuda-emulated")
    except SluiceError as error:
        return str(error) if "no compiler for CUDA" in str(error) else ""
    return ""


def main() -> int:
    report = Report()
    with scratch_folder() as name:
        folder = Path(name)
        if reason := reason_to_skip(folder):
            print(f"skipped: {reason}")
            return 77
        check("mlp", make.write("mlp", folder), NETWORKS["mlp"].inputs(np.random.default_rng(0)), set(), folder, report)
        chain = folder / "chain.onnx"
        check("chain", chain, write_chain(chain), {"CumSum"}, folder, report)
        branches = folder / "branches.onnx"
        check_two_devices(branches, write_branches(branches), folder, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
