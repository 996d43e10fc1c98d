"""Models beyond protobuf's limit, which tests lower: their weights lie beside the model's file."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper, numpy_helper
from sluice import onnx_files

from conftest import make_model

F32 = TensorProto.FLOAT


@pytest.fixture(autouse=True)
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_files, "LARGEST_MESSAGE_BYTES", 10_000)


def weights(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).random(shape, np.float32)


def large_model() -> onnx.ModelProto:
    """Weights in the graph, in a branch and in an attribute."""
    then = helper.make_graph([helper.make_node("MatMul", ["h", "b"], ["r1"])], "then", [],
                             [helper.make_tensor_value_info("r1", F32, ["N", 64])],
                             [numpy_helper.from_array(weights(2, 64, 64), "b")])
    constant = helper.make_node("Constant", [], ["d"], value=numpy_helper.from_array(weights(3, 64), "value"))
    other = helper.make_graph([constant, helper.make_node("Add", ["h", "d"], ["r2"])], "else", [],
                              [helper.make_tensor_value_info("r2", F32, ["N", 64])])
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"]),
             helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    model = make_model(nodes, [("x", F32, ["N", 64]), ("c", TensorProto.BOOL, [])], [("y", F32, ["N", 64])],
                       {"a": weights(1, 64, 64)})
    entry = model.metadata_props.add()
    entry.key, entry.value = "fact", "kept"
    return model


def test_a_large_model_is_compiled_and_stays_as_it_is() -> None:
    model = large_model()
    before = model.SerializeToString(deterministic=True)
    assert onnx_files.is_large(model)
    loaded = sluice.compile(model)
    assert model.SerializeToString(deterministic=True) == before
    x = weights(4, 3, 64)
    hidden = x @ weights(1, 64, 64)
    for choice, want in ((True, hidden @ weights(2, 64, 64)), (False, hidden + weights(3, 64))):
        np.testing.assert_allclose(loaded.run({"x": x, "c": np.array(choice)})["y"], want, rtol=1e-4)
    assert loaded.metadata["metadata.fact"] == "kept"
    assert loaded.metadata["name"] == model.graph.name
    assert loaded.metadata["compiler"] == f"sluice {sluice.__version__}"
    assert loaded.metadata["options"] == "--backend cpu"


def test_the_file_is_one_that_others_read(tmp_path: pathlib.Path) -> None:
    onnx_files.write(large_model(), tmp_path / "model.onnx")
    light = onnx.load_model(tmp_path / "model.onnx", load_external_data=False)
    (weight,) = light.graph.initializer
    assert not weight.raw_data and weight.external_data[0].value == "model.onnx.data"
    assert (tmp_path / "model.onnx").stat().st_size < 3000
    onnx.checker.check_model(tmp_path / "model.onnx")
    read = onnx.load_model(tmp_path / "model.onnx")
    np.testing.assert_array_equal(numpy_helper.to_array(read.graph.initializer[0]), weights(1, 64, 64))


def test_a_small_model_is_one_file(tmp_path: pathlib.Path) -> None:
    model = make_model([helper.make_node("Add", ["x", "a"], ["y"])], [("x", F32, [3])], [("y", F32, [3])],
                       {"a": weights(1, 3)})
    assert not onnx_files.is_large(model)
    onnx_files.write(model, tmp_path / "model.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    assert onnx.load_model(tmp_path / "model.onnx") == model


def test_weights_inside_and_in_files_do_not_mix(tmp_path: pathlib.Path) -> None:
    model = large_model()
    tensor = model.graph.initializer.add()
    tensor.name, tensor.data_type, tensor.data_location = "more", F32, TensorProto.EXTERNAL
    with pytest.raises(sluice.InvalidArgument, match="onnx.save_model"):
        sluice.compile(model)
