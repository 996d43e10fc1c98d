"""A recommendation network in the manner of DLRM: 13 numbers and 26 embedded categories.

Every pair of the 27 vectors meets in a dot product; the products and the numbers' own vector go
through a second perceptron.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter

NUMBERS, TABLES, ROWS, WIDTH = 13, 26, 20000, 64
BOTTOM = [NUMBERS, 512, 256, WIDTH]
VECTORS = TABLES + 1
TOP = [WIDTH + VECTORS * (VECTORS - 1) // 2, 512, 256, 1]


def perceptron(g: GraphWriter, name: str, x: str, sizes: list[int]) -> str:
    for layer, (ins, outs) in enumerate(zip(sizes, sizes[1:])):
        weight = g.normal(f"{name}.{layer}.weight", (outs, ins), math.sqrt(2 / ins))
        bias = g.normal(f"{name}.{layer}.bias", (outs,), 0.1)
        x = g.op("Gemm", x, weight, bias, transB=1)
        if outs != 1:
            x = g.op("Relu", x)
    return x


def pairs(g: GraphWriter, vectors: str, batch: int) -> str:
    """[batch, vectors, width] to the dot products of all pairs, [batch, pairs]."""
    products = g.op("MatMul", vectors, g.op("Transpose", vectors, perm=[0, 2, 1]))
    flat = g.op("Reshape", products, g.constant([batch, VECTORS * VECTORS], "int64"))
    rows, cols = np.tril_indices(VECTORS, -1)
    return g.op("Gather", flat, g.constant(rows * VECTORS + cols, "int64"), axis=1)


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("dlrm", seed=26)
    numbers = g.input("numbers", [batch, NUMBERS])
    categories = g.input("categories", [TABLES, batch], "int64")
    dense = perceptron(g, "bottom", numbers, BOTTOM)
    unit = g.constant([1], "int64")
    vectors = [g.op("Unsqueeze", dense, unit)]
    for table in range(TABLES):
        rows = g.op("Gather", categories, g.constant(table, "int64"), axis=0)
        weight = g.normal(f"embedding.{table}", (ROWS, WIDTH), math.sqrt(1 / WIDTH))
        vectors.append(g.op("Unsqueeze", g.op("Gather", weight, rows, axis=0), unit))
    products = pairs(g, g.op("Concat", *vectors, axis=1), batch)
    x = perceptron(g, "top", g.op("Concat", dense, products, axis=1), TOP)
    g.op("Sigmoid", x, name="output")
    g.output("output", [batch, 1])
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {
        "numbers": rng.standard_normal((batch, NUMBERS), dtype=np.float32),
        "categories": rng.integers(0, ROWS, (TABLES, batch)),
    }
