"""What the tests of models on a GPU share. They run on a machine with one, where torch's exporter may be missing:

    SLUICE_TORCH_MODELS=build/gpu-models PYTHONPATH=build/release/python \
        python3 -m pytest -v -p no:cacheprovider python/tests_torch/gpu/test_cuda.py

gpu_models.py makes the folder elsewhere; without the variable it is made here.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib

import gpu_models
import pytest
import torch

NAMES = list(gpu_models.examples())
HAS_EXPORTER = all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript"))
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
needs_exporter = pytest.mark.skipif(not HAS_EXPORTER, reason="onnx and onnxscript are not installed")


def made_models(scratch: pathlib.Path) -> pathlib.Path:
    """The folder of models; `scratch` if they must be made first."""
    given = os.environ.get("SLUICE_TORCH_MODELS")
    if given:
        return pathlib.Path(given).resolve()
    if not HAS_EXPORTER:
        pytest.skip("onnx and onnxscript are not installed, and SLUICE_TORCH_MODELS names no folder of gpu_models.py")
    gpu_models.make(scratch)
    return scratch


def example(folder: pathlib.Path, name: str) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
    """Inputs and expected outputs, on the GPU."""
    inputs, outputs = torch.load(folder / f"{name}.pt")
    return tuple(each.cuda() for each in inputs), tuple(each.cuda() for each in outputs)


def as_tuple(results: object) -> tuple[torch.Tensor, ...]:
    return results if isinstance(results, tuple) else (results,)  # type: ignore[return-value]


def assert_same(got: object, want: tuple[torch.Tensor, ...]) -> None:
    results = as_tuple(got)
    assert len(results) == len(want)
    for result, expected in zip(results, want):
        assert result.device == expected.device
        torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-4)
