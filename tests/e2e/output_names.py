#!/usr/bin/env python3
"""Outputs keep their names and values, whatever fusion and layout did to their producers.

Every value of a small convolutional graph is an output, together and alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from report import Report, scratch_folder

from harness.agreement import error_against, onnxruntime_outputs
from harness.sluice_cli import compile_model
from models.graph_writer import GraphWriter


def build(wanted: int | None) -> onnx.ModelProto:
    """The graph with all its values as outputs, or only number `wanted`."""
    graph = GraphWriter("outputs", seed=7)
    shape = (1, 32, 9, 9)
    weight = graph.normal("w1", (32, 24, 3, 3), std=0.1)
    image = graph.input("image", (1, 24, 9, 9))
    convolved = graph.op("Conv", image, weight, pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    rectified = graph.op("Relu", convolved)
    weight = graph.normal("w2", (32, 32, 1, 1), std=0.1)
    mixed = graph.op("Conv", rectified, weight, kernel_shape=[1, 1])
    total = graph.op("Add", rectified, mixed)
    pooled = graph.op("MaxPool", total, kernel_shape=[2, 2], strides=[2, 2])
    values = [(name, shape) for name in (convolved, rectified, mixed, total)]
    values.append((pooled, (1, 32, 4, 4)))
    for name, shape in values if wanted is None else [values[wanted]]:
        graph.output(name, shape)
    return graph.model()


def error_of(wanted: int | None, folder: Path) -> float:
    path = folder / "model.onnx"
    onnx.save_model(build(wanted), path)
    package = compile_model(path, folder / "model.sluice")
    image = np.random.default_rng(7).standard_normal((1, 24, 9, 9), dtype=np.float32)
    feeds = {"image": image}
    return error_against(package, feeds, onnxruntime_outputs(path, feeds))


def main() -> int:
    report = Report()
    for wanted in (None, *range(5)):
        with scratch_folder() as folder:
            name = "all values" if wanted is None else f"value {wanted} alone"
            report.case(name, lambda: error_of(wanted, Path(folder)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
