"""Files and names of onnxruntime's own making."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import sluice
import sluice.onnxruntime as ort
from onnx import TensorProto, helper

from conftest import DIGITS


@pytest.fixture(autouse=True)
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("narrow", [TensorProto.INT4, TensorProto.UINT4], ids=["i4", "u4"])
@pytest.mark.parametrize("axis", [None, 0, 1], ids=["whole", "by row", "by column"])
def test_weights_of_four_bits_of_the_contributed_operator(narrow: int, axis: int | None) -> None:
    """quantize_static writes them for files below opset 21."""
    low = -8 if narrow == TensorProto.INT4 else 0
    count = {None: [], 0: [4], 1: [6]}[axis]
    values = (np.arange(24) % 16 + low).tolist()
    length = int(np.prod(count))
    weights = [helper.make_tensor("q", narrow, [4, 6], values),
               helper.make_tensor("s", TensorProto.FLOAT, count, np.linspace(0.1, 0.9, length).tolist()),
               helper.make_tensor("z", narrow, count, [low + 3] * length)]
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    nodes = [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["w"], domain="com.microsoft", **attributes),
             helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "narrow", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 6])], weights)
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17),
                                                                   helper.make_opsetid("com.microsoft", 1)])
    x = np.random.default_rng(3).standard_normal((5, 4), dtype=np.float32)
    options = onnxruntime.SessionOptions()  # its fusion rounds x to eight bits
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    (got,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def saved(path: pathlib.Path, **entries: str) -> pathlib.Path:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path)
    for key, value in entries.items():
        options.add_session_config_entry(key.replace("__", "."), value)
    onnxruntime.InferenceSession(str(DIGITS), options)
    return path


def test_a_file_in_ort_format_is_named(tmp_path: pathlib.Path) -> None:
    path = saved(tmp_path / "digits.ort", session__save_model_format="ORT")
    with pytest.raises(sluice.InvalidArgument, match="ORT format"):
        ort.InferenceSession(str(path))


def test_a_file_for_one_machine_is_named(tmp_path: pathlib.Path) -> None:
    path = saved(tmp_path / "digits.onnx")
    domains = {node.domain for node in onnx.load(path).graph.node}
    if "com.microsoft.nchwc" not in domains:
        pytest.skip("onnxruntime made no layouts of its own for this processor")
    with pytest.raises(sluice.Unimplemented, match="ORT_ENABLE_EXTENDED"):
        ort.InferenceSession(str(path))


def test_an_unknown_output_is_an_invalid_argument() -> None:
    session = ort.InferenceSession(str(DIGITS))
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match="nope"):
        session.run(["nope"], {"image": np.zeros((1, 1, 8, 8), np.float32)})


def test_names_that_programs_ask_for_are_there() -> None:
    ort.preload_dlls(cuda=False)
    assert ort.capi._pybind_state.get_available_providers() == ort.get_available_providers()
    assert ort.capi._pybind_state.GraphOptimizationLevel is ort.GraphOptimizationLevel
