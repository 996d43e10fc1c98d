"""Whether this machine can compile kernels for CUDA, which the backends `cuda` and `cuda-emulated` need."""

from __future__ import annotations

from pathlib import Path

from report import scratch_folder

import make
from harness.sluice_cli import SluiceError, compile_model


def reason_to_skip() -> str:
    """Why an emulated GPU has no kernels here; empty where it has."""
    with scratch_folder() as name:
        folder = Path(name)
        try:
            compile_model(make.write("mlp", folder), folder / "probe.sluice", "cuda-emulated")
        except SluiceError as error:
            return str(error) if "no compiler for CUDA" in str(error) else ""
    return ""
