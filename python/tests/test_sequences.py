"""Sequences are lists of arrays, optionals a value or None."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper

from conftest import make_model

F32 = TensorProto.FLOAT


@pytest.fixture(scope="module")
def insert() -> sluice.Model:
    """s with x behind it, and the number of elements that it has then."""
    model = make_model([helper.make_node("SequenceInsert", ["s", "x"], ["longer"]),
                        helper.make_node("SequenceLength", ["longer"], ["length"])],
                       [("x", F32, ["N"])], [("length", TensorProto.INT64, [])])
    model.graph.input.insert(0, helper.make_tensor_sequence_value_info("s", F32, None))
    model.graph.output.insert(0, helper.make_tensor_sequence_value_info("longer", F32, None))
    return sluice.compile(model, backends=("cpu", "reference"))


def optional_model() -> sluice.Model:
    """Whether an optional has a value."""
    tensor = helper.make_tensor_type_proto(F32, ["N"])
    graph = helper.make_graph(
        [helper.make_node("OptionalHasElement", ["o"], ["has"])], "optional",
        [helper.make_value_info("o", helper.make_optional_type_proto(tensor))],
        [helper.make_tensor_value_info("has", TensorProto.BOOL, [])])
    return sluice.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
                          backends=("cpu", "reference"))


def test_sequence_travels_as_a_list(insert: sluice.Model) -> None:
    assert insert.inputs[0].type.startswith("seq(f32") and not insert.inputs[0].is_tensor
    assert insert.inputs[0].dtype == np.float32
    given: list[Any] = [np.ones(3, np.float32), [2.0, 3.0], np.zeros(0, np.float32)]
    longer, length = insert(given, np.full(1, 7, np.float32))
    assert length == 4 and [element.tolist() for element in longer] == [[1, 1, 1], [2, 3], [], [7]]
    longer, length = insert([], np.ones(2, np.float32))
    assert length == 1 and len(longer) == 1
    results = insert.run({"s": given, "x": np.ones(1, np.float32)}, ["longer"])
    assert list(results) == ["longer"] and len(results["longer"]) == 4


def test_sequence_outlives_later_runs(insert: sluice.Model) -> None:
    first = insert([], np.ones(2, np.float32))[0]
    for _ in range(10):
        insert([np.zeros(1000, np.float32)], np.zeros(2, np.float32))
    assert first[0].tolist() == [1, 1]


def test_wrong_sequences_are_explained(insert: sluice.Model) -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(sluice.InvalidArgument, match=r'"s": a ndarray, model takes a list of arrays: seq\(f32'):
        insert(x, x)
    with pytest.raises(sluice.InvalidArgument, match="got f64"):
        insert([np.ones(2)], x)
    for wrong in (None, [x, None], [object()]):
        with pytest.raises((sluice.InvalidArgument, TypeError)):
            insert(wrong, x)
    with pytest.raises(sluice.InvalidArgument, match="no contiguous array"):
        insert._native.run([[[x]], x], [True, True])  # a list in a list
    with pytest.raises(sluice.InvalidArgument, match="no tensor"):
        insert.run({"s": [], "x": x}, out={"longer": x})


def test_runtime_takes_no_sequences(insert: sluice.Model, local: sluice.Runtime) -> None:
    with pytest.raises((sluice.InvalidArgument, sluice.Unimplemented)):
        local.load(insert)([], np.ones(2, np.float32))


def test_optional_is_a_value_or_none() -> None:
    model = optional_model()
    assert model(np.ones(2, np.float32)) and not model(None)


def test_onnxruntime_names_sequences(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sluice.onnxruntime as ort

    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path))
    model = make_model([helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)], [("x", F32, [2, 3])], [])
    model.graph.output.append(helper.make_tensor_sequence_value_info("s", F32, None))
    onnx.save(model, tmp_path / "split.onnx")
    session = ort.InferenceSession(tmp_path / "split.onnx")
    assert session.get_outputs()[0].type == "seq(tensor(float))"
    (elements,) = session.run(None, {"x": np.ones((2, 3), np.float32)})
    assert [element.shape for element in elements] == [(1, 3), (1, 3)]
