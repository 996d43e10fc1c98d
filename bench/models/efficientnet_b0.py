"""EfficientNet-B0, 3x224x224: inverted residuals with squeeze-and-excitation; SiLU as x*Sigmoid."""

from __future__ import annotations

import math

import numpy as np
import onnx
from conv_layers import classifier, conv_bn, image, silu
from graph_writer import GraphWriter

# expansion, output channels, blocks, first stride, kernel
STAGES = [
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
]


def pointwise(g: GraphWriter, name: str, x: str, ins: int, outs: int) -> str:
    weight = g.normal(f"{name}.weight", (outs, ins, 1, 1), math.sqrt(1 / ins))
    bias = g.normal(f"{name}.bias", (outs,), 0.5)
    return g.op("Conv", x, weight, bias, kernel_shape=[1, 1])


def squeeze_excite(g: GraphWriter, name: str, x: str, channels: int, squeezed: int) -> str:
    means = g.op("GlobalAveragePool", x)
    means = silu(g, pointwise(g, f"{name}.reduce", means, channels, squeezed))
    gates = g.op("Sigmoid", pointwise(g, f"{name}.expand", means, squeezed, channels))
    return g.op("Mul", x, gates)


def inverted_residual(
    g: GraphWriter, name: str, x: str, channels: tuple[int, int], stride: int, form: tuple[int, int]
) -> str:
    ins, outs = channels
    expansion, kernel = form
    hidden = ins * expansion
    y = x
    if expansion != 1:
        y = silu(g, conv_bn(g, f"{name}.expand", y, (ins, hidden), 1))
    y = conv_bn(g, f"{name}.depthwise", y, (hidden, hidden), kernel, stride, groups=hidden)
    y = squeeze_excite(g, f"{name}.se", silu(g, y), hidden, max(1, ins // 4))
    shortcut = stride == 1 and ins == outs
    # SiLU and the gates shrink activations; the gains compensate.
    y = conv_bn(g, f"{name}.project", y, (hidden, outs), 1, gain=1.0 if shortcut else 2.0)
    return g.op("Add", x, y) if shortcut else y


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("efficientnet_b0", seed=10)
    x = g.input("input", [batch, 3, 224, 224])
    x = silu(g, conv_bn(g, "stem", x, (3, 32), 3, 2))
    ins = 32
    for stage, (expansion, outs, blocks, first_stride, kernel) in enumerate(STAGES):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"blocks.{stage}.{block}"
            x = inverted_residual(g, name, x, (ins, outs), stride, (expansion, kernel))
            ins = outs
    x = silu(g, conv_bn(g, "head", x, (ins, 1280), 1))
    classifier(g, x, batch, 1280, 1000)
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"input": image(rng, batch)}
