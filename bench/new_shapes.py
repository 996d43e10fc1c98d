#!/usr/bin/env python3
"""What a run of a new shape costs beside one of a known shape, on small decoders whose past grows.

Each step of a generation has a past that is one row longer. The first generation plans every step,
the second one of the same lengths finds the recordings of the first. Rounds are interleaved: a
length never seen, then a length of the round before. Prints medians, and their ratio.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from onnx import helper as h
from onnx import numpy_helper as nh

import sluice


def decoder(layers: int, width: int, heads: int) -> bytes:
    """One token in, its logits and the longer past out; per layer attention and two products."""
    random = np.random.default_rng(0)
    nodes, constants, inputs, outputs = [], [], [], []

    def weight(name: str, *shape: int) -> str:
        values = random.standard_normal(shape).astype(np.float32) * 0.05
        constants.append(nh.from_array(values, name))
        return name

    def node(kind: str, names: list[str], result: str, **attributes: object) -> str:
        nodes.append(h.make_node(kind, names, [result], **attributes))
        return result

    size = width // heads
    constants.append(nh.from_array(np.array([0, 1, heads, size], np.int64), "split"))
    constants.append(nh.from_array(np.array([0, 1, width], np.int64), "join"))
    constants.append(nh.from_array(np.array(size**-0.5, np.float32), "scale"))
    state = "x"
    inputs.append(h.make_tensor_value_info("x", 1, [1, 1, width]))
    for i in range(layers):
        normal = node("LayerNormalization", [state, weight(f"g{i}", width), weight(f"b{i}", width)], f"n{i}")
        parts = {}
        for part in "qkv":
            flat = node("MatMul", [normal, weight(f"w{part}{i}", width, width)], f"{part}f{i}")
            rows = node("Reshape", [flat, "split"], f"{part}r{i}")
            parts[part] = node("Transpose", [rows], f"{part}{i}", perm=[0, 2, 1, 3])
        for part in "kv":
            past = f"past_{part}{i}"
            inputs.append(h.make_tensor_value_info(past, 1, [1, heads, "past", size]))
            whole = node("Concat", [past, parts[part]], f"present_{part}{i}", axis=2)
            outputs.append(h.make_tensor_value_info(whole, 1, [1, heads, "present", size]))
            parts[part] = whole
        turned = node("Transpose", [parts["k"]], f"kt{i}", perm=[0, 1, 3, 2])
        scores = node("Mul", [node("MatMul", [parts["q"], turned], f"s{i}"), "scale"], f"ss{i}")
        mixed = node("MatMul", [node("Softmax", [scores], f"p{i}", axis=-1), parts["v"]], f"m{i}")
        rows = node("Reshape", [node("Transpose", [mixed], f"mt{i}", perm=[0, 2, 1, 3]), "join"], f"mj{i}")
        summed = node("Add", [state, node("MatMul", [rows, weight(f"wo{i}", width, width)], f"o{i}")], f"r{i}")
        wide = node("MatMul", [summed, weight(f"w1{i}", width, 4 * width)], f"h{i}")
        narrow = node("MatMul", [node("Relu", [wide], f"a{i}"), weight(f"w2{i}", 4 * width, width)], f"f{i}")
        state = node("Add", [summed, narrow], f"x{i + 1}")
    outputs.insert(0, h.make_tensor_value_info(state, 1, [1, 1, width]))
    graph = h.make_graph(nodes, "decoder", inputs, outputs, constants)
    return h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", 20)]).SerializeToString()


class Generation:
    """Runs of a decoder with pasts of given lengths."""

    def __init__(self, layers: int, width: int, heads: int, threads: int) -> None:
        self.model = sluice.compile(decoder(layers, width, heads), progress=False, threads=threads)
        self.x = np.ones((1, 1, width), np.float32)
        self.names = [spec.name for spec in self.model.inputs if spec.name != "x"]
        self.shape = (1, heads, 0, width // heads)

    def seconds(self, length: int) -> float:
        past = np.zeros((*self.shape[:2], length, self.shape[3]), np.float32)
        feeds = {"x": self.x} | {name: past for name in self.names}
        start = time.perf_counter()
        self.model.run(feeds)
        return time.perf_counter() - start


def measure(arguments: argparse.Namespace, layers: int, width: int) -> tuple[float, float, float]:
    """Median us of a new and of a known shape, and the median of the rounds' ratios."""
    generation = Generation(layers, width, arguments.heads, arguments.threads)
    for length in range(1, 9):  # warm-up: memory, clocks
        generation.seconds(length)
    new, known = [], []
    for length in range(9, 9 + arguments.rounds):
        new.append(generation.seconds(length))
        known.append(generation.seconds(length - 1))
    ratio = statistics.median(a / b for a, b in zip(new, known, strict=True))
    return statistics.median(new) * 1e6, statistics.median(known) * 1e6, ratio


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=400, help="tokens (default: 400)")
    arguments = parser.parse_args()
    print(f"{'layers':>8}{'width':>8}{'new us':>12}{'known us':>12}{'ratio':>8}")
    for layers, width in ((2, 64), (4, 128), (8, 256)):
        new, known, ratio = measure(arguments, layers, width)
        print(f"{layers:8}{width:8}{new:12.1f}{known:12.1f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
