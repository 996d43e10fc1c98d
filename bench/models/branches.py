"""Networks with branches of equal work: blocks like those of Inception, and two towers of dense layers."""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter

CHANNELS, SIDE, BLOCKS = 256, 28, 4
ROWS, WIDTH, LAYERS = 32, 512, 6


def convolution(g: GraphWriter, name: str, x: str, ins: int, outs: int, side: int) -> str:
    weight = g.normal(name, (outs, ins, side, side), math.sqrt(2 / (ins * side * side)))
    padded = g.op("Conv", x, weight, pads=[side // 2] * 4)
    return g.op("Relu", padded)


def inception_block(g: GraphWriter, name: str, x: str) -> str:
    """Four branches, two by two of equal work: 1x1 then 3x3, twice; 1x1, and 1x1 behind a pooling."""
    quarter = CHANNELS // 4
    branches = []
    for way in ("left", "right"):
        narrow = convolution(g, f"{name}.{way}1", x, CHANNELS, quarter, 1)
        branches.append(convolution(g, f"{name}.{way}3", narrow, quarter, quarter, 3))
    branches.append(convolution(g, f"{name}.plain", x, CHANNELS, quarter, 1))
    pooled = g.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    branches.append(convolution(g, f"{name}.pooled", pooled, CHANNELS, quarter, 1))
    return g.op("Concat", *branches, axis=1)


def build_inception() -> onnx.ModelProto:
    g = GraphWriter("inception_like", seed=1)
    x = g.input("input", [1, CHANNELS, SIDE, SIDE])
    for block in range(BLOCKS):
        x = inception_block(g, f"block{block}", x)
    g.op("GlobalAveragePool", x, name="output")
    g.output("output", [1, CHANNELS, 1, 1])
    return g.model()


def inception_inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"input": rng.standard_normal((1, CHANNELS, SIDE, SIDE), dtype=np.float32)}


def build_two_towers() -> onnx.ModelProto:
    g = GraphWriter("two_towers", seed=2)
    towers = []
    for tower in ("user", "item"):
        x = g.input(tower, [ROWS, WIDTH])
        for layer in range(LAYERS):
            weight = g.normal(f"{tower}{layer}", (WIDTH, WIDTH), math.sqrt(2 / WIDTH))
            x = g.op("Relu", g.op("MatMul", x, weight))
        towers.append(x)
    g.op("Mul", *towers, name="output")
    g.output("output", [ROWS, WIDTH])
    return g.model()


def tower_inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: rng.standard_normal((ROWS, WIDTH), dtype=np.float32) for name in ("user", "item")}
