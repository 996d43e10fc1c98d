#!/usr/bin/env python3
"""`sluice compile --strassen`: what it computes, and what it costs, is the package's own affair."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from report import first_wrong_refusal, run_cases

from harness.sluice_cli import compile_model, run_command, run_model

ROWS, DEPTH, COLUMNS = 128, 384, 256


def product(path: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Writes a model of one product with a constant. Returns its inputs and the expected output."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((DEPTH, COLUMNS), dtype=np.float32)
    x = rng.standard_normal((ROWS, DEPTH), dtype=np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [ROWS, DEPTH])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [ROWS, COLUMNS])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return {"x": x}, x.astype(np.float64) @ weights


def compiled(model: Path, levels: int) -> Path:
    options = ["--strassen", str(levels)]
    return compile_model(model, model.with_name(f"{levels}.sluice"), options=options)


def multiplies(folder: Path) -> str:
    model = folder / "product.onnx"
    feeds, expected = product(model)
    results = []
    for levels in (0, 1, 2):
        y = run_model(compiled(model, levels), feeds, ["y"])["y"]
        off = np.abs(y - expected).max()
        if not off <= 1e-5 * np.abs(expected).max():
            return f"{levels} levels: off by {off}"
        results.append(y)
    if np.array_equal(results[0], results[1]) or np.array_equal(results[1], results[2]):
        return "results that are the same to the last bit: nothing was cut"
    return ""


def takes_memory(folder: Path) -> str:
    model = folder / "product.onnx"
    product(model)
    sizes = [compiled(model, levels).stat().st_size for levels in (0, 1, 2)]
    unit = DEPTH * COLUMNS * 4
    for levels, ratio in ((1, 7 / 4), (2, 49 / 16)):
        more = (sizes[levels] - sizes[0]) / unit
        if abs(more - (ratio - 1)) > 0.05:
            return f"{levels} levels: {more:.2f} times the weights more than none"
    return ""


def refuses(folder: Path) -> str:
    model = folder / "product.onnx"
    product(model)
    return first_wrong_refusal("compile", [
        ((model, "--strassen", levels), "--help") for levels in ("3", "-1", "all")
    ])


CASES: dict[str, Callable[[Path], str]] = {
    "products, one level and two": multiplies,
    "memory as announced": takes_memory,
    "levels that there are none of": refuses,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
