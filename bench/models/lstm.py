"""Two-layer LSTM over 100 steps of 128 features, hidden 512, and a Gemm head."""

from __future__ import annotations

import math

import numpy as np
import onnx
from graph_writer import GraphWriter

STEPS, FEATURES, HIDDEN, CLASSES = 100, 128, 512, 64
GATES = 4


def lstm_layer(g: GraphWriter, layer: int, x: str, batch: int, ins: int) -> str:
    """One forward LSTM from [steps, batch, ins] to [steps, batch, hidden]."""
    std = math.sqrt(1 / HIDDEN)
    zero_state = np.zeros((1, batch, HIDDEN), np.float32)
    states, _, _ = g.multi_op(
        "LSTM",
        x,
        g.normal(f"lstm.{layer}.W", (1, GATES * HIDDEN, ins), math.sqrt(1 / ins)),
        g.normal(f"lstm.{layer}.R", (1, GATES * HIDDEN, HIDDEN), std),
        g.normal(f"lstm.{layer}.B", (1, 2 * GATES * HIDDEN), 0.1),
        "",
        g.weight(f"lstm.{layer}.initial_h", zero_state),
        g.weight(f"lstm.{layer}.initial_c", zero_state),
        names=[f"lstm.{layer}.{part}" for part in ("Y", "Y_h", "Y_c")],
        hidden_size=HIDDEN,
    )
    return g.op("Squeeze", states, g.constant([1], "int64"))


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("lstm", seed=100)
    x = g.input("input", [STEPS, batch, FEATURES])
    x = lstm_layer(g, 0, x, batch, FEATURES)
    x = lstm_layer(g, 1, x, batch, HIDDEN)
    last = g.op("Gather", x, g.constant(-1, "int64"), axis=0)
    weight = g.normal("head.weight", (CLASSES, HIDDEN), math.sqrt(1 / HIDDEN))
    bias = g.normal("head.bias", (CLASSES,), 0.1)
    g.op("Gemm", last, weight, bias, name="output", transB=1)
    g.output("output", [batch, CLASSES])
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"input": rng.standard_normal((STEPS, batch, FEATURES), dtype=np.float32)}
