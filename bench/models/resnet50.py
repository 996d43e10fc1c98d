"""ResNet-50 v1.5 (stride in the 3x3 of a block), 3x224x224."""

from __future__ import annotations

import numpy as np
import onnx
from conv_layers import classifier, conv_bn, image
from graph_writer import GraphWriter

STAGES = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]  # width, blocks, first stride
EXPANSION = 4


def bottleneck(g: GraphWriter, name: str, x: str, ins: int, width: int, stride: int) -> str:
    outs = width * EXPANSION
    y = g.op("Relu", conv_bn(g, f"{name}.1", x, (ins, width), 1))
    y = g.op("Relu", conv_bn(g, f"{name}.2", y, (width, width), 3, stride))
    y = conv_bn(g, f"{name}.3", y, (width, outs), 1, gain=0.5)
    if stride != 1 or ins != outs:
        x = conv_bn(g, f"{name}.downsample", x, (ins, outs), 1, stride, gain=0.7)
    return g.op("Relu", g.op("Add", y, x))


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("resnet50", seed=50)
    x = g.input("input", [batch, 3, 224, 224])
    x = g.op("Relu", conv_bn(g, "stem", x, (3, 64), 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    channels = 64
    for stage, (width, blocks, first_stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            x = bottleneck(g, f"layer{stage}.{block}", x, channels, width, stride)
            channels = width * EXPANSION
    classifier(g, x, batch, channels, 1000)
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"input": image(rng, batch)}
