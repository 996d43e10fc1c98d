#!/usr/bin/env python3
"""Networks between QuantizeLinear and DequantizeLinear, and what `sluice quantize` makes.

Written out in f32, as the reference computes it, each network is what quantization says it is; the
compiler's convolutions of bytes may be off by a step of the result, two where a rounding before a
sum has gone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import first_wrong_refusal, run_cases  # noqa: E402

from harness.sluice_cli import compile_model, run_command, run_model  # noqa: E402
from models.graph_writer import GraphWriter  # noqa: E402

STEP = 0.05
STEPS = 2.01


@dataclass
class Quantizer:
    """Writes pairs of QuantizeLinear and DequantizeLinear, of one scale everywhere."""

    graph: GraphWriter
    zero: np.ndarray

    def __post_init__(self) -> None:
        self.scale = self.graph.weight("scale", np.array(STEP, np.float32))
        self.zero_point = self.graph.weight("zero", self.zero)

    def __call__(self, value: str) -> str:
        quantized = self.graph.op("QuantizeLinear", value, self.scale, self.zero_point)
        return self.graph.op("DequantizeLinear", quantized, self.scale, self.zero_point)

    def weights(self, name: str, shape: tuple[int, ...], per_channel: bool = True) -> str:
        values = self.graph.rng.integers(-127, 128, shape, np.int8)
        count = shape[0] if per_channel else 1
        scales = self.graph.rng.uniform(0.5, 1, count).astype(np.float32)
        scales /= 73 * np.sqrt(np.prod(shape[1:]))
        whole = self.graph.weight(name, values)
        scale = self.graph.weight(f"{name}_scale", scales if per_channel else scales[0])
        return self.graph.op("DequantizeLinear", whole, scale, axis=0)


SIGNED = np.array(-3, np.int8)
UNSIGNED = np.array(120, np.uint8)
SHORT = np.array(32000, np.uint16)
NONE_BELOW_ZERO = np.array(0, np.uint8)


def convolution(zero: np.ndarray, channels: int, **attributes: object) -> onnx.ModelProto:
    graph = GraphWriter("convolution", seed=3)
    q = Quantizer(graph, zero)
    image = q(graph.input("x", (2, channels, 13, 11)))
    kernel = tuple(attributes.get("kernel_shape", (3, 3)))
    groups = attributes.get("group", 1)
    bias = graph.normal("bias", (48,), std=0.5)
    weights = q.weights("w", (48, channels // groups, *kernel))
    graph.output(q(graph.op("Conv", image, weights, bias, **attributes)), None)
    return graph.model()


def block(zero: np.ndarray) -> onnx.ModelProto:
    """Two branches that meet, behind maxima."""
    graph = GraphWriter("block", seed=4)
    q = Quantizer(graph, zero)
    image = q(graph.input("x", (1, 3, 21, 19)))
    stem = graph.op("Conv", image, q.weights("w0", (40, 3, 5, 5)), strides=[2, 2], pads=[2] * 4)
    rectified = q(graph.op("Relu", stem))
    pooled = q(graph.op("MaxPool", rectified, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    left = graph.op("Conv", pooled, q.weights("w1", (24, 40, 1, 1)))
    left = q(graph.op("Clip", left, "", graph.constant(6.0, "float32")))
    left = q(graph.op("Conv", left, q.weights("w2", (72, 24, 3, 3), per_channel=False),
                      pads=[1] * 4))
    right = q(graph.op("Conv", pooled, q.weights("w3", (72, 40, 1, 1))))
    graph.output(q(graph.op("Relu", graph.op("Add", left, right))), None)
    graph.output(graph.op("GlobalAveragePool", right), None)
    return graph.model()


def functions() -> onnx.ModelProto:
    """SiLU and the parts of HardSwish; a sum of two tensors is not a function of one byte."""
    graph = GraphWriter("functions", seed=9)
    q = Quantizer(graph, UNSIGNED)
    image = q(graph.input("x", (1, 20, 9, 7)))
    silu = q(graph.op("Mul", image, graph.op("Sigmoid", image)))
    raised = graph.op("Add", silu, graph.constant(3.0, "float32"))
    cut = graph.op("Clip", raised, graph.constant(0.0, "float32"), graph.constant(6.0, "float32"))
    product = graph.op("Mul", silu, cut)
    swish = q(graph.op("Div", product, graph.constant(6.0, "float32")))
    graph.output(q(graph.op("Add", swish, image)), None)
    graph.output(swish, None)
    return graph.model()


def product() -> onnx.ModelProto:
    graph = GraphWriter("product", seed=5)
    q = Quantizer(graph, UNSIGNED)
    rows = q(graph.input("x", (7, 64)))
    whole = graph.weight("w", graph.rng.integers(-127, 128, (64, 24), np.int8))
    scale = graph.weight("w_scale", np.array(1e-3, np.float32))
    graph.output(graph.op("MatMul", rows, graph.op("DequantizeLinear", whole, scale)), None)
    return graph.model()


def flipped_product() -> onnx.ModelProto:
    """A Gemm of flipped weights with a scale per column."""
    graph = GraphWriter("flipped", seed=14)
    q = Quantizer(graph, UNSIGNED)
    rows = q(graph.input("x", (7, 64)))
    whole = graph.weight("w", graph.rng.integers(-128, 128, (24, 64)).astype(np.int8))
    scales = graph.weight("w_scale", graph.rng.uniform(2e-4, 1e-3, 24).astype(np.float32))
    weights = graph.op("DequantizeLinear", whole, scales, axis=0)
    graph.output(graph.op("Gemm", rows, weights, transB=1), None)
    return graph.model()


def quantized_operator(weights_zero: int, low: int = -90, high: int = 90) -> onnx.ModelProto:
    """QLinearConv with weights of u8, whose zero point is in the middle or elsewhere."""
    graph = GraphWriter("qoperator", seed=10)
    q = Quantizer(graph, UNSIGNED)
    image = graph.op("QuantizeLinear", graph.input("x", (1, 16, 9, 9)), q.scale, q.zero_point)
    whole = graph.weight("w", graph.rng.integers(weights_zero + low, weights_zero + high,
                                                 (24, 16, 3, 3)).astype(np.uint8))
    scale = graph.weight("w_scale", graph.rng.uniform(1e-4, 4e-4, 24).astype(np.float32))
    zero = graph.weight("w_zero", np.full(24, weights_zero, np.uint8))
    bias = graph.weight("bias", graph.rng.integers(-9000, 9000, 24).astype(np.int32))
    result = graph.op("QLinearConv", image, q.scale, q.zero_point, whole, scale, zero, q.scale,
                      q.zero_point, bias, pads=[1] * 4)
    graph.output(graph.op("DequantizeLinear", result, q.scale, q.zero_point), None)
    return graph.model()


def skewed_block() -> onnx.ModelProto:
    """Convolutions, one by channel, whose weights of u8 are too far from their zero point for i8."""
    graph = GraphWriter("skewed", seed=12)
    q = Quantizer(graph, UNSIGNED)
    image = q(graph.input("x", (1, 16, 9, 9)))
    zero = graph.weight("w_zero", np.array(70, np.uint8))

    def conv(value: str, name: str, shape: tuple[int, ...], **attributes: object) -> str:
        whole = graph.weight(name, graph.rng.integers(0, 256, shape).astype(np.uint8))
        scale = graph.weight(f"{name}_scale", np.array(0.01 / np.sqrt(np.prod(shape[1:])), np.float32))
        return graph.op("Conv", value, graph.op("DequantizeLinear", whole, scale, zero), **attributes)

    dense = conv(image, "w", (16, 16, 3, 3), pads=[1] * 4)
    by_channel = q(graph.op("Relu", q(graph.op("Add", dense, image))))
    graph.output(q(conv(by_channel, "v", (16, 1, 3, 3), pads=[1] * 4, group=16)), None)
    return graph.model()


def product_of_activations() -> onnx.ModelProto:
    graph = GraphWriter("activations", seed=13)
    q = Quantizer(graph, UNSIGNED)
    left = graph.op("QuantizeLinear", graph.input("x", (2, 7, 16)), q.scale, q.zero_point)
    right = graph.op("QuantizeLinear", graph.input("y", (2, 16, 9)), q.scale, q.zero_point)
    result = graph.op("QLinearMatMul", left, q.scale, q.zero_point, right, q.scale, q.zero_point,
                      q.scale, q.zero_point)
    graph.output(graph.op("DequantizeLinear", result, q.scale, q.zero_point), None)
    return graph.model()


def dynamic_product(element: type) -> onnx.ModelProto:
    """What onnxruntime's quantize_dynamic writes for a MatMul."""
    graph = GraphWriter("dynamic", seed=11)
    x = graph.input("x", (5, 96))
    low, high = (-127, 128) if element is np.int8 else (0, 256)
    whole = graph.weight("w", graph.rng.integers(low, high, (96, 24)).astype(element))
    zero = graph.weight("w_zero", np.array(0 if element is np.int8 else 128, element))
    scale = graph.weight("w_scale", np.array(1e-3, np.float32))
    graph.multi_op("DynamicQuantizeLinear", x, names=["q", "s", "z"])
    cast = graph.op("Cast", graph.op("MatMulInteger", "q", whole, "z", zero), to=1)
    graph.output(graph.op("Mul", cast, graph.op("Mul", "s", scale)), None)
    return graph.model()


def off_by(model: onnx.ModelProto, folder: Path, fused: int, kind: str = "QuantizedConv") -> str:
    """The error of the compiled network, "" if it is right."""
    path = folder / "model.onnx"
    onnx.save_model(model, path)
    feeds = {
        spec.name: 2 * np.random.default_rng(7).standard_normal(
            [dim.dim_value for dim in spec.type.tensor_type.shape.dim], dtype=np.float32)
        for spec in model.graph.input
    }
    names = [output.name for output in model.graph.output]
    plain = compile_model(path, folder / "plain.sluice", "reference", ["--no-optimize"])
    expected = run_model(plain, feeds, names)
    for backend in ("cpu", "reference"):
        package = compile_model(path, folder / f"{backend}.sluice", backend)
        found = sum(int(line.split()[0]) for line in run_command("inspect", package).splitlines()
                    if line.split()[-1:] in ([f"sluice::{kind}"], [kind]))
        if found != fused:
            return f"{found} operations {kind} on {backend}, expected {fused}"
        actual = run_model(package, feeds, names)
        for name in names:
            steps = np.abs(actual[name] - expected[name]).max() / STEP
            if not steps <= STEPS:
                return f"{name} is off by {steps:.2f} steps on {backend}"
    return ""


def small_network() -> onnx.ModelProto:
    graph = GraphWriter("network", seed=6)
    image = graph.input("image", (1, 3, 32, 32))
    value = image
    for index, (inputs, outputs) in enumerate(((3, 32), (32, 32), (32, 64))):
        weights = graph.normal(f"w{index}", (outputs, inputs, 3, 3), std=(9 * inputs) ** -0.5)
        value = graph.op("Conv", value, weights, pads=[1] * 4)
        moments = [graph.uniform(f"{name}{index}", (outputs,), 0.5, 1.5)
                   for name in ("scale", "shift", "mean", "variance")]
        value = graph.op("Relu", graph.op("BatchNormalization", value, *moments))
        value = graph.op("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2])
    flat = graph.op("Flatten", graph.op("GlobalAveragePool", value))
    graph.output(graph.op("MatMul", flat, graph.normal("w", (64, 10), std=0.1)), (1, 10))
    return graph.model()


def gated_network() -> onnx.ModelProto:
    """SiLU between convolutions, one of which is depthwise."""
    graph = GraphWriter("gated", seed=8)
    value = graph.input("image", (1, 3, 32, 32))
    for index, (inputs, outputs, groups) in enumerate(((3, 32, 1), (32, 32, 32), (32, 16, 1))):
        taken = inputs // groups
        weights = graph.normal(f"w{index}", (outputs, taken, 3, 3), std=1.5 * (9 * taken) ** -0.5)
        value = graph.op("Conv", value, weights, pads=[1] * 4, group=groups)
        value = graph.op("Mul", value, graph.op("Sigmoid", value))
    graph.output(graph.op("GlobalAveragePool", value), None)
    return graph.model()


def write_samples(folder: Path) -> Path:
    folder.mkdir()
    random = np.random.default_rng(1)
    for index in range(3):
        np.save(folder / f"{index}.npy", random.random((1, 3, 32, 32), dtype=np.float32))
    return folder


def quantizes(folder: Path) -> str:
    path = folder / "network.onnx"
    onnx.save_model(small_network(), path)
    samples = write_samples(folder / "samples")
    printed = run_command("quantize", path, "--calibration", samples)
    if "3 of 3 convolutions" not in printed:
        return printed
    error = float(printed.split("error ")[1].split(" %")[0])
    if not 0 < error < 5:
        return f"error {error} %"
    kept = run_command("quantize", path, "--calibration", samples, "--f32", "Conv_0",
                       "-o", folder / "kept.sluice")
    return "" if "2 of 3 convolutions" in kept else kept


def tabulates(folder: Path) -> str:
    """The pass makes a table of each SiLU except the last one, whose result stays in f32."""
    path = folder / "gated.onnx"
    onnx.save_model(gated_network(), path)
    package = folder / "gated.sluice"
    printed = run_command("quantize", path, "--calibration", write_samples(folder / "samples"),
                          "-o", package)
    error = float(printed.split("error ")[1].split(" %")[0])
    if "3 of 3 convolutions" not in printed or not 0 < error < 5:
        return printed
    kinds = [line.split() for line in run_command("inspect", package).splitlines()
             if line.endswith("sluice::ByteTable")]
    return "" if kinds and kinds[0][0] == "2" else f"tables: {kinds}"


def refuses(folder: Path) -> str:
    path = folder / "network.onnx"
    onnx.save_model(small_network(), path)
    samples = write_samples(folder / "samples")
    quantized = folder / "quantized.onnx"
    onnx.save_model(convolution(UNSIGNED, 32), quantized)
    empty = folder / "empty"
    empty.mkdir()
    half = folder / "half"
    (half / "first").mkdir(parents=True)
    odd = folder / "odd"
    odd.mkdir()
    np.save(odd / "a.npy", np.full((1, 3, 32, 32), np.inf, np.float32))
    return first_wrong_refusal("quantize", (
        ((path, "--calibration", folder / "missing"), "cannot list"),
        ((path, "--calibration", empty), "holds no samples"),
        ((path, "--calibration", half), "has no image.npy"),
        ((path, "--calibration", odd), "not finite"),
        ((path, "--calibration", samples, "--f32", "nothing"), 'no convolution named "nothing"'),
        ((quantized, "--calibration", samples), "quantized already"),
    ))


CASES: dict[str, Callable[[Path], str]] = {
    "pads and strides": lambda f: off_by(
        convolution(UNSIGNED, 32, pads=[1, 2, 0, 1], strides=[2, 1]), f, 1),
    "dilation": lambda f: off_by(convolution(UNSIGNED, 20, dilations=[2, 3]), f, 1),
    "a point": lambda f: off_by(convolution(NONE_BELOW_ZERO, 50, kernel_shape=(1, 1)), f, 1),
    "few channels": lambda f: off_by(convolution(UNSIGNED, 4, strides=[2, 2]), f, 1),
    "few dilated channels": lambda f: off_by(convolution(UNSIGNED, 3, dilations=[3, 3]), f, 1),
    "some channels": lambda f: off_by(convolution(UNSIGNED, 7), f, 1),
    "groups stay as they are": lambda f: off_by(convolution(UNSIGNED, 32, group=4), f, 0),
    "every channel by its own": lambda f: off_by(
        convolution(UNSIGNED, 48, group=48, pads=[1] * 4, strides=[2, 1]), f, 1),
    "functions of a byte": lambda f: off_by(functions(), f, 2, "ByteTable"),
    "signed activations": lambda f: off_by(convolution(SIGNED, 32), f, 1),
    "a block": lambda f: off_by(block(UNSIGNED), f, 4),
    "a block of signed bytes": lambda f: off_by(block(SIGNED), f, 4),
    "a block without bytes below zero": lambda f: off_by(block(NONE_BELOW_ZERO), f, 4),
    "QLinearConv": lambda f: off_by(quantized_operator(128), f, 1),
    "QLinearConv of weights around 100": lambda f: off_by(quantized_operator(100), f, 1),
    "QLinearConv of weights far from 70": lambda f: off_by(quantized_operator(70, -70, 186), f, 2),
    "QDQ of weights far from 70": lambda f: off_by(skewed_block(), f, 4),
    "activations of u16": lambda f: off_by(convolution(SHORT, 32, kernel_shape=(1, 1)), f, 0),
    "QLinearMatMul of activations": lambda f: off_by(product_of_activations(), f, 1, "MatMul"),
    "a dynamic product": lambda f: off_by(dynamic_product(np.int8), f, 1, "NarrowMatMul"),
    "a dynamic product of u8": lambda f: off_by(dynamic_product(np.uint8), f, 1, "NarrowMatMul"),
    "a product": lambda f: off_by(product(), f, 1, "NarrowMatMul"),
    "a flipped product": lambda f: off_by(flipped_product(), f, 1, "NarrowMatMul"),
    "quantize finds ranges": quantizes,
    "quantize makes tables": tabulates,
    "quantize refuses what it cannot use": refuses,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
