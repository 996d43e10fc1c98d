"""VGG-16: thirteen 3x3 convolutions with bias, 3x224x224, and its three wide dense layers."""

from __future__ import annotations

import math

import numpy as np
import onnx
from conv_layers import filters, image
from graph_writer import GraphWriter

STAGES = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]  # channels, convolutions before a pool
DENSE = [512 * 7 * 7, 4096, 4096, 1000]


def conv_relu(g: GraphWriter, name: str, x: str, ins: int, outs: int) -> str:
    weight = filters(g, f"{name}.weight", (outs, ins, 3, 3))
    bias = g.normal(f"{name}.bias", (outs,), 0.1)
    y = g.op("Conv", x, weight, bias, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    return g.op("Relu", y)


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("vgg16", seed=16)
    x = g.input("input", [batch, 3, 224, 224])
    ins = 3
    for stage, (channels, count) in enumerate(STAGES):
        for i in range(count):
            x = conv_relu(g, f"features.{stage}.{i}", x, ins, channels)
            ins = channels
        x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("Flatten", x, axis=1)
    for layer, (ins, outs) in enumerate(zip(DENSE, DENSE[1:])):
        is_last = layer == len(DENSE) - 2
        weight = g.normal(f"classifier.{layer}.weight", (outs, ins), math.sqrt(2 / ins))
        bias = g.normal(f"classifier.{layer}.bias", (outs,), 0.1)
        x = g.op("Gemm", x, weight, bias, name="output" if is_last else None, transB=1)
        if not is_last:
            x = g.op("Relu", x)
    g.output("output", [batch, DENSE[-1]])
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"input": image(rng, batch)}
