"""ViT-B/16, 3x224x224: patches of 16x16, a class token, twelve blocks normalised before."""

from __future__ import annotations

import math

import numpy as np
import onnx
from conv_layers import image
from graph_writer import GraphWriter
from transformer_layers import encoder_block, norm_parameters

LAYERS, HEADS, WIDTH, PATCH, CLASSES = 12, 12, 768, 16, 1000
PATCHES = (224 // PATCH) ** 2


def patches(g: GraphWriter, x: str, batch: int) -> str:
    """[batch, 3, 224, 224] to [batch, 1 + patches, width], positions added."""
    fan_in = 3 * PATCH * PATCH
    weight = g.normal("patch.weight", (WIDTH, 3, PATCH, PATCH), math.sqrt(1 / fan_in))
    bias = g.normal("patch.bias", (WIDTH,), 0.05)
    x = g.op("Conv", x, weight, bias, kernel_shape=[PATCH] * 2, strides=[PATCH] * 2)
    x = g.op("Reshape", x, g.constant([batch, WIDTH, PATCHES], "int64"))
    x = g.op("Transpose", x, perm=[0, 2, 1])
    token = g.weight("class_token", g.rng.standard_normal((1, 1, WIDTH), dtype=np.float32))
    token = g.op("Expand", token, g.constant([batch, 1, WIDTH], "int64"))
    return g.op("Add", g.op("Concat", token, x, axis=1),
                g.normal("positions", (1, 1 + PATCHES, WIDTH), 0.2))


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("vit_b16", seed=61)
    x = patches(g, g.input("input", [batch, 3, 224, 224]), batch)
    for layer in range(LAYERS):
        x = encoder_block(g, f"blocks.{layer}", x, (batch, 1 + PATCHES, WIDTH), HEADS)
    scale, bias = norm_parameters(g, "norm", WIDTH)
    x = g.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-6)
    x = g.op("Gather", x, g.constant(0, "int64"), axis=1)
    weight = g.normal("head.weight", (CLASSES, WIDTH), math.sqrt(1 / WIDTH))
    g.op("Gemm", x, weight, g.normal("head.bias", (CLASSES,), 0.1), name="output", transB=1)
    g.output("output", [batch, CLASSES])
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"input": image(rng, batch)}
