"""BERT-base, sequence 128, as an exporter without fused operators writes it.

Layer normalisation and GELU are spelled out in elementary operators.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter
from transformer_layers import embedding, gelu, linear, norm_parameters, self_attention

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


def embeddings(g: GraphWriter, input_ids: str, token_types: str) -> str:
    words = embedding(g, "embeddings.word", VOCABULARY, WIDTH, input_ids)
    types = embedding(g, "embeddings.token_type", 2, WIDTH, token_types)
    positions = g.constant(np.arange(TOKENS).reshape(1, TOKENS), "int64")
    places = embedding(g, "embeddings.position", 512, WIDTH, positions)
    return layer_norm(g, "embeddings.norm", g.op("Add", g.op("Add", words, types), places))


def mask_bias(g: GraphWriter, mask: str) -> str:
    """[batch, tokens] of 0 and 1 to what is added to the scores: the lowest float where 0."""
    mask = g.op("Unsqueeze", mask, g.constant([1], "int64"))
    mask = g.op("Unsqueeze", mask, g.constant([2], "int64"))
    mask = g.op("Cast", mask, to=onnx.TensorProto.FLOAT)
    hidden = g.op("Sub", g.constant(1.0, "float32"), mask)
    return g.op("Mul", hidden, g.constant(LOWEST, "float32"))


def block(
    g: GraphWriter, name: str, x: str, batch: int, bias: str, output: str | None
) -> str:
    shape = (batch, TOKENS, WIDTH)
    attended = g.op("Add", self_attention(g, f"{name}.attention", x, shape, HEADS, bias), x)
    x = layer_norm(g, f"{name}.attention.norm", attended)
    inner = gelu(g, linear(g, f"{name}.intermediate", x, WIDTH, INNER))
    y = g.op("Add", linear(g, f"{name}.output", inner, INNER, WIDTH), x)
    return layer_norm(g, f"{name}.output.norm", y, output)


def pooler(g: GraphWriter, x: str) -> None:
    first = g.op("Gather", x, g.constant(0, "int64"), axis=1)
    weight = g.normal("pooler.weight", (WIDTH, WIDTH), math.sqrt(1 / WIDTH))
    bias = g.normal("pooler.bias", (WIDTH,), 0.05)
    g.op("Tanh", g.op("Gemm", first, weight, bias, transB=1), name="pooler_output")


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("bert_base", seed=12)
    input_ids = g.input("input_ids", [batch, TOKENS], "int64")
    mask = g.input("attention_mask", [batch, TOKENS], "int64")
    token_types = g.input("token_type_ids", [batch, TOKENS], "int64")
    bias = mask_bias(g, mask)
    x = embeddings(g, input_ids, token_types)
    for layer in range(LAYERS):
        output = "last_hidden_state" if layer == LAYERS - 1 else None
        x = block(g, f"encoder.{layer}", x, batch, bias, output)
    pooler(g, x)
    g.output("last_hidden_state", [batch, TOKENS, WIDTH])
    g.output("pooler_output", [batch, WIDTH])
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    """Two sentences and some padding."""
    sentence, padding = TOKENS // 2, 16
    mask = np.ones((batch, TOKENS), np.int64)
    mask[:, TOKENS - padding :] = 0
    types = np.zeros((batch, TOKENS), np.int64)
    types[:, sentence : TOKENS - padding] = 1
    return {
        "input_ids": rng.integers(0, VOCABULARY, (batch, TOKENS)),
        "attention_mask": mask,
        "token_type_ids": types,
    }
