"""MobileNetV2, width 1.0, 3x224x224; ReLU6 as Clip(0, 6)."""

from __future__ import annotations

import numpy as np
import onnx
from conv_layers import classifier, conv_bn, image
from graph_writer import GraphWriter

# expansion, output channels, blocks, first stride
STAGES = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def relu6(g: GraphWriter, x: str) -> str:
    return g.op("Clip", x, g.constant(0.0, "float32"), g.constant(6.0, "float32"))


def inverted_residual(
    g: GraphWriter, name: str, x: str, channels: tuple[int, int], stride: int, expansion: int
) -> str:
    ins, outs = channels
    hidden = ins * expansion
    y = x
    if expansion != 1:
        y = relu6(g, conv_bn(g, f"{name}.expand", y, (ins, hidden), 1))
    y = relu6(g, conv_bn(g, f"{name}.depthwise", y, (hidden, hidden), 3, stride, groups=hidden))
    shortcut = stride == 1 and ins == outs
    y = conv_bn(g, f"{name}.project", y, (hidden, outs), 1, gain=0.5 if shortcut else 1.0)
    return g.op("Add", x, y) if shortcut else y


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("mobilenetv2", seed=2)
    x = g.input("input", [batch, 3, 224, 224])
    x = relu6(g, conv_bn(g, "features.0", x, (3, 32), 3, 2))
    ins = 32
    for stage, (expansion, outs, blocks, first_stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name = f"features.{stage}.{block}"
            x = inverted_residual(g, name, x, (ins, outs), stride, expansion)
            ins = outs
    x = relu6(g, conv_bn(g, "features.last", x, (ins, 1280), 1))
    classifier(g, x, batch, 1280, 1000)
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"input": image(rng, batch)}
