"""Pieces of transformer blocks shared by the language networks."""

from __future__ import annotations

import math

from graph_writer import GraphWriter


def embedding(g: GraphWriter, name: str, rows: int, width: int, indices: str) -> str:
    """A random table and the Gather that looks `indices` up in it."""
    return g.op("Gather", g.normal(name, (rows, width), 0.5), indices, axis=0)


def linear(g: GraphWriter, name: str, x: str, ins: int, outs: int, gain: float = 1.0) -> str:
    """MatMul + Add, as exporters write a Linear layer on a tensor of three dimensions."""
    weight = g.normal(f"{name}.weight", (ins, outs), gain * math.sqrt(1 / ins))
    bias = g.normal(f"{name}.bias", (outs,), 0.05)
    return g.op("Add", bias, g.op("MatMul", x, weight))


def norm_parameters(g: GraphWriter, name: str, width: int) -> tuple[str, str]:
    """Scale and bias of a layer normalisation, near one and zero."""
    scale = g.normal(f"{name}.weight", (width,), 0.1, mean=1.0)
    return scale, g.normal(f"{name}.bias", (width,), 0.1)


def reshape(g: GraphWriter, x: str, shape: list[int], name: str | None = None) -> str:
    return g.op("Reshape", x, g.constant(shape, "int64"), name=name)


def split_heads(g: GraphWriter, x: str, heads: int, tokens: int, width: int) -> str:
    """[1, tokens, width] to [1, heads, tokens, width / heads]."""
    x = reshape(g, x, [1, tokens, heads, width // heads])
    return g.op("Transpose", x, perm=[0, 2, 1, 3])


def merge_heads(g: GraphWriter, x: str, tokens: int, width: int) -> str:
    """[1, heads, tokens, width / heads] to [1, tokens, width]."""
    return reshape(g, g.op("Transpose", x, perm=[0, 2, 1, 3]), [1, tokens, width])
