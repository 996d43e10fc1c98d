#!/usr/bin/env python3
"""`sluice compile` holds little of a model in memory, leaves nothing behind when it fails, and leaves out
portable constants on request."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import first_wrong_refusal, run_cases  # noqa: E402

from graph_writer import GraphWriter  # noqa: E402
from harness.sluice_cli import SluiceError, binary, compile_model, run_command, run_model  # noqa: E402


def products(folder: Path, layers: int, width: int) -> Path:
    """`layers` products with square matrices."""
    g = GraphWriter("products", seed=1)
    x = g.input("x", ["N", width])
    for layer in range(layers):
        x = g.op("Relu", g.op("MatMul", x, g.uniform(f"w{layer}", (width, width), -0.05, 0.05)))
    g.op("Identity", x, name="y")
    g.output("y", ["N", width])
    path = folder / "products.onnx"
    onnx.save_model(g.model(), path)
    return path


def convolutions(folder: Path, layers: int, channels: int) -> Path:
    """Convolutions whose weights the compiler changes: it folds a BatchNormalization into each."""
    g = GraphWriter("convolutions", seed=2)
    x = g.input("x", [1, channels, 8, 8])
    for layer in range(layers):
        weight = g.uniform(f"w{layer}", (channels, channels, 3, 3), -0.01, 0.01)
        x = g.op("Conv", x, weight, pads=[1, 1, 1, 1])
        parameters = [g.uniform(f"{part}{layer}", (channels,), 0.5, 1.5) for part in ("s", "b", "m", "v")]
        x = g.op("Relu", g.op("BatchNormalization", x, *parameters))
    g.op("Identity", x, name="y")
    g.output("y", [1, channels, 8, 8])
    path = folder / "convolutions.onnx"
    onnx.save_model(g.model(), path)
    return path


def memory_error(model: Path, share: float, *options: str) -> str:
    """Compiles in a process that may have this share of the model's size for itself, mapped files apart. An
    allocation beyond fails. bench/compiling.py measures the peak."""
    limit = int(share * model.stat().st_size)
    done = subprocess.run([binary(), "compile", model, "-o", model.with_suffix(".sluice"), *options],
                          capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    if done.returncode == 0:
        return ""
    return f"{model.stem} {' '.join(options)}: {share} of the model's size do not suffice: {done.stderr}"


def products_need_less_than_their_size(folder: Path) -> str:
    model = products(folder, layers=16, width=1024)
    return memory_error(model, 0.75) or memory_error(model, 0.75, "--packed-only")


def convolutions_need_their_size(folder: Path) -> str:
    model = convolutions(folder, layers=12, channels=384)
    if not memory_error(model, 0.5):
        return "the limit is none: constants that change take their size"
    return memory_error(model, 1.35)


def packed_only_is_smaller_and_agrees(folder: Path) -> str:
    x = np.random.default_rng(3).standard_normal((2, 256), dtype=np.float32)
    model = products(folder, layers=4, width=256)
    whole = compile_model(model, folder / "whole.sluice")
    packed = compile_model(model, folder / "packed.sluice", options=["--packed-only"])
    ratio = packed.stat().st_size / whole.stat().st_size
    if ratio > 0.6:
        return f"has {ratio:.2f} of the bytes"
    a, b = (run_model(package, {"x": x}, ["y"])["y"] for package in (whole, packed))
    if not np.array_equal(a, b):
        return f"is off by {np.abs(a - b).max()}"
    return "" if "left_out" in run_command("inspect", packed, "--text") else "no constant is left out"


def packed_only_is_refused_elsewhere(folder: Path) -> str:
    x = np.zeros((2, 256), dtype=np.float32)
    model = products(folder, layers=2, width=256)
    os.environ["SLUICE_CPU_ISA"] = "portable"
    try:
        packed = compile_model(model, folder / "packed.sluice", options=["--packed-only"])
    finally:
        del os.environ["SLUICE_CPU_ISA"]
    if "avx" not in run_command("doctor"):
        print("     skipped: this processor has no other instruction set than portable")
        return ""
    try:
        run_model(packed, {"x": x}, ["y"])
    except SluiceError as error:
        is_told = '"w0"' in str(error) and "compile the model here, or without --packed-only" in str(error)
        return "" if is_told else f"the message is: {error}"
    return "accepted"


def forms_exclude_each_other(folder: Path) -> str:
    model = products(folder, layers=1, width=64)
    return first_wrong_refusal("compile", (((model, "--packed-only", "--no-pack"), "no form of a constant"),))


def failures_leave_nothing(folder: Path) -> str:
    model = products(folder, layers=4, width=256)
    damaged = folder / "damaged.onnx"
    damaged.write_bytes(model.read_bytes()[:-5000])
    before = sorted(folder.iterdir())
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # noqa: E731
    output = folder / "none.sluice"
    for case, source, prepare in (("full", model, limit), ("damaged", damaged, None)):
        # Python ignores the signal that passing the limit raises; the child is to ignore it too.
        done = subprocess.run([binary(), "compile", source, "-o", output], capture_output=True, text=True,
                              preexec_fn=prepare, restore_signals=False)
        if done.returncode != 1:
            return f"{case}: exit code {done.returncode}: {done.stderr}"
        if str(output if case == "full" else source) not in done.stderr:
            return f"{case}: the message names no file: {done.stderr}"
        if sorted(folder.iterdir()) != before:
            return f"{case}: the folder has {[path.name for path in folder.iterdir()]}"
    return ""


CASES: dict[str, Callable[[Path], str]] = {
    "products need less memory than the model's size": products_need_less_than_their_size,
    "convolutions that change need the model's size": convolutions_need_their_size,
    "a package of packed constants is smaller and agrees": packed_only_is_smaller_and_agrees,
    "a package of packed constants is refused elsewhere": packed_only_is_refused_elsewhere,
    "some form of constants must stay": forms_exclude_each_other,
    "a compilation that fails leaves nothing": failures_leave_nothing,
}

if __name__ == "__main__":
    sys.exit(run_cases(CASES))
