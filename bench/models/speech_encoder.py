"""A small speech encoder in the manner of Whisper tiny: 80 mel bands, 1000 frames (10 seconds).

Two one-dimensional convolutions, the second of stride 2, then four blocks of width 384.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter
from transformer_layers import encoder_block, gelu, norm_parameters

LAYERS, HEADS, WIDTH, BANDS, FRAMES = 4, 6, 384, 80, 1000
TOKENS = FRAMES // 2


def conv(g: GraphWriter, name: str, x: str, ins: int, stride: int) -> str:
    weight = g.normal(f"{name}.weight", (WIDTH, ins, 3), math.sqrt(2 / (3 * ins)))
    bias = g.normal(f"{name}.bias", (WIDTH,), 0.1)
    return gelu(g, g.op("Conv", x, weight, bias, kernel_shape=[3], pads=[1, 1], strides=[stride]))


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("speech_encoder", seed=80)
    x = g.input("mel", [batch, BANDS, FRAMES])
    x = conv(g, "conv2", conv(g, "conv1", x, BANDS, 1), WIDTH, 2)
    x = g.op("Transpose", x, perm=[0, 2, 1])
    x = g.op("Add", x, g.normal("positions", (TOKENS, WIDTH), 0.2))
    for layer in range(LAYERS):
        x = encoder_block(g, f"blocks.{layer}", x, (batch, TOKENS, WIDTH), HEADS)
    scale, bias = norm_parameters(g, "norm", WIDTH)
    g.op("LayerNormalization", x, scale, bias, name="output", axis=-1, epsilon=1e-5)
    g.output("output", [batch, TOKENS, WIDTH])
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"mel": rng.standard_normal((batch, BANDS, FRAMES), dtype=np.float32)}
