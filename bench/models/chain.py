"""A chain of tiny operations that cannot be fused: it shows the cost of one operation."""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter

WIDTH = 16


def build(length: int) -> onnx.ModelProto:
    g = GraphWriter("chain", seed=length)
    x = g.input("input", [1, WIDTH])
    for link in range(length):
        weight = g.normal(f"weight{link}", (WIDTH, WIDTH), math.sqrt(1 / WIDTH))
        x = g.op("MatMul", x, weight, name="output" if link == length - 1 else None)
    g.output("output", [1, WIDTH])
    return g.model()


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"input": rng.standard_normal((1, WIDTH), dtype=np.float32)}
