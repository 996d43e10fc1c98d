#!/usr/bin/env python3
"""`sluice tune` on an emulated GPU: it chooses among kernels by the instructions that the emulator counts.

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402

from harness.sluice_cli import Arrays, compile_model, run_command, run_model  # noqa: E402
from kernels_in_packages import no_compiler  # noqa: E402

EMULATED = "cuda-emulated"
#: A loaded machine may need a longer search for enough rounds.
SEARCHES_S = (4, 16, 64, 256)


def product(folder: Path) -> tuple[Path, Arrays]:
    """A product for which small tiles fill a GPU, while large ones take fewer instructions; compiled."""
    numbers = np.random.default_rng(0)
    weights = (numbers.standard_normal((64, 128)) / 8).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [128, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [128, 128])],
                              [helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel())])
    model = folder / "product.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
    feeds = {"x": numbers.standard_normal((128, 64)).astype(np.float32)}
    return compile_model(model, folder / "product.sluice", EMULATED), feeds


def search(package: Path, tuned: Path) -> str:
    """What the command prints; "" if no search had time for a choice."""
    for seconds in SEARCHES_S:
        printed = run_command("tune", package, "-o", tuned, "--seconds", str(seconds), "--all", timeout_s=seconds + 600)
        if "was -> is" in printed:
            return printed
    return ""


def tunes_by_counted_instructions(folder: Path) -> str:
    package, feeds = product(folder)
    tuned = folder / "tuned.sluice"
    printed = search(package, tuned)
    wanted = ("default -> tile-", "tile-64x64x16", "a device is simulated")
    if missing := [text for text in wanted if text not in printed]:
        return f"without {missing}: {printed}"
    expected = run_model(package, feeds, ["y"])["y"]
    with no_compiler():  # the package has the code of the chosen kernel
        actual = run_model(tuned, feeds, ["y"])["y"]
    told = json.loads(run_command("inspect", tuned, "--json"))
    if not told["ways"] or "tuned_for" not in told["facts"]:
        return f"the package says {told['ways']}, {told['facts']}"
    off = np.abs(actual - expected).max()
    return "" if off <= 1e-5 * np.abs(expected).max() else f"off by {off}"


CASES = (tunes_by_counted_instructions,)


if __name__ == "__main__":
    sys.exit(cuda_compiler.run(*CASES))
