"""Tensors of torch on a GPU, by a stand-in for torch over the emulator's driver.

python/tests_torch/gpu/test_cuda.py does the same with torch on a machine with a GPU.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import onnx
import pytest
from conftest import make_model
from onnx import TensorProto, helper

PROGRAM = os.environ.get("SLUICE_PROGRAM", "")
DRIVER = pathlib.Path(PROGRAM).parents[1] / "lib/libsluice_cuda_emulated_libcuda.so" if PROGRAM else pathlib.Path()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """model.sluice, and libcuda.so.1. The package has code for a GPU that the machine lacks, so that loads take PTX."""
    if not DRIVER.is_file():
        pytest.skip("the emulator's driver is not built")
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "libcuda.so.1").symlink_to(DRIVER)
    spec = TensorProto.FLOAT, [4, 16]
    onnx.save(make_model([helper.make_node("Add", ["x", "z"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
                         [("x", *spec), ("z", *spec)], [("y", *spec), ("s", *spec)]), folder / "model.onnx")
    made = subprocess.run([PROGRAM, "compile", folder / "model.onnx", "-o", folder / "model.sluice", "--backend", "cuda",
                           "--arch", "sm_120"], text=True, capture_output=True, check=False)
    if "no compiler for CUDA" in made.stderr:
        pytest.skip(made.stderr)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize("case", ["agrees", "waits", "takes_views", "refuses"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_calls_with_tensors_on_a_gpu(folder: pathlib.Path, case: str, seed: int) -> None:
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "SLUICE_CUDA_EMULATED": f"devices=2,capability=9.0,seed={seed}"}
    done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("call_model.py"), folder / "model.sluice", case],
                          env=env, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
