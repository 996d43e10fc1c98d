"""Convolution blocks shared by the image networks."""

from __future__ import annotations

import math

import numpy as np
from graph_writer import GraphWriter


def image(rng: np.random.Generator, batch: int = 1, size: int = 224) -> np.ndarray:
    """Batch x3xSIZExSIZE noise with structure at two scales, so that pooling does not average it
    away."""
    fine = rng.standard_normal((batch, 3, size, size), dtype=np.float32)
    coarse = rng.standard_normal((batch, 3, size // 32, size // 32), dtype=np.float32)
    return 0.5 * fine + coarse.repeat(32, axis=2).repeat(32, axis=3)


def filters(g: GraphWriter, name: str, shape: tuple[int, int, int, int]) -> str:
    """He-scaled weights; dense filters sum to zero.

    The scale keeps the second moment of a ReLU network. The zero sum keeps the mean that a ReLU
    leaves from growing layer by layer until it hides the input.
    """
    fan_in = shape[1] * shape[2] * shape[3]
    values = g.rng.standard_normal(shape, dtype=np.float32) * np.float32(math.sqrt(2 / fan_in))
    if shape[1] > 1:
        values -= values.mean(axis=(1, 2, 3), keepdims=True)
    return g.weight(name, values)


def conv_bn(
    g: GraphWriter,
    name: str,
    x: str,
    channels: tuple[int, int],
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    gain: float = 1.0,
) -> str:
    """Conv without bias followed by BatchNormalization, left apart as trained.

    `gain` multiplies the normalisation's scale, for branches that are added to a shortcut.
    """
    ins, outs = channels
    pad = kernel // 2
    weight = filters(g, f"{name}.conv.weight", (outs, ins // groups, kernel, kernel))
    y = g.op(
        "Conv",
        x,
        weight,
        dilations=[1, 1],
        group=groups,
        kernel_shape=[kernel, kernel],
        pads=[pad, pad, pad, pad],
        strides=[stride, stride],
    )
    return g.op(
        "BatchNormalization",
        y,
        g.normal(f"{name}.bn.weight", (outs,), 0.1 * gain, mean=gain),
        g.normal(f"{name}.bn.bias", (outs,), 0.2),
        g.normal(f"{name}.bn.running_mean", (outs,), 0.2),
        g.uniform(f"{name}.bn.running_var", (outs,), 0.7, 1.3),
        epsilon=1e-5,
        momentum=0.9,
    )


def silu(g: GraphWriter, x: str) -> str:
    return g.op("Mul", x, g.op("Sigmoid", x))


def classifier(g: GraphWriter, x: str, batch: int, features: int, classes: int) -> None:
    """Global average pool, Flatten and Gemm into the graph's output "output"."""
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    weight = g.normal("fc.weight", (classes, features), math.sqrt(1 / features))
    bias = g.normal("fc.bias", (classes,), 0.1)
    g.op("Gemm", x, weight, bias, name="output", alpha=1.0, beta=1.0, transB=1)
    g.output("output", [batch, classes])
