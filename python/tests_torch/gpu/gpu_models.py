"""Models for test_cuda.py. They are made where torch's exporter is installed, which no GPU needs:

    scripts/torch-python build/release python/tests_torch/gpu/gpu_models.py build/gpu-models
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple

import torch
from torch import nn


class Embedder(nn.Module):
    """Takes ids of a table of 10 rows; gives two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.linear = nn.Linear(8, 16)

    def forward(self, ids: torch.Tensor, scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.linear(self.table(ids)).relu() * scale
        return y, y.softmax(-1)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
            nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


class Example(NamedTuple):
    model: type[nn.Module]
    inputs: tuple[torch.Tensor, ...]


def examples() -> dict[str, Example]:
    torch.manual_seed(3)
    return {
        "embedder": Example(Embedder, (torch.tensor([[1, 0, 9], [3, 3, 2]]), torch.rand(16))),
        "convolutions": Example(Convolutions, (torch.rand(2, 3, 32, 32),)),
        "encoder": Example(Encoder, (torch.rand(2, 9, 64),)),
    }


def machine_environment() -> dict[str, str]:
    """With the machine's compiler for CUDA, not the stand-in for it that the environment of these tests has."""
    return {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}


def make(folder: pathlib.Path, names: list[str] | None = None) -> None:
    """Writes NAME.sluice, the extension NAME, and NAME.pt with inputs and outputs. Raises RuntimeError with the
    compiler's words."""
    import sluice.torch

    folder.mkdir(parents=True, exist_ok=True)
    env = machine_environment()
    for name, (kind, inputs) in examples().items():
        if names is not None and name not in names:
            continue
        torch.manual_seed(3)
        model = kind().eval()
        with tempfile.TemporaryDirectory() as work:
            sluice.torch.trace(model, inputs, compiler_workdir=work)
            made = subprocess.run(
                [os.environ["SLUICE_PROGRAM"], "compile", f"{work}/model.onnx", "-o", folder / f"{name}.sluice", "--backend",
                 "cuda", "--arch", "sm_90", "--emit", f"torch-extension={folder / name}"],
                env=env, text=True, capture_output=True, check=False)
        if made.returncode != 0:
            raise RuntimeError(made.stderr)
        with torch.no_grad():
            outputs = model(*inputs)
        torch.save((inputs, outputs if isinstance(outputs, tuple) else (outputs,)), folder / f"{name}.pt")


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
