"""Multi-layer perceptrons: one of 784-512-512-256-10, one tiny of 64-64-64-10."""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter

SIZES = [784, 512, 512, 256, 10]
TINY_SIZES = [64, 64, 64, 10]


def build_from(name: str, sizes: list[int], batch: int) -> onnx.ModelProto:
    g = GraphWriter(name, seed=len(sizes))
    x = g.input("input", [batch, sizes[0]])
    last = len(sizes) - 2
    for layer, (ins, outs) in enumerate(zip(sizes, sizes[1:])):
        weight = g.normal(f"fc{layer}.weight", (outs, ins), math.sqrt(2 / ins))
        bias = g.normal(f"fc{layer}.bias", (outs,), 0.1)
        x = g.op("Gemm", x, weight, bias, name="output" if layer == last else None, transB=1)
        if layer != last:
            x = g.op("Relu", x)
    g.output("output", [batch, sizes[-1]])
    return g.model()


def build(batch: int = 1) -> onnx.ModelProto:
    return build_from("mlp", SIZES, batch)


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"input": rng.standard_normal((batch, SIZES[0]), dtype=np.float32)}


def build_tiny() -> onnx.ModelProto:
    return build_from("mlp_tiny", TINY_SIZES, batch=1)


def tiny_inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"input": rng.standard_normal((1, TINY_SIZES[0]), dtype=np.float32)}
