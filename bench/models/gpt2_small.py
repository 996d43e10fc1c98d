"""GPT-2 small decoding one token, with the keys and values of 256 earlier ones; or its prompt of 128 tokens.

Linear layers are Gemm on two dimensions, the GELU is the tanh form, layer normalisation is the
operator of opset 17.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter
from transformer_layers import embedding, merge_heads, norm_parameters, reshape, split_heads

LAYERS, HEADS, WIDTH, INNER, PAST, VOCABULARY = 12, 12, 768, 3072, 256, 50257
PROMPT = 128
HEAD_WIDTH = WIDTH // HEADS
LOWEST = float(np.finfo(np.float32).min)


def layer_norm(g: GraphWriter, name: str, x: str) -> str:
    scale, bias = norm_parameters(g, name, WIDTH)
    return g.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)


def linear(g: GraphWriter, name: str, x: str, shape: tuple[int, int, int], outs: int) -> str:
    """`x` has `shape` [batch, tokens, ins]; the result is [batch, tokens, outs]."""
    batch, tokens, ins = shape
    weight = g.normal(f"{name}.weight", (ins, outs), math.sqrt(1 / ins))
    bias = g.normal(f"{name}.bias", (outs,), 0.05)
    y = g.op("Gemm", reshape(g, x, [-1, ins]), weight, bias, alpha=1.0, beta=1.0)
    return reshape(g, y, [batch, tokens, outs])


def gelu_tanh(g: GraphWriter, x: str) -> str:
    cubed = g.op("Mul", g.op("Pow", x, g.constant(3.0, "float32")), g.constant(0.044715, "float32"))
    inner = g.op("Mul", g.op("Add", x, cubed), g.constant(math.sqrt(2 / math.pi), "float32"))
    gate = g.op("Add", g.op("Tanh", inner), g.constant(1.0, "float32"))
    return g.op("Mul", g.op("Mul", x, g.constant(0.5, "float32")), gate)


def extend_cache(g: GraphWriter, layer: int, part: str, batch: int, new: str) -> str:
    """Appends this token's keys or values to the cached ones; the result is a graph output."""
    past = g.input(f"past_key_values.{layer}.{part}", [batch, HEADS, PAST, HEAD_WIDTH])
    g.output(f"present.{layer}.{part}", [batch, HEADS, PAST + 1, HEAD_WIDTH])
    return g.op("Concat", past, new, name=f"present.{layer}.{part}", axis=-2)


def seen_places(g: GraphWriter, tokens: int) -> str:
    """Which keys each of the tokens sees: all of the cache for one token, no later ones in a prompt."""
    seen = np.ones((1, 1, 1, PAST + 1)) if tokens == 1 else np.tril(np.ones((1, 1, tokens, tokens)))
    return g.constant(seen, "bool")


def attention(g: GraphWriter, layer: int, x: str, shape: tuple[int, int, int]) -> str:
    batch, tokens, _ = shape
    joined = linear(g, f"h.{layer}.attn.c_attn", x, shape, 3 * WIDTH)
    names = [f"h.{layer}.attn.{part}" for part in ("query", "key", "value")]
    sizes = g.constant([WIDTH] * 3, "int64")
    parts = g.multi_op("Split", joined, sizes, names=names, axis=2)
    query, key, value = (split_heads(g, part, shape, HEADS) for part in parts)
    if tokens == 1:
        key = extend_cache(g, layer, "key", batch, key)
        value = extend_cache(g, layer, "value", batch, value)
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g.op("Div", scores, g.constant(math.sqrt(HEAD_WIDTH), "float32"))
    scores = g.op("Where", seen_places(g, tokens), scores, g.constant(LOWEST, "float32"))
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    joined = merge_heads(g, mixed, shape)
    return linear(g, f"h.{layer}.attn.c_proj", joined, shape, WIDTH)


def block(g: GraphWriter, layer: int, x: str, shape: tuple[int, int, int]) -> str:
    name = f"h.{layer}"
    x = g.op("Add", attention(g, layer, layer_norm(g, f"{name}.ln_1", x), shape), x)
    normal = layer_norm(g, f"{name}.ln_2", x)
    inner = gelu_tanh(g, linear(g, f"{name}.mlp.c_fc", normal, shape, INNER))
    return g.op("Add", x, linear(g, f"{name}.mlp.c_proj", inner, (*shape[:2], INNER), WIDTH))


def build(batch: int = 1, tokens: int = 1) -> onnx.ModelProto:
    """More than one token are a prompt, without a cache."""
    g = GraphWriter("gpt2_small", seed=124)
    input_ids = g.input("input_ids", [batch, tokens], "int64")
    g.output("logits", [batch, tokens, VOCABULARY])
    words = embedding(g, "wte", VOCABULARY, WIDTH, input_ids)
    first = PAST if tokens == 1 else 0
    places = embedding(g, "wpe", 1024, WIDTH, g.constant([list(range(first, first + tokens))], "int64"))
    x = g.op("Add", words, places)
    for layer in range(LAYERS):
        x = block(g, layer, x, (batch, tokens, WIDTH))
    head = g.normal("lm_head.weight", (WIDTH, VOCABULARY), math.sqrt(1 / WIDTH))
    g.op("MatMul", layer_norm(g, "ln_f", x), head, name="logits")
    return g.model()


def build_prompt() -> onnx.ModelProto:
    return build(tokens=PROMPT)


def prompt_inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"input_ids": rng.integers(0, VOCABULARY, (1, PROMPT))}


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    feeds: dict[str, np.ndarray] = {"input_ids": rng.integers(0, VOCABULARY, (batch, 1))}
    for layer in range(LAYERS):
        for part in ("key", "value"):
            cache = rng.standard_normal((batch, HEADS, PAST, HEAD_WIDTH), dtype=np.float32)
            feeds[f"past_key_values.{layer}.{part}"] = cache
    return feeds
