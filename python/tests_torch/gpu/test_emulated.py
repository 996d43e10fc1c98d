"""A module of Python becomes kernels of a GPU, which an emulated one runs."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
import sluice.torch
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gpu_models  # noqa: E402
from gpu_results import assert_same, needs_exporter  # noqa: E402


@needs_exporter
def test_traced_module_becomes_kernels_of_a_gpu(tmp_path: pathlib.Path) -> None:
    module, x = gpu_models.Convolutions().eval(), torch.rand(2, 3, 32, 32)
    package, kernels = tmp_path / "package.sluice", tmp_path / "kernels"
    sluice.torch.trace(module, x, compiler_workdir=tmp_path)
    made = subprocess.run(
        [os.environ["SLUICE_PROGRAM"], "compile", tmp_path / "model.onnx", "-o", package, "--backend", "cuda-emulated",
         "--emit", f"cuda-emulated={kernels}"],
        env=gpu_models.machine_environment(), text=True, capture_output=True, check=False)
    if "no compiler for CUDA" in made.stderr:
        pytest.skip(made.stderr)
    assert made.returncode == 0, made.stderr
    assert any("sluice_kernel(" in source.read_text() for source in kernels.glob("Conv*.cu"))
    model = sluice.load(package, threads=1)
    results = model.run({model.inputs[0].name: x.numpy()})
    with torch.no_grad():
        assert_same(torch.from_numpy(results[model.outputs[0].name]), (module(x),))
