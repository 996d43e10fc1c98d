"""Requests of the Open Inference Protocol as arrays, for engines that call a model in Python."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
import sluice
from sluice.cluster import open_inference as protocol

service = pytest.importorskip("tritonclient.grpc.service_pb2")


def body(**changes: Any) -> dict[str, Any]:
    one = {"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [1, 2.5, 3, 4], **changes}
    return {"id": "7", "inputs": [one], "outputs": [{"name": "y"}]}


def message(raw: list[bytes], *inputs: tuple[str, str, list[int]]) -> Any:
    made = service.ModelInferRequest(id="7", raw_input_contents=raw)
    for name, datatype, shape in inputs:
        made.inputs.add(name=name, datatype=datatype, shape=shape)
    return made


def test_json_is_read_flat_and_nested() -> None:
    for data in ([1, 2.5, 3, 4], [[1, 2.5], [3, 4]]):
        request = protocol.request_of_json(json.dumps(body(data=data)).encode())
        np.testing.assert_array_equal(request.inputs["x"], np.array([[1, 2.5], [3, 4]], np.float32))
        assert request.inputs["x"].dtype == np.float32 and (request.outputs, request.id) == (("y",), "7")
    empty = protocol.request_of_json(json.dumps(body(shape=[0, 3], data=[])).encode())
    assert empty.inputs["x"].shape == (0, 3)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float32", "float64"])
def test_answers_are_requests_again(dtype: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    datatype = protocol.datatype_of(values.dtype)
    answer = protocol.json_of("m", protocol.Request({}, (), "7"), {"x": values})
    assert (answer["model_name"], answer["id"]) == ("m", "7")
    again = protocol.request_of_json(json.dumps({"inputs": answer["outputs"]}).encode())
    np.testing.assert_array_equal(again.inputs["x"], values)
    response = service.ModelInferResponse()
    protocol.fill_response(response, "m", protocol.Request({}, (), "7"), {"x": values})
    [described] = response.outputs
    assert (described.name, described.datatype, list(described.shape)) == ("x", datatype, [2, 3])
    again = protocol.request_of_message(message(list(response.raw_output_contents), ("x", datatype, [2, 3])))
    np.testing.assert_array_equal(again.inputs["x"], values)


def test_contents_of_messages_are_read() -> None:
    made = message([], ("x", "FP32", [2]), ("n", "INT64", [1]))
    made.inputs[0].contents.fp32_contents.extend([1.5, 2])
    made.inputs[1].contents.int64_contents.append(1 << 40)
    request = protocol.request_of_message(made)
    assert request.inputs["x"].tolist() == [1.5, 2] and request.inputs["n"].tolist() == [1 << 40]


@pytest.mark.parametrize(("changes", "said"), [
    ({"name": 1}, "name"), ({"datatype": "BYTES"}, "BYTES"), ({"datatype": None}, "None"), ({"shape": "2"}, "shape"),
    ({"shape": [2, -2]}, "-2"), ({"shape": [2, 1.0]}, "1.0"), ({"shape": [True, 4]}, "True"), ({"shape": [1] * 33}, "32"),
    ({"shape": [1 << 40, 1 << 40]}, "4 values"), ({"data": [1]}, "1 values"), ({"data": {}}, "binary data"),
    ({"data": [[1, 2], [3]]}, "x"), ({"data": ["a", "b", "c", "d"]}, "x"), ({"data": [None] * 4}, "x"),
    ({"datatype": "INT8", "data": [1, 2, 3, 400]}, "x"), ({"datatype": "INT8", "data": [1, 2, 3, 1.5]}, "x"),
])
def test_wrong_inputs_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(sluice.InvalidArgument, match=said) as caught:
        protocol.request_of_json(json.dumps(body(**changes)).encode())
    assert protocol.status_of(caught.value) == 400


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"1", b'{"inputs": 1}', b'{"inputs": [1]}', b"[" * 100_000, b"\xff",
                                  b'{"inputs": [], "outputs": 1}', b'{"inputs": [], "outputs": [{}]}'])
def test_other_bodies_are_refused(text: bytes) -> None:
    with pytest.raises(sluice.InvalidArgument):
        protocol.request_of_json(text)


@pytest.mark.parametrize("made", [
    message([b"1234"], ("x", "FP32", [2])), message([b"1234", b"1234"], ("x", "FP32", [1])), message([b""], ("x", "BYTES", [0])),
    message([b"1234"], ("x", "FP32", [-1])), message([], ("x", "FP32", [1])), message([], ("x", "FP16", [1])),
    message([b"1234"], ("x", "FP32", [1 << 62, 1 << 62])),
])
def test_wrong_messages_are_refused(made: Any) -> None:
    with pytest.raises(sluice.InvalidArgument):
        protocol.request_of_message(made)


def test_damaged_bodies_are_refused_or_read() -> None:
    """Any bytes become a request or an error of sluice."""
    whole = json.dumps(body()).encode()
    chance = random.Random(1)
    for _ in range(2000):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            assert isinstance(protocol.request_of_json(bytes(damaged)), protocol.Request)
        except sluice.InvalidArgument:
            pass


def test_metadata_has_open_dimensions(digits: sluice.Model) -> None:
    described = protocol.metadata_of("digits", digits.inputs, digits.outputs)
    assert described["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}]
    assert [output["name"] for output in described["outputs"]] == ["probabilities"]
