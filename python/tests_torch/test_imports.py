"""sluice beside other packages with protobuf and OpenMP of their own, imported in every order."""

from __future__ import annotations

import itertools
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: onnxruntime is in the environment of the other tests.
PACKAGES = next(ROOT.glob(f".venv/lib/python3.{sys.version_info.minor}/site-packages"), None)

PROVE = """
import site
site.addsitedir({packages!r})
import {modules}
import numpy as np
linear = torch.nn.Linear(3, 2)
x = torch.ones(1, 3)
node = onnx.helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)
graph = onnx.helper.make_graph(
    [node], "g", [onnx.helper.make_tensor_value_info("x", 1, [1, 3])],
    [onnx.helper.make_tensor_value_info("y", 1, [1, 2])],
    [onnx.numpy_helper.from_array(linear.weight.detach().numpy(), "w"),
     onnx.numpy_helper.from_array(linear.bias.detach().numpy(), "b")])
model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
ours = sluice.compile(model)(x)
theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {{"x": x.numpy()}})[0]
assert isinstance(ours, torch.Tensor)
assert abs(ours.numpy() - theirs).max() < 1e-5 and abs(ours - linear(x)).max() < 1e-5
"""


@pytest.mark.parametrize("order", list(itertools.permutations(("sluice", "onnx", "torch", "onnxruntime"))),
                         ids="-".join)
def test_imports_in_every_order(order: tuple[str, ...]) -> None:
    if PACKAGES is None:
        pytest.skip("no .venv with onnxruntime for this Python; scripts/install-deps test")
    code = PROVE.format(modules=", ".join(order), packages=str(PACKAGES))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
