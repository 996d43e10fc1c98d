"""A request that takes more memory than a GPU has fails alone, in the middle of others."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import sluice
from conftest import make_model
from onnx import TensorProto, helper


def test_request_that_takes_too_much_memory_fails_alone(tmp_path: pathlib.Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="widen"), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("ReduceSum", ["r"], ["y"])]
    model = make_model(nodes, [("x", TensorProto.FLOAT, ["N", 4])], [("y", TensorProto.FLOAT, [1, 1])],
                       {"w": np.ones((4, 256), np.float32)})
    package = tmp_path / "rows.sluice"
    try:
        sluice.compile(model, backends="cuda-emulated").save(package)
    except sluice.Error as error:
        if "no compiler for CUDA" in str(error):
            pytest.skip(str(error))
        raise
    # In a process of its own: one emulates one machine at a time.
    done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("run_out_of_memory.py"), package], text=True,
                          env={**os.environ, "SLUICE_CUDA_EMULATED": "memory=1048576"}, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
