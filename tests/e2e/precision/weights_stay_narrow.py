#!/usr/bin/env python3
"""Files with weights of 16, 8 and 4 bits: the results are onnxruntime's, and the packages are about as small."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import run_cases  # noqa: E402

from harness.sluice_cli import compile_model, run_command, run_model  # noqa: E402

K, N, BLOCK = 512, 384, 32
RANDOM = np.random.default_rng(1)
X = RANDOM.standard_normal((3, K), dtype=np.float32)


def model_of(nodes: list[onnx.NodeProto], constants: list[TensorProto]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes, "narrow", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, K])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, N])], constants)
    return helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def f16_gemm() -> onnx.ModelProto:
    weights = (RANDOM.standard_normal((N, K)) / 16).astype(np.float16)
    bias = RANDOM.standard_normal(N).astype(np.float16)
    return model_of([
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("Gemm", ["h", "w", "b"], ["p"], transB=1),
        helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT),
    ], [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")])


def f16_conv() -> onnx.ModelProto:
    """A pointwise convolution whose batch normalization becomes part of its weights."""
    images = {"in": np.array([3, K, 1, 1]), "out": np.array([3, N])}
    halves = {"w": RANDOM.standard_normal((N, K, 1, 1)) / 16, "scale": RANDOM.uniform(0.5, 2, N),
              "bias": RANDOM.standard_normal(N), "mean": RANDOM.standard_normal(N),
              "var": RANDOM.uniform(0.5, 2, N)}
    return model_of([
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("Reshape", ["h", "in"], ["image"]),
        helper.make_node("Conv", ["image", "w"], ["sums"]),
        helper.make_node("BatchNormalization", ["sums", "scale", "bias", "mean", "var"], ["normal"]),
        helper.make_node("Reshape", ["normal", "out"], ["p"]),
        helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT),
    ], [numpy_helper.from_array(value, name) for name, value in images.items()]
        + [numpy_helper.from_array(value.astype(np.float16), name) for name, value in halves.items()])


def image_conv(element: type) -> onnx.ModelProto:
    """A 3x3 convolution, for which Winograd's method pays."""
    weights = (RANDOM.standard_normal((64, 64, 3, 3)) / 24).astype(element)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64, 24, 24]) for name in "xy")
    cast = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    graph = helper.make_graph([
        helper.make_node("Cast", ["x"], ["h"], to=cast),
        helper.make_node("Conv", ["h", "w"], ["p"], pads=[1, 1, 1, 1]),
        helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT),
    ], "narrow", [x], [y], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def halves_transformed_weights(folder: Path) -> str:
    """The packed constants of a 3x3 convolution take half in a file of f16."""
    x = RANDOM.standard_normal((1, 64, 24, 24), dtype=np.float32)
    packed = {}
    for element in (np.float32, np.float16):
        path = folder / f"{element.__name__}.onnx"
        onnx.save_model(image_conv(element), path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        expected = session.run(["y"], {"x": x})[0]
        package = compile_model(path, path.with_suffix(".sluice"), "cpu")
        difference = np.abs(run_model(package, {"x": x}, ["y"])["y"] - expected).max() / np.abs(expected).max()
        if not difference <= 2e-3:
            return f"results of {element.__name__} differ by {difference} of the largest"
        sections = [line.split() for line in run_command("inspect", package).splitlines()]
        packed[element] = next(int(words[2]) for words in sections if words[:1] == ["packed"])
    share = packed[np.float16] / packed[np.float32]
    return "" if share <= 0.55 else f"packed constants take {share:.2f} of those of f32"


def nbits(block: int, has_zeros: bool, element: type = np.float32, bits: int = 4, level: int = 0) -> onnx.ModelProto:
    blocks = K // block
    constants = {"w": RANDOM.integers(0, 256, (N, blocks, block * bits // 8)).astype(np.uint8),
                 "s": (np.abs(RANDOM.standard_normal((N, blocks))) / 64).astype(element)}
    if has_zeros:
        constants["z"] = RANDOM.integers(0, 256, (N, blocks * bits // 8)).astype(np.uint8)
    is_half = element == np.float16
    product = helper.make_node("MatMulNBits", ["h" if is_half else "x", *constants],
                               ["p" if is_half else "y"], domain="com.microsoft",
                               K=K, N=N, bits=bits, block_size=block, accuracy_level=level)
    nodes = [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16), product,
             helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)] if is_half else [product]
    return model_of(nodes, [numpy_helper.from_array(value, name) for name, value in constants.items()])


def qdq(has_sign: bool) -> onnx.ModelProto:
    """Blocks of a matrix that is not transposed."""
    element = TensorProto.INT4 if has_sign else TensorProto.UINT4
    numbers = RANDOM.integers(-8, 8, K * N) if has_sign else RANDOM.integers(0, 16, K * N)
    scales = np.abs(RANDOM.standard_normal((K // BLOCK, N), dtype=np.float32)) / 64
    constants = [helper.make_tensor("w", element, [K, N], numbers.tolist()),
                 numpy_helper.from_array(scales, "s")]
    if not has_sign:
        zeros = RANDOM.integers(0, 16, K // BLOCK * N).tolist()
        constants.append(helper.make_tensor("z", element, [K // BLOCK, N], zeros))
    names = [constant.name for constant in constants]
    return model_of([helper.make_node("DequantizeLinear", names, ["d"], axis=0, block_size=BLOCK),
                     helper.make_node("MatMul", ["x", "d"], ["y"])], constants)


def qdq_bytes() -> onnx.ModelProto:
    """Blocks of a matrix of 8 bits that is transposed."""
    constants = [numpy_helper.from_array(RANDOM.integers(0, 256, (N, K)).astype(np.uint8), "w"),
                 numpy_helper.from_array(np.abs(RANDOM.standard_normal((N, K // BLOCK), dtype=np.float32)) / 64, "s"),
                 numpy_helper.from_array(RANDOM.integers(0, 256, (N, K // BLOCK)).astype(np.uint8), "z")]
    return model_of([helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=1, block_size=BLOCK),
                     helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]),
                     helper.make_node("MatMul", ["x", "t"], ["y"])], constants)


def tied_embedding(bits: int, is_standard: bool) -> onnx.ModelProto:
    """Rows of a table, multiplied with the same table: as language models begin and end."""
    blocks = K // BLOCK
    constants = [numpy_helper.from_array(np.abs(RANDOM.standard_normal((N, blocks), dtype=np.float32)) / 64, "s"),
                 numpy_helper.from_array(np.array([5, 0, N - 1], np.int64), "i")]
    if is_standard:
        numbers = RANDOM.integers(0, 1 << bits, N * K)
        element = TensorProto.UINT4 if bits == 4 else TensorProto.UINT8
        zeros = [1 << (bits - 1)] * (N * blocks)
        constants += [helper.make_tensor("w", element, [N, K], numbers.tolist()),
                      helper.make_tensor("z", element, [N, blocks], zeros)]
        table = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=1, block_size=BLOCK),
                 helper.make_node("Gather", ["d", "i"], ["e"])]
        product = [helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]),
                   helper.make_node("MatMul", ["sum", "t"], ["y"])]
    else:
        packed = RANDOM.integers(0, 256, (N, blocks, BLOCK * bits // 8)).astype(np.uint8)
        constants += [numpy_helper.from_array(packed, "w"),
                      numpy_helper.from_array(np.array([N, K * bits // 8], np.int64), "flat")]
        table = [helper.make_node("Reshape", ["w", "flat"], ["rows"]),
                 helper.make_node("GatherBlockQuantized", ["rows", "i", "s"], ["e"], domain="com.microsoft", bits=bits,
                                  block_size=BLOCK)]
        product = [helper.make_node("MatMulNBits", ["sum", "w", "s"], ["y"], domain="com.microsoft", K=K, N=N, bits=bits,
                                    block_size=BLOCK)]
    return model_of([*table, helper.make_node("Add", ["x", "e"], ["sum"]), *product], constants)


def dynamic() -> onnx.ModelProto:
    """As onnxruntime's quantize_dynamic writes a MatMul."""
    # 7 bits: on AVX2 without VNNI, onnxruntime's sums of products of full bytes saturate
    constants = {"w": RANDOM.integers(-63, 64, (K, N)).astype(np.int8), "z": np.array(0, np.int8),
                 "s": RANDOM.uniform(1e-3, 2e-3, N).astype(np.float32)}
    return model_of([
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
        helper.make_node("MatMulInteger", ["q", "w", "qz", "z"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["qs", "s"], ["both"]), helper.make_node("Mul", ["f", "both"], ["y"]),
    ], [numpy_helper.from_array(value, name) for name, value in constants.items()])


def agrees(folder: Path, model: onnx.ModelProto, growth: float, tolerance: float,
           mark: str = "sluice::NarrowMatMul") -> str:
    path = folder / "model.onnx"
    onnx.save_model(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected = session.run(["y"], {"x": X})[0]
    package = compile_model(path, folder / "model.sluice", "cpu")
    actual = run_model(package, {"x": X}, ["y"])["y"]
    difference = np.abs(actual - expected).max() / np.abs(expected).max()
    if not difference <= tolerance:
        return f"results differ by {difference} of the largest"
    if mark not in run_command("inspect", package, "--text"):
        return f"there is no {mark}"
    size = package.stat().st_size / path.stat().st_size
    return "" if size <= growth else f"the package is {size:.2f} times the ONNX file"


# 16 bits, and 8 with a scale per column, are there twice: as the graph has them, and in panels. Blocks are multiplied
# as they lie.
CASES = {
    "f16 Gemm": (f16_gemm, 2.1, 2e-3),
    # The graph has the weights in f32; with panels of f32, too, the package is 4 times the file.
    "f16 convolution with batch normalization": (f16_conv, 3.1, 2e-3, 'sluice_weights = "f16"'),
    "a dynamic product": (dynamic, 2.2, 2e-2),
    "MatMulNBits": (lambda: nbits(BLOCK, False), 1.2, 1e-5),
    "MatMulNBits with zero points": (lambda: nbits(BLOCK, True), 1.2, 1e-5),
    "MatMulNBits in blocks of 128": (lambda: nbits(128, True), 1.2, 1e-5),
    "MatMulNBits of f16": (lambda: nbits(BLOCK, True, np.float16), 1.2, 5e-3),
    "MatMulNBits in blocks of 16": (lambda: nbits(16, True), 1.2, 1e-5),
    "MatMulNBits of 8 bits": (lambda: nbits(BLOCK, False, bits=8), 1.1, 1e-5),
    "MatMulNBits of 8 bits with zero points": (lambda: nbits(BLOCK, True, bits=8), 1.1, 1e-5),
    "MatMulNBits of 8 bits in blocks of 128": (lambda: nbits(128, True, bits=8), 1.1, 1e-5),
    "MatMulNBits of 8 bits of f16": (lambda: nbits(BLOCK, True, np.float16, bits=8), 1.2, 5e-3),
    "a tied embedding of 4 bits": (lambda: tied_embedding(4, False), 1.2, 1e-5),
    "a tied embedding of 8 bits": (lambda: tied_embedding(8, False), 1.2, 1e-5),
    "a tied embedding of 4 bits in ONNX's operators": (lambda: tied_embedding(4, True), 1.2, 1e-2),
    "a tied embedding of 8 bits in ONNX's operators": (lambda: tied_embedding(8, True), 1.2, 1e-5),
    # accuracy_level 4: both round the other factor to 8 bits, block by block.
    "MatMulNBits that may round": (lambda: nbits(BLOCK, True, level=4), 1.2, 1e-2),
    "MatMulNBits of 8 bits that may round": (lambda: nbits(BLOCK, True, bits=8, level=4), 1.1, 1e-2),
    "QDQ of 8 bits": (qdq_bytes, 1.1, 1e-2),
    # onnxruntime rounds the other factor of these to 8 bits.
    "QDQ of i4": (lambda: qdq(True), 1.2, 1e-2),
    "QDQ of u4": (lambda: qdq(False), 1.2, 1e-2),
}

if __name__ == "__main__":
    cases = {name: lambda f, c=case: agrees(f, c[0](), *c[1:]) for name, case in CASES.items()}
    cases["f16 convolution by Winograd's method"] = halves_transformed_weights
    sys.exit(run_cases(cases))
