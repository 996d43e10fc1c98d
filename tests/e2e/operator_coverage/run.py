"""Writes variants as cases and asks `sluice conformance` which of them run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from harness.sluice_cli import binary
from operator_coverage.recipe import Recipe

RANDOM = "it draws random numbers: types and shapes are right"


def write(recipe: Recipe, version: int, folder: Path) -> None:
    """A case without expected outputs: it passes if it runs and gives what its model declares."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(recipe.model(version).SerializeToString())
    for index, tensor in enumerate(recipe.input_tensors()):
        (data / f"input_{index}.pb").write_bytes(tensor.SerializeToString())


def run(folder: Path, backend: str) -> dict[str, str]:
    """By case: "" if it ran, else the reason."""
    command = [str(binary()), "conformance", str(folder), "--verbose", "--backend", backend]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    reasons = {}
    for line in output.splitlines():
        told = re.match(r"(pass|FAIL|skip) ([\w.-]+):? ?(.*)", line)
        if told:
            ran = told[1] == "pass" or told[3].startswith(RANDOM)
            reasons[told[2]] = "" if ran else told[3]
    return reasons
