"""BERT-base, batch 1, sequence 128, as an exporter without fused operators writes it.

Layer normalisation and GELU are spelled out in elementary operators.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter
from transformer_layers import embedding, linear, merge_heads, norm_parameters, split_heads

LAYERS, HEADS, WIDTH, INNER, TOKENS, VOCABULARY = 12, 12, 768, 3072, 128, 30522
LOWEST = float(np.finfo(np.float32).min)


def layer_norm(g: GraphWriter, name: str, x: str, output: str | None = None) -> str:
    scale, bias = norm_parameters(g, name, WIDTH)
    centred = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1]))
    squared = g.op("Pow", centred, g.constant(2.0, "float32"))
    variance = g.op("ReduceMean", squared, axes=[-1])
    deviation = g.op("Sqrt", g.op("Add", variance, g.constant(1e-12, "float32")))
    normal = g.op("Div", centred, deviation)
    return g.op("Add", g.op("Mul", normal, scale), bias, name=output)


def gelu(g: GraphWriter, x: str) -> str:
    erf = g.op("Erf", g.op("Div", x, g.constant(math.sqrt(2.0), "float32")))
    gated = g.op("Mul", x, g.op("Add", erf, g.constant(1.0, "float32")))
    return g.op("Mul", gated, g.constant(0.5, "float32"))


def embeddings(g: GraphWriter, input_ids: str, token_types: str) -> str:
    words = embedding(g, "embeddings.word", VOCABULARY, WIDTH, input_ids)
    types = embedding(g, "embeddings.token_type", 2, WIDTH, token_types)
    positions = g.constant(np.arange(TOKENS).reshape(1, TOKENS), "int64")
    places = embedding(g, "embeddings.position", 512, WIDTH, positions)
    return layer_norm(g, "embeddings.norm", g.op("Add", g.op("Add", words, types), places))


def mask_bias(g: GraphWriter, mask: str) -> str:
    """[1, tokens] of 0 and 1 to what is added to the scores: the lowest float where 0."""
    mask = g.op("Unsqueeze", mask, g.constant([1], "int64"))
    mask = g.op("Unsqueeze", mask, g.constant([2], "int64"))
    mask = g.op("Cast", mask, to=onnx.TensorProto.FLOAT)
    hidden = g.op("Sub", g.constant(1.0, "float32"), mask)
    return g.op("Mul", hidden, g.constant(LOWEST, "float32"))


def attention(g: GraphWriter, name: str, x: str, bias: str) -> str:
    # The gains make attention choose; near-uniform weights would make all tokens alike.
    query, key, value = (
        split_heads(g, linear(g, f"{name}.{part}", x, WIDTH, WIDTH, gain), HEADS, TOKENS, WIDTH)
        for part, gain in (("query", 2.0), ("key", 2.0), ("value", 1.0))
    )
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g.op("Div", scores, g.constant(math.sqrt(WIDTH // HEADS), "float32"))
    weights = g.op("Softmax", g.op("Add", scores, bias), axis=-1)
    mixed = merge_heads(g, g.op("MatMul", weights, value), TOKENS, WIDTH)
    return linear(g, f"{name}.output", mixed, WIDTH, WIDTH)


def block(g: GraphWriter, name: str, x: str, bias: str, output: str | None) -> str:
    attended = g.op("Add", attention(g, f"{name}.attention", x, bias), x)
    x = layer_norm(g, f"{name}.attention.norm", attended)
    inner = gelu(g, linear(g, f"{name}.intermediate", x, WIDTH, INNER))
    y = g.op("Add", linear(g, f"{name}.output", inner, INNER, WIDTH), x)
    return layer_norm(g, f"{name}.output.norm", y, output)


def pooler(g: GraphWriter, x: str) -> None:
    first = g.op("Gather", x, g.constant(0, "int64"), axis=1)
    weight = g.normal("pooler.weight", (WIDTH, WIDTH), math.sqrt(1 / WIDTH))
    bias = g.normal("pooler.bias", (WIDTH,), 0.05)
    g.op("Tanh", g.op("Gemm", first, weight, bias, transB=1), name="pooler_output")


def build() -> onnx.ModelProto:
    g = GraphWriter("bert_base", seed=12)
    input_ids = g.input("input_ids", [1, TOKENS], "int64")
    mask = g.input("attention_mask", [1, TOKENS], "int64")
    token_types = g.input("token_type_ids", [1, TOKENS], "int64")
    bias = mask_bias(g, mask)
    x = embeddings(g, input_ids, token_types)
    for layer in range(LAYERS):
        output = "last_hidden_state" if layer == LAYERS - 1 else None
        x = block(g, f"encoder.{layer}", x, bias, output)
    pooler(g, x)
    g.output("last_hidden_state", [1, TOKENS, WIDTH])
    g.output("pooler_output", [1, WIDTH])
    return g.model()


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two sentences and some padding."""
    sentence, padding = TOKENS // 2, 16
    mask = np.ones((1, TOKENS), np.int64)
    mask[:, TOKENS - padding :] = 0
    types = np.zeros((1, TOKENS), np.int64)
    types[:, sentence : TOKENS - padding] = 1
    return {
        "input_ids": rng.integers(0, VOCABULARY, (1, TOKENS)),
        "attention_mask": mask,
        "token_type_ids": types,
    }
