"""sluice.onnxruntime gives and takes dicts where the model has maps, as onnxruntime does."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import sluice.onnxruntime as ort
from onnx import TensorProto, helper

SCORES = np.array([[0.25, 0.5, 0.25], [0.125, 0.0, 0.875]], np.float32)
LABELS = [[2, 1, 0], [-1, 0, 1], ["one", 'a "quoted" one', "line\nand\ttab, \\ Käse"]]


def both(model: onnx.ModelProto) -> tuple[Any, Any]:
    content = model.SerializeToString()
    return onnxruntime.InferenceSession(content), ort.InferenceSession(content)


def model_of(kind: str, inputs: list[Any], outputs: list[Any], **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node(kind, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    return helper.make_model(helper.make_graph([node], "maps", inputs, outputs), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 1)])


def tensor(name: str, shape: list[Any], element: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, element, shape)


def map_type(key: int, value: int) -> Any:
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))


def zip_map(labels: list[Any]) -> onnx.ModelProto:
    is_text = isinstance(labels[0], str)
    element = map_type(TensorProto.STRING if is_text else TensorProto.INT64, TensorProto.FLOAT)
    output = helper.make_value_info("y", helper.make_sequence_type_proto(element))
    name = "classlabels_strings" if is_text else "classlabels_int64s"
    return model_of("ZipMap", [tensor("x", ["N", 3])], [output], **{name: labels})


@pytest.mark.parametrize("labels", LABELS, ids=["counted down", "around 0", "texts"])
def test_probabilities_are_dicts_by_label(labels: list[Any]) -> None:
    theirs, ours = both(zip_map(labels))
    (expected,), (got,) = theirs.run(None, {"x": SCORES}), ours.run(None, {"x": SCORES})
    assert got == expected
    assert [type(row) for row in got] == [dict, dict]
    binding = ours.io_binding()
    binding.bind_cpu_input("x", SCORES)
    binding.bind_output("y")
    ours.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu() == [expected]
    assert ours.run(["y"], {"x": SCORES[:0]}) == [[]]
    (their,), (our,) = theirs.get_outputs(), ours.get_outputs()
    assert (our.type, our.shape) == (their.type, their.shape)


@pytest.mark.parametrize(("key", "value", "entries"), [
    (TensorProto.STRING, TensorProto.FLOAT, {"b": 2.0, "a": 1.0}),
    (TensorProto.STRING, TensorProto.FLOAT, {"unknown": 3.0, "a": 4.0}),
    (TensorProto.INT64, TensorProto.FLOAT, {3: 0.5}),
], ids=["floats", "unknown key", "by number"])
def test_a_dict_is_a_map_of_the_model(key: int, value: int, entries: dict[Any, Any]) -> None:
    name = "string_vocabulary" if key == TensorProto.STRING else "int64_vocabulary"
    vocabulary: list[Any] = ["a", "b", "c"] if key == TensorProto.STRING else [1, 2, 3]
    model = model_of("DictVectorizer", [helper.make_value_info("x", map_type(key, value))],
                     [tensor("y", [None, 3], value)], **{name: vocabulary})
    theirs, ours = both(model)
    np.testing.assert_array_equal(ours.run(None, {"x": entries})[0].reshape(-1),
                                  np.asarray(theirs.run(None, {"x": entries})[0]).reshape(-1))
    assert ours.get_inputs()[0].type == theirs.get_inputs()[0].type
    with pytest.raises(Exception, match="x"):
        ours.run(None, {"z": entries})


@pytest.mark.parametrize("form", ["DENSE", "SPARSE"])
def test_a_map_without_a_vocabulary_goes_by_its_keys(form: str) -> None:
    model = model_of("CastMap", [helper.make_value_info("x", map_type(TensorProto.INT64, TensorProto.FLOAT))],
                     [tensor("y", [1, None])], map_form=form, max_map=4)
    theirs, ours = both(model)
    entries = {3: 0.5, 0: 2.0}
    np.testing.assert_array_equal(ours.run(None, {"x": entries})[0], theirs.run(None, {"x": entries})[0])
    if form == "SPARSE":
        with pytest.raises(Exception, match="key 4"):
            ours.run(None, {"x": {4: 1.0}})
