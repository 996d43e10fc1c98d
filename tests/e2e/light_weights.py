"""Gives a "light" model seeded random weights in place of its constant ones.

The light models of the onnx package keep the structure of a real network and make every weight
0.02, so nearly all their published outputs are uniform. With random weights a wrong kernel shows.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
from onnx import numpy_helper

Use = tuple[onnx.NodeProto, int]  # a consumer, and which of its inputs


def uses_of(graph: onnx.GraphProto) -> dict[str, Use]:
    """For each value its last consumer, seen through the Unsqueeze or Reshape of a weight."""
    uses = {name: (node, k) for node in graph.node for k, name in enumerate(node.input)}
    for name, (node, k) in list(uses.items()):
        if node.op_type in ("Unsqueeze", "Reshape") and k == 0 and node.output[0] in uses:
            uses[name] = uses[node.output[0]]
    return uses


def weight_for(use: Use, shape: list[int], rng: np.random.Generator) -> np.ndarray:
    """Values of a size that keeps activations near one."""
    node, k = use
    kind = node.op_type
    noise = rng.standard_normal(shape, dtype=np.float32)
    if kind == "Conv" and k == 1:
        noise *= np.float32(math.sqrt(2 / math.prod(shape[1:])))
        return noise - noise.mean(axis=(1, 2, 3), keepdims=True) if shape[1] > 1 else noise
    if len(shape) > 1:
        return noise * np.float32(math.sqrt(1 / max(shape)))
    if kind == "BatchNormalization" and k == 4:
        return rng.uniform(0.7, 1.3, shape).astype(np.float32)
    around_one = kind == "Mul" or (kind == "BatchNormalization" and k == 1)
    return np.float32(0.1) * noise + np.float32(around_one)


def expose_logits(graph: onnx.GraphProto) -> None:
    """Makes the input of a final Softmax an output too: random logits may saturate it."""
    last = graph.node[-1]
    if last.op_type == "Softmax":
        graph.output.append(onnx.helper.make_empty_tensor_value_info(last.input[0]))


def randomise(model: onnx.ModelProto, seed: int) -> None:
    """Replaces each ConstantOfShape by an initialiser, and exposes the logits."""
    rng = np.random.default_rng(seed)
    graph = model.graph
    uses = uses_of(graph)
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        name = node.output[0]
        values = weight_for(uses[name], shapes[node.input[0]].tolist(), rng)
        graph.initializer.append(numpy_helper.from_array(values, name))
    del graph.node[:]
    graph.node.extend(kept)
    expose_logits(graph)
