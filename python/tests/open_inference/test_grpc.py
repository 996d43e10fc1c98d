"""What this daemon alone says over gRPC, to Triton's client; test_behaviour.py has what any server says."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS
from onnx import TensorProto, helper

grpcclient = pytest.importorskip("tritonclient.grpc")
InferenceServerException = pytest.importorskip("tritonclient.utils").InferenceServerException


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[daemons.Daemon]:
    folder = tmp_path_factory.mktemp("served")
    sluice.compile(DIGITS).save(folder / "digits.sluice")
    sluice.compile(words()).save(folder / "words.sluice")
    with daemons.running(folder) as running:
        yield running


@pytest.fixture
def client(served: daemons.Daemon) -> Iterator[Any]:
    with grpcclient.InferenceServerClient(served.address) as made:
        for name in ("digits", "words"):
            made.load_model(name)
        yield made


def words() -> Any:
    """Doubles numbers of any shape [N, 2] and gives words back."""
    inputs = [helper.make_tensor_value_info("n", TensorProto.INT64, ["N", 2]),
              helper.make_tensor_value_info("w", TensorProto.STRING, ["M"])]
    outputs = [helper.make_tensor_value_info("twice", TensorProto.INT64, ["N", 2]),
               helper.make_tensor_value_info("again", TensorProto.STRING, ["M"])]
    nodes = [helper.make_node("Add", ["n", "n"], ["twice"]), helper.make_node("Identity", ["w"], ["again"])]
    graph = helper.make_graph(nodes, "words", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def tensor(name: str, value: np.ndarray, datatype: str) -> Any:
    made = grpcclient.InferInput(name, list(value.shape), datatype)
    made.set_data_from_numpy(value)
    return made


def test_server_and_models_describe_themselves(client: Any) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("digits") and not client.is_model_ready("absent")
    assert client.get_server_metadata().name == "sluice"
    metadata = client.get_model_metadata("words", as_json=True)
    assert metadata["inputs"][0] == {"name": "n", "datatype": "INT64", "shape": ["-1", "2"]}
    assert metadata["inputs"][1] == {"name": "w", "datatype": "BYTES", "shape": ["-1"]}
    config = client.get_model_config("digits").config
    assert (config.name, config.max_batch_size) == ("digits", 0)
    assert {model.name for model in client.get_model_repository_index().models} == {"digits", "words"}


def test_answers_are_those_of_the_model_here(client: Any, image: np.ndarray) -> None:
    expected = sluice.compile(DIGITS)(image)
    result = client.infer("digits", [tensor("image", image, "FP32")], request_id="seven")
    np.testing.assert_array_equal(result.as_numpy("probabilities"), expected)
    assert result.get_response().id == "seven"


def test_classes_are_the_most_likely_digits(client: Any, image: np.ndarray) -> None:
    expected = sluice.compile(DIGITS)(image)
    wanted = [grpcclient.InferRequestedOutput("probabilities", class_count=3)]
    classes = client.infer("digits", [tensor("image", image, "FP32")], outputs=wanted).as_numpy("probabilities")
    assert classes.shape == (len(expected), 3)
    for row, texts in zip(expected, classes, strict=True):
        values, indexes = zip(*(text.decode().split(":") for text in texts), strict=True)
        assert [int(index) for index in indexes] == list(np.argsort(-row, kind="stable")[:3])
        np.testing.assert_allclose([float(value) for value in values], np.sort(row)[::-1][:3], atol=1e-6)


def test_wrong_requests_are_refused_by_name(client: Any, image: np.ndarray) -> None:
    right = tensor("image", image, "FP32")
    for name, inputs, message in [
        ("absent", [right], "Request for unknown model: 'absent' is not found"),
        ("digits", [], 'input "image" is missing'),
        ("digits", [tensor("picture", image, "FP32")], "no input picture"),
        ("digits", [tensor("image", image.astype(np.float64), "FP64")], "f64"),
        ("digits", [right, right], "given twice"),
    ]:
        with pytest.raises(InferenceServerException, match=message):
            client.infer(name, inputs)
    with pytest.raises(InferenceServerException, match="Request for unknown model: 'digits' version 7 is not found"):
        client.infer("digits", [right], model_version="7")
    with pytest.raises(InferenceServerException, match="keeps no sequences"):
        client.infer("digits", [right], sequence_id=3, sequence_start=True)


def test_models_come_and_go_by_name(client: Any, served: daemons.Daemon) -> None:
    (served.folder / "again.sluice").write_bytes(pathlib.Path(served.folder / "digits.sluice").read_bytes())
    client.load_model("again")
    assert client.is_model_ready("again")
    client.unload_model("again")
    assert not client.is_model_ready("again")
    with pytest.raises(InferenceServerException, match="no model folder has"):
        client.load_model("absent")
