"""Whether this machine can compile kernels for CUDA, which the backends `cuda` and `cuda-emulated` need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from report import run_cases, scratch_folder

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


def run(*cases: Callable[[Path], str]) -> int:
    """run_cases under the names of the functions; 77, with the reason, where kernels cannot be compiled."""
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        return 77
    return run_cases({case.__name__.replace("_", " "): case for case in cases})
