"""Commands of the program as calls."""

from __future__ import annotations

import pathlib

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper

from conftest import DIGITS


def convolution(inputs: tuple[str, ...] = ("x",)) -> onnx.ModelProto:
    """y = Relu(Conv(x + ...)) of [N, 3, 8, 8]."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 8, 8]) for name in inputs]
    weights = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Sum", list(inputs), ["sum"]), helper.make_node("Conv", ["sum", "w"], ["c"], "conv"),
             helper.make_node("Relu", ["c"], ["y"])]
    graph = helper.make_graph(nodes, "convolution", values,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4, 6, 6])],
                              [onnx.numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(params=["path", "model", "package", "bytes", "proto"])
def digits_as(request: pytest.FixtureRequest, digits: sluice.Model, tmp_path: pathlib.Path) -> object:
    package = tmp_path / "digits.sluice"
    digits.save(package)
    return {"path": DIGITS, "model": digits, "package": package, "bytes": sluice.load(package.read_bytes()),
            "proto": onnx.load(DIGITS)}[request.param]


def test_inspect_lists_inputs_of_every_form_of_a_model(digits_as: object) -> None:
    found = sluice.inspect(digits_as)
    assert [each["name"] for each in found["inputs"]] == ["image"]


def test_explain_shows_a_backend_for_every_operation(digits_as: object) -> None:
    text = str(sluice.explain(digits_as, ask=["cpu", "reference"]))
    assert "cpu" in text and "reference" in text


def test_bench_measures(digits: sluice.Model) -> None:
    found = sluice.bench(digits, seconds=0.05, threads=1, shapes={"N": 2})
    assert found["median_us"] > 0


def test_tune_writes_a_package_that_gives_the_same(digits: sluice.Model, image: np.ndarray, tmp_path: pathlib.Path) -> None:
    digits.save(tmp_path / "digits.sluice")
    assert sluice.tune(tmp_path / "digits.sluice", tmp_path / "tuned.sluice", seconds=0.1, threads=1)
    np.testing.assert_allclose(sluice.load(tmp_path / "tuned.sluice")(image), digits(image), atol=1e-5)


def test_quantize_takes_arrays_dicts_and_folders(tmp_path: pathlib.Path) -> None:
    samples = [np.random.default_rng(i).standard_normal((1, 3, 8, 8)).astype(np.float32) for i in range(4)]
    (tmp_path / "folder").mkdir()
    for i, sample in enumerate(samples):
        np.save(tmp_path / f"folder/{i}.npy", sample)
    expected = sluice.compile(convolution())(samples[0])
    results = []
    for calibration in (samples, [{"x": sample} for sample in samples], tmp_path / "folder"):
        model = sluice.quantize(convolution(), calibration, tmp_path / "small.sluice", threads=1)
        results.append(model(samples[0]))
        np.testing.assert_allclose(results[-1], expected, atol=0.05 * np.abs(expected).max())
        assert not np.array_equal(results[-1], expected), "nothing is in 8 bits"
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    kept = sluice.quantize(convolution(), samples, tmp_path / "kept.sluice", keep_f32=["conv"])
    np.testing.assert_allclose(kept(samples[0]), expected, rtol=1e-4, atol=1e-5)


def test_a_sample_without_a_name_needs_one_input(tmp_path: pathlib.Path) -> None:
    with pytest.raises(sluice.Error, match='no dict, and the model has 2 inputs: "a", "b"'):
        sluice.quantize(convolution(("a", "b")), [np.zeros((1, 3, 8, 8), np.float32)], tmp_path / "small.sluice")


def test_failures_of_commands_say_what_they_print(tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.onnx").write_text("no model")
    with pytest.raises(sluice.Error, match="notes.onnx"):
        sluice.inspect(tmp_path / "notes.onnx")
    with pytest.raises(sluice.NotFound, match="missing.onnx: no such file"):
        sluice.bench(tmp_path / "missing.onnx")
    with pytest.raises(TypeError, match="int is no Model"):
        sluice.explain(3)
    with pytest.raises(sluice.Error, match="quantum"):
        sluice.explain(DIGITS, backends=["quantum"])
