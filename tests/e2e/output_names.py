#!/usr/bin/env python3
"""Outputs keep their names and values, whatever fusion and layout did to their producers.

Every value of a small convolutional graph is an output, together and alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
from report import Report, scratch_folder

from harness.agreement import error_against, onnxruntime_outputs
from harness.sluice_cli import compile_model
from random_graphs.case import Case, Value


def build(wanted: int | None) -> Case:
    """The graph with all its values as outputs, or only number `wanted`."""
    case = Case("outputs", seed=7)
    x = case.input((1, 24, 9, 9))
    values: list[Value] = []

    def keep(value: Value) -> Value:
        values.append(value)
        return value

    shape = (1, 32, 9, 9)
    weight = case.weight((32, 24, 3, 3))
    first = keep(case.op("Conv", shape, x, weight, pads=[1, 1, 1, 1], kernel_shape=[3, 3]))
    first = keep(case.op("Relu", shape, first))
    weight = case.weight((32, 32, 1, 1))
    second = keep(case.op("Conv", shape, first, weight, kernel_shape=[1, 1]))
    total = keep(case.op("Add", shape, first, second))
    keep(case.op("MaxPool", (1, 32, 4, 4), total, kernel_shape=[2, 2], strides=[2, 2]))
    for value in values if wanted is None else [values[wanted]]:
        case.writer.output(value.name, value.shape)
    return case


def error_of(wanted: int | None, folder: Path) -> float:
    case = build(wanted)
    path = folder / "model.onnx"
    onnx.save_model(case.writer.model(), path)
    package = compile_model(path, folder / "model.sluice")
    return error_against(package, case.feeds, onnxruntime_outputs(path, case.feeds))


def main() -> int:
    report = Report()
    for wanted in (None, *range(5)):
        with scratch_folder() as folder:
            name = "all values" if wanted is None else f"value {wanted} alone"
            report.case(name, lambda: error_of(wanted, Path(folder)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
