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


def split_heads(g: GraphWriter, x: str, shape: tuple[int, int, int], heads: int) -> str:
    """`shape` [batch, tokens, width] to [batch, heads, tokens, width / heads]."""
    batch, tokens, width = shape
    x = reshape(g, x, [batch, tokens, heads, width // heads])
    return g.op("Transpose", x, perm=[0, 2, 1, 3])


def merge_heads(g: GraphWriter, x: str, shape: tuple[int, int, int]) -> str:
    """[batch, heads, tokens, width / heads] to `shape` [batch, tokens, width]."""
    return reshape(g, g.op("Transpose", x, perm=[0, 2, 1, 3]), list(shape))


def self_attention(
    g: GraphWriter,
    name: str,
    x: str,
    shape: tuple[int, int, int],
    heads: int,
    bias: str | None = None,
) -> str:
    """Projections, softmax of scaled products (plus `bias`), and the output projection."""
    width = shape[2]
    # The gains make attention choose; near-uniform weights would make all tokens alike.
    query, key, value = (
        split_heads(g, linear(g, f"{name}.{part}", x, width, width, gain), shape, heads)
        for part, gain in (("query", 2.0), ("key", 2.0), ("value", 1.0))
    )
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g.op("Div", scores, g.constant(math.sqrt(width // heads), "float32"))
    if bias is not None:
        scores = g.op("Add", scores, bias)
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    return linear(g, f"{name}.output", merge_heads(g, mixed, shape), width, width)


def gelu(g: GraphWriter, x: str) -> str:
    """The exact form, in elementary operators."""
    erf = g.op("Erf", g.op("Div", x, g.constant(math.sqrt(2.0), "float32")))
    gated = g.op("Mul", x, g.op("Add", erf, g.constant(1.0, "float32")))
    return g.op("Mul", gated, g.constant(0.5, "float32"))


def encoder_block(
    g: GraphWriter, name: str, x: str, shape: tuple[int, int, int], heads: int
) -> str:
    """Attention and a perceptron of four times the width, each normalised before it and added."""
    width = shape[2]

    def normal(part: str, y: str) -> str:
        scale, bias = norm_parameters(g, f"{name}.{part}", width)
        return g.op("LayerNormalization", y, scale, bias, axis=-1, epsilon=1e-6)

    x = g.op("Add", x, self_attention(g, f"{name}.attn", normal("norm1", x), shape, heads))
    inner = gelu(g, linear(g, f"{name}.mlp.fc1", normal("norm2", x), width, 4 * width))
    return g.op("Add", x, linear(g, f"{name}.mlp.fc2", inner, 4 * width, width))
