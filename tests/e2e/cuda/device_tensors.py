#!/usr/bin/env python3
"""Tensors in memory of a GPU, by the C++ API: the backend `cuda` over a driver whose machine is emulated.

    device_tensors.py PROGRAM    device_tensors.cc, built

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from onnx import TensorProto, helper, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402

from harness.sluice_cli import binary, run_command  # noqa: E402

PROGRAM = Path(sys.argv[1])
DRIVER = binary().parents[1] / "lib/libsluice_cuda_emulated_libcuda.so"
SEEDS = range(1, 9)


def package(folder: Path) -> Path:
    """For a GPU that the machine lacks, so that loads take the kernels' PTX, which the emulator runs."""
    nodes = [helper.make_node("Add", ["x", "z"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in "xzys"]
    graph = helper.make_graph(nodes, "sum", infos[:2], infos[2:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "sum.onnx")
    target = folder / "sum.sluice"
    run_command("compile", folder / "sum.onnx", "-o", target, "--backend", "cuda", "--arch", "sm_120")
    (folder / "libcuda.so.1").symlink_to(DRIVER)
    return target


def answer(model: Path, what: str, seed: int) -> str:
    """What the program prints, on a machine with two GPUs; with its messages if it fails."""
    machine = f"devices=2,capability=9.0,seed={seed}"
    done = subprocess.run([PROGRAM, model, what], text=True, capture_output=True, check=False,
                          env={**os.environ, "SLUICE_CUDA_EMULATED": machine, "LD_LIBRARY_PATH": str(model.parent)})
    return done.stdout.strip() if done.returncode == 0 else f"ended with {done.returncode}: {done.stdout}{done.stderr}"


def first_problem(folder: Path, what: str) -> str:
    model = package(folder)
    return next((problem for seed in SEEDS if (problem := answer(model, what, seed))), "")


def runs_read_and_write_memory_of_the_device(folder: Path) -> str:
    return first_problem(folder, "agrees")


def wrong_memory_is_refused(folder: Path) -> str:
    return first_problem(folder, "refuses")


def the_emulator_shows_runs_that_start_too_early(folder: Path) -> str:
    model = package(folder)
    answers = {answer(model, "early", seed) for seed in SEEDS}
    return "" if "old" in answers and answers <= {"old", "new"} else f"answers are {answers}"


CASES = (runs_read_and_write_memory_of_the_device, wrong_memory_is_refused,
         the_emulator_shows_runs_that_start_too_early)


if __name__ == "__main__":
    sys.exit(cuda_compiler.run(*CASES))
