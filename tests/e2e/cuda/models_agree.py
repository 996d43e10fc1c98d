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
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402
from report import Report, scratch_folder  # noqa: E402

import make  # noqa: E402
from harness.agreement import error_against, relative_error  # noqa: E402
from harness.sluice_cli import Arrays, compile_model, run_command, run_model  # noqa: E402
from networks import NETWORKS  # noqa: E402

TARGETS = "cuda-emulated,cpu"
SEEDS = (1, 2, 3)
HALF_TOLERANCE = 4e-3  # a few units in the last of 11 bits: sums of other orders round to neighbours


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
    """`on_host`: the operators that run on the processor; all others run on the device. If there are none, the
    device is the only target, so that no pass makes an operation for the processor."""
    outputs = [output.name for output in onnx.load(model).graph.output]
    expected = run_model(compile_model(model, folder / "whole.sluice", "reference"), feeds, outputs)
    package = compile_model(model, folder / "device.sluice", TARGETS if on_host else "cuda-emulated")
    nodes = json.loads(run_command("explain", package, "--json"))["nodes"]
    left = {node["operator"] for node in nodes if node["backend"] == "cpu"}
    used = {node["operator"] for node in nodes if node["backend"] == "cuda-emulated"}
    report.add(left == on_host and bool(used), f"{name}: {sorted(used)} on the device, {sorted(left)} on the host")
    for seed in SEEDS:
        os.environ["SLUICE_CUDA_EMULATED"] = f"seed={seed}"
        report.case(f"{name}, seed {seed}", lambda: error_against(package, feeds, expected))


def write_cnn(path: Path) -> Arrays:
    """Convolutions with groups, padding and strides, a normalization, both kinds of pooling, a classifier."""
    generator = np.random.default_rng(0)
    shapes = {"w0": [8, 3, 3, 3], "b0": [8], "scale": [8], "shift": [8], "mean": [8], "w1": [8, 1, 3, 3], "w2": [12, 8, 1, 1], "b2": [12], "w3": [12, 5]}
    weights = [helper.make_tensor(name, TensorProto.FLOAT, dims, generator.standard_normal(np.prod(dims)))
               for name, dims in shapes.items()]
    weights.append(helper.make_tensor("variance", TensorProto.FLOAT, [8], generator.random(8) + 0.5))
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]),
        helper.make_node("Conv", ["c", "w1"], ["d"], group=8, dilations=[2, 1], pads=[2, 1, 2, 1]),
        helper.make_node("AveragePool", ["d"], ["e"], kernel_shape=[2, 2], pads=[0, 1, 0, 0]),
        helper.make_node("Conv", ["e", "w2", "b2"], ["f"]),
        helper.make_node("GlobalAveragePool", ["f"], ["g"]),
        helper.make_node("Flatten", ["g"], ["h"]),
        helper.make_node("Gemm", ["h", "w3"], ["i"]),
        helper.make_node("Softmax", ["i"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "cnn", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 13, 11])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return {"x": generator.standard_normal((2, 3, 13, 11), dtype=np.float32)}


def write_transformer(path: Path) -> Arrays:
    """A layer of one head: normalisation, causal attention in its parts, a feed-forward network, both with a residual."""
    generator = np.random.default_rng(0)
    shapes = {"q": [16, 16], "k": [16, 16], "v": [16, 16], "up": [16, 40], "down": [40, 16], "scale": [16], "bias": [16]}
    weights = [helper.make_tensor(name, TensorProto.FLOAT, dims, generator.standard_normal(np.prod(dims)))
               for name, dims in shapes.items()]
    weights.append(helper.make_tensor("quarter", TensorProto.FLOAT, [], [0.25]))
    weights.append(helper.make_tensor("lowest", TensorProto.FLOAT, [], [-65504]))
    weights.append(helper.make_tensor("seen", TensorProto.BOOL, [7, 7], np.tril(np.ones(49).reshape(7, 7)).ravel()))
    nodes = [
        helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["n"]),
        *[helper.make_node("MatMul", ["n", name], [f"{name}n"]) for name in ("q", "k", "v")],
        helper.make_node("Transpose", ["kn"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["qn", "kt"], ["scores"]),
        helper.make_node("Mul", ["scores", "quarter"], ["scaled"]),
        helper.make_node("Where", ["seen", "scaled", "lowest"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["p"]),
        helper.make_node("MatMul", ["p", "vn"], ["mixed"]),
        helper.make_node("Add", ["x", "mixed"], ["r"]),
        helper.make_node("MatMul", ["r", "up"], ["wide"]),
        helper.make_node("Gelu", ["wide"], ["active"]),
        helper.make_node("MatMul", ["active", "down"], ["narrow"]),
        helper.make_node("Add", ["r", "narrow"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "transformer",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 7, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 7, 16])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return {"x": generator.standard_normal((2, 7, 16), dtype=np.float32)}


def save(path: Path, nodes: list[onnx.NodeProto], feeds: Arrays, outputs: dict[str, list[int]]) -> Arrays:
    """A model of opset 24 with inputs as in `feeds` and outputs of f32. Returns `feeds`."""
    types = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
             np.dtype(np.bool_): TensorProto.BOOL}
    graph = helper.make_graph(
        nodes, path.stem,
        [helper.make_tensor_value_info(name, types[value.dtype], value.shape) for name, value in feeds.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in outputs.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10), path)
    return feeds


def write_attentions(path: Path) -> Arrays:
    """Attention of heads that lie behind one another, with a past, masks and shared keys; and with padded keys."""
    generator = np.random.default_rng(0)
    queries, keys, past = 5, 40, 9
    feeds: Arrays = {"q": generator.standard_normal((2, queries, 6 * 8), dtype=np.float32),
                     "k": generator.standard_normal((2, keys, 2 * 8), dtype=np.float32),
                     "v": generator.standard_normal((2, keys, 2 * 40), dtype=np.float32),
                     "past_k": generator.standard_normal((2, 2, past, 8), dtype=np.float32),
                     "past_v": generator.standard_normal((2, 2, past, 40), dtype=np.float32),
                     "mask": generator.standard_normal((queries, past + keys), dtype=np.float32),
                     "seen": generator.integers(2, size=(2, 1, queries, past + keys)).astype(np.bool_),
                     "lengths": np.array([keys, 17])}
    feeds["seen"][0, 0, 3] = False  # a query that sees no key
    heads = {"q_num_heads": 6, "kv_num_heads": 2}
    nodes = [
        helper.make_node("Attention", ["q", "k", "v", "mask", "past_k", "past_v"], ["y", "all_k", "all_v"],
                         is_causal=1, **heads),
        helper.make_node("Attention", ["q", "k", "v", "seen", "past_k", "past_v"], ["hidden"], **heads),
        helper.make_node("Attention", ["q", "k", "v", "", "", "", "lengths"], ["padded", "", "", "weights"],
                         is_causal=1, softcap=3.0, qk_matmul_output_mode=3, **heads),
    ]
    wide = [2, queries, 6 * 40]
    return save(path, nodes, feeds, {"y": wide, "all_k": [2, 2, past + keys, 8], "all_v": [2, 2, past + keys, 40],
                                     "hidden": wide, "padded": wide, "weights": [2, 6, queries, keys]})


def write_rotations(path: Path) -> Arrays:
    """Heads that turn, wholly or in part, of both orders and by both kinds of caches."""
    generator = np.random.default_rng(0)

    def numbers(*dims: int) -> np.ndarray:
        return generator.standard_normal(dims, dtype=np.float32)
    feeds: Arrays = {"heads": numbers(2, 3, 5, 8), "packed": numbers(2, 5, 24), "cosines": numbers(11, 4),
                     "sines": numbers(11, 4), "few_cosines": numbers(2, 5, 2), "few_sines": numbers(2, 5, 2),
                     "places": generator.integers(11, size=(2, 5))}
    whole = ["cosines", "sines", "places"]
    part = ["few_cosines", "few_sines"]
    nodes = [
        helper.make_node("RotaryEmbedding", ["heads", *whole], ["y"]),
        helper.make_node("RotaryEmbedding", ["heads", *part], ["part"], rotary_embedding_dim=4, interleaved=1),
        helper.make_node("RotaryEmbedding", ["packed", *whole], ["turned"], num_heads=3, interleaved=1),
        helper.make_node("RotaryEmbedding", ["packed", *part], ["few"], num_heads=3, rotary_embedding_dim=4),
    ]
    return save(path, nodes, feeds, {"y": [2, 3, 5, 8], "part": [2, 3, 5, 8], "turned": [2, 5, 24], "few": [2, 5, 24]})


def write_heads(path: Path) -> Arrays:
    """Self-attention as exporters write it: rows cut into heads and turned, heads that share keys, and back to rows."""
    generator = np.random.default_rng(0)
    tokens, heads, size = 19, 4, 8
    width = heads * size
    shapes = {"q": [width, width], "k": [width, width], "v": [width, width], "mix": [width, width]}
    weights = [helper.make_tensor(name, TensorProto.FLOAT, dims, generator.standard_normal(np.prod(dims)) / 6)
               for name, dims in shapes.items()]
    weights.append(helper.make_tensor("scale", TensorProto.FLOAT, [], [size ** -0.5]))
    weights.append(helper.make_tensor("split", TensorProto.INT64, [4], [2, tokens, heads, size]))
    weights.append(helper.make_tensor("join", TensorProto.INT64, [3], [2, tokens, width]))
    turns = {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}
    nodes = []
    for name, perm in turns.items():
        nodes += [helper.make_node("MatMul", ["x", name], [f"{name}_rows"]),
                  helper.make_node("Reshape", [f"{name}_rows", "split"], [f"{name}_heads"]),
                  helper.make_node("Transpose", [f"{name}_heads"], [f"{name}_turned"], perm=perm)]
    nodes += [helper.make_node("MatMul", ["q_turned", "k_turned"], ["scores"]),
              helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
              helper.make_node("Add", ["scaled", "mask"], ["masked"]),
              helper.make_node("Softmax", ["masked"], ["p"]),
              helper.make_node("MatMul", ["p", "v_turned"], ["mixed"]),
              helper.make_node("Transpose", ["mixed"], ["turned_back"], perm=[0, 2, 1, 3]),
              helper.make_node("Reshape", ["turned_back", "join"], ["rows"]),
              helper.make_node("MatMul", ["rows", "mix"], ["y"])]
    feeds = {"x": generator.standard_normal((2, tokens, width), dtype=np.float32),
             "mask": generator.standard_normal((2, 1, 1, tokens), dtype=np.float32)}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in feeds.items()]
    graph = helper.make_graph(nodes, "heads", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, tokens, width])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return feeds


def check_packed(folder: Path, report: Report) -> None:
    """The packages of `write_heads`, in 32 and in 16 bits, turn no heads on the device; those of a processor do."""
    for package, turns in (("device", False), ("half", False), ("host", True)):
        if package == "host":
            compile_model(folder / "heads.onnx", folder / "host.sluice", "cpu")
        nodes = json.loads(run_command("explain", folder / f"{package}.sluice", "--json"))["nodes"]
        operators = {node["operator"] for node in nodes}
        report.add("sluice::Attention" in operators and ("Transpose" in operators) == turns,
                   f"heads for the {package}: {sorted(operators)}")


def write_indices(path: Path) -> Arrays:
    """Operators whose indices are inputs of the model."""
    generator = np.random.default_rng(0)
    feeds: Arrays = {"x": generator.standard_normal((6, 5, 4), dtype=np.float32),
                     "rows": np.array([5, -6, 2]), "places": generator.integers(-5, 5, size=(6, 7, 4)),
                     "tuples": np.array([[0, -1], [5, 2]]), "starts": np.array([-2, 3]), "ends": np.array([0, 9]),
                     "steps": np.array([-2, 1]),
                     "few": generator.standard_normal((6, 7, 3), dtype=np.float32),
                     "slices": generator.standard_normal((2, 4), dtype=np.float32),
                     "news": generator.standard_normal((6, 2, 4), dtype=np.float32),
                     "written": np.array([3, 0, 1, 2, 3, 4])}
    feeds["few_places"] = feeds["places"][:, :, :3].copy()
    nodes = [
        helper.make_node("Gather", ["x", "rows"], ["gathered"], axis=0),
        helper.make_node("GatherElements", ["x", "places"], ["elements"], axis=1),
        helper.make_node("GatherND", ["x", "tuples"], ["found"]),
        helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["cut"]),
        helper.make_node("ScatterElements", ["x", "few_places", "few"], ["replaced"], axis=1),
        helper.make_node("ScatterElements", ["x", "few_places", "few"], ["added"], axis=1, reduction="add"),
        helper.make_node("ScatterND", ["x", "tuples", "slices"], ["y"]),
        helper.make_node("ScatterND", ["x", "tuples", "slices"], ["least"], reduction="min"),
        helper.make_node("TensorScatter", ["x", "news", "written"], ["cache"], axis=1, mode="circular"),
    ]
    nodes.insert(0, helper.make_node("Constant", [], ["axes"], value_ints=[0, 1]))
    whole = [6, 5, 4]
    return save(path, nodes, feeds, {"gathered": [3, 5, 4], "elements": [6, 7, 4], "found": [2, 4], "cut": [2, 2, 4],
                                     "replaced": whole, "added": whole, "y": whole, "least": whole, "cache": whole})


def write_half(path: Path, whole: Path) -> None:
    """The model `whole` with inputs, weights and results of 16 bits."""
    model = onnx.load(whole)
    for weight in model.graph.initializer:
        if weight.data_type != TensorProto.FLOAT:
            continue
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), weight.name))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(model, path)


def check_half(name: str, whole: Path, feeds: Arrays, folder: Path, report: Report) -> None:
    """Values of 16 bits, summed in single precision: results as those of `reference`, operation by operation."""
    model = folder / f"{name}_half.onnx"
    write_half(model, whole)
    halves = {key: value.astype(np.float16) for key, value in feeds.items()}
    plain = compile_model(model, folder / "half_whole.sluice", "reference", ("--no-optimize",))
    expected = run_model(plain, halves, ["y"])["y"]
    package = compile_model(model, folder / "half.sluice", TARGETS)
    actual = run_model(package, halves, ["y"])["y"]
    error = relative_error(actual.astype(np.float32), expected.astype(np.float32))
    nodes = json.loads(run_command("explain", package, "--json"))["nodes"]
    casts = [node["operator"] for node in nodes if "Cast" in node["operator"]]
    report.add(not casts, f"{name} in 16 bits: no casts to 32 bits, {casts}")
    parts = [node["operator"] for node in nodes if node["operator"] == "Where"]
    report.add(not parts, f"{name} in 16 bits: no parts of attention, {parts}")
    report.add(actual.dtype == np.float16 and error <= HALF_TOLERANCE, f"{name} in 16 bits: relative error {error:.1e}")


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


def check_confined(name: str, package: Path, feeds: Arrays, outputs: list[str], report: Report) -> None:
    """Two of the device's cores, by either means, give the bits that all of it gives; so do graphs."""
    os.environ["SLUICE_CUDA_EMULATED"] = "seed=1"
    results = {}
    for confine in ("none", "contexts", "masks"):
        os.environ["SLUICE_CUDA_CONFINE"] = confine
        for graphs in ("none", "always"):
            os.environ["SLUICE_CUDA_GRAPHS"] = graphs
            results[confine, graphs] = run_model(package, feeds, outputs, ("--threads", "2"))
    del os.environ["SLUICE_CUDA_CONFINE"], os.environ["SLUICE_CUDA_GRAPHS"]
    plain = results.pop(("none", "none"))
    for (confine, graphs), result in results.items():
        same = all(np.array_equal(result[output], plain[output], equal_nan=True) for output in outputs)
        report.add(same, f"{name}, confine={confine}, graphs={graphs}: the same bits as without both")


def check_two_devices(model: Path, feeds: Arrays, folder: Path, report: Report) -> None:
    """Branches in turn on two devices, with and without a link: each executor gives the whole model's outputs in every
    order of work."""
    expected = run_model(compile_model(model, folder / "whole.sluice", "reference"), feeds, ["y"])
    names = [name for i in range(6) for name in (f"product{i}", f"pair{i}")]
    rules = [text for i, name in enumerate(names) for text in ("--place", f"{name}=cuda-emulated:{i % 2}")]
    os.environ["SLUICE_CUDA_EMULATED"] = "devices=2"
    package = compile_model(model, folder / "two.sluice", TARGETS, rules)
    for executor in ("linear", "dataflow", "parallel"):
        for seed in SEEDS:
            peers = "yes" if seed % 2 else "no"
            os.environ["SLUICE_CUDA_EMULATED"] = f"devices=2,seed={seed},peers={peers}"

            def error() -> float:
                actual = run_model(package, feeds, ["y"], ("--executor", executor))
                return relative_error(actual["y"], expected["y"])
            report.case(f"two devices, {executor}, seed {seed}, peers {peers}", error)


def main() -> int:
    if reason := cuda_compiler.reason_to_skip():
        print(f"skipped: {reason}")
        return 77
    report = Report()
    with scratch_folder() as name:
        folder = Path(name)
        check("mlp", make.write("mlp", folder), NETWORKS["mlp"].inputs(np.random.default_rng(0)), set(), folder, report)
        written = {"chain": (write_chain, {"CumSum"}), "cnn": (write_cnn, set()),
                   "transformer": (write_transformer, set()), "heads": (write_heads, set()),
                   "attentions": (write_attentions, set()),
                   "rotations": (write_rotations, set()), "indices": (write_indices, set())}
        for model_name, (write, on_host) in written.items():
            model = folder / f"{model_name}.onnx"
            feeds = write(model)
            check(model_name, model, feeds, on_host, folder, report)
            outputs = [output.name for output in onnx.load(model).graph.output]
            check_confined(model_name, folder / "device.sluice", feeds, outputs, report)
            if model_name in ("cnn", "transformer", "heads"):
                check_half(model_name, model, feeds, folder, report)
            if model_name == "heads":
                check_packed(folder, report)
        branches = folder / "branches.onnx"
        check_two_devices(branches, write_branches(branches), folder, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
