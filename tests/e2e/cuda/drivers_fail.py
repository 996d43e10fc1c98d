#!/usr/bin/env python3
"""What commands say where a GPU, its driver or a kernel is missing: what is wrong, where, and what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402

from harness.sluice_cli import SluiceError, binary, run_command  # noqa: E402

LIBRARIES = binary().parents[1] / "lib"


def model(folder: Path, *, operator: str) -> Path:
    path = folder / "model.onnx"
    extra = ["axis"] if operator == "CumSum" else []
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x", *extra], ["y"], name="middle")], "g", infos[:1], infos[1:],
                              [numpy_helper.from_array(np.array(1), name) for name in extra])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def error_of(*arguments: str | Path) -> str:
    """The error of a command; "" if it succeeds."""
    try:
        run_command(*arguments)
    except SluiceError as error:
        return str(error)
    return ""


def run_with_driver(folder: Path, driver: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A run on the backend `cuda` with a driver of ours. The package has code for a GPU of another architecture, and
    PTX."""
    package = folder / "model.sluice"
    run_command("compile", model(folder, operator="Exp"), "-o", package, "--backend", "cuda", "--arch", "sm_120")
    (folder / "libcuda.so.1").symlink_to(driver)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), **variables}
    return subprocess.run([binary(), "run", package, "--input", "x=random"], env=environment, capture_output=True,
                          text=True)


def lacking(text: str, *parts: str) -> str:
    missing = [part for part in parts if part not in text]
    return f"no {missing} in: {text}" if missing else ""


def missing_driver_is_named_with_the_remedy(folder: Path) -> str:
    (folder / "empty").touch()
    return lacking(run_with_driver(folder, folder / "empty").stderr, "no CUDA driver", "libcuda.so.1", "install NVIDIA's driver")


def old_driver_is_named_with_the_remedy(folder: Path) -> str:
    ran = run_with_driver(folder, LIBRARIES / "libsluice_cuda_fake_libcuda.so", SLUICE_FAKE_CUDA_VERSION="11040")
    return lacking(ran.stderr, "supports CUDA 11.4", "needs 12.5 or later", "install an NVIDIA driver")


def driver_without_a_gpu_is_named(folder: Path) -> str:
    ran = run_with_driver(folder, LIBRARIES / "libsluice_cuda_fake_libcuda.so")
    return lacking(ran.stderr, 'backend "cuda"', "there is no GPU")


def package_for_another_gpu_runs_by_its_ptx_and_says_so(folder: Path) -> str:
    machine = {"SLUICE_CUDA_EMULATED": "capability=9.0"}
    ran = run_with_driver(folder, LIBRARIES / "libsluice_cuda_emulated_libcuda.so", **machine)
    if ran.returncode:
        return ran.stderr
    return lacking(ran.stderr, "sluice: the package has machine code for sm_120, device 0 is of sm_90",
                   "the driver translates PTX (compute_75)", "compile the model with --arch sm_90")


def operator_without_a_kernel_names_node_and_remedy(folder: Path) -> str:
    path, package = model(folder, operator="CumSum"), folder / "model.sluice"
    error = error_of("compile", path, "-o", package, "--backend", "cuda")
    problem = lacking(error, 'node "middle" (CumSum)', "no kernel for CumSum", "add cpu to --backend")
    if problem:
        return problem
    run_command("compile", path, "-o", package, "--backend", "cuda,cpu")
    operations = json.loads(run_command("inspect", package, "--json"))["operations"]
    found = {entry["backend"] for entry in operations}
    return "" if "cpu" in found else f"runs on {found}"


CASES = (missing_driver_is_named_with_the_remedy, old_driver_is_named_with_the_remedy, driver_without_a_gpu_is_named,
         package_for_another_gpu_runs_by_its_ptx_and_says_so, operator_without_a_kernel_names_node_and_remedy)


if __name__ == "__main__":
    sys.exit(cuda_compiler.run(*CASES))
