"""Programs of others, unchanged, against a `sluiced`: Triton's client over gRPC."""

from __future__ import annotations

import pathlib
import queue
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS, PATIENCE
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


def test_strings_and_any_shape_come_back(client: Any) -> None:
    numbers = np.arange(6, dtype=np.int64).reshape(3, 2)
    texts = np.array([b"", "süß".encode(), b"\x00\xff", b"long" * 100], dtype=np.object_)
    result = client.infer("words", [tensor("n", numbers, "INT64"), tensor("w", texts, "BYTES")])
    np.testing.assert_array_equal(result.as_numpy("twice"), 2 * numbers)
    assert list(result.as_numpy("again")) == list(texts)


def test_chosen_outputs_come_in_the_order_asked_for(client: Any) -> None:
    inputs = [tensor("n", np.zeros((0, 2), np.int64), "INT64"), tensor("w", np.array([b"a"], np.object_), "BYTES")]
    wanted = [grpcclient.InferRequestedOutput("again"), grpcclient.InferRequestedOutput("twice")]
    response = client.infer("words", inputs, outputs=wanted).get_response()
    assert [output.name for output in response.outputs] == ["again", "twice"]
    assert list(response.outputs[1].shape) == [0, 2]


def test_classes_are_the_most_likely_digits(client: Any, image: np.ndarray) -> None:
    expected = sluice.compile(DIGITS)(image)
    wanted = [grpcclient.InferRequestedOutput("probabilities", class_count=3)]
    classes = client.infer("digits", [tensor("image", image, "FP32")], outputs=wanted).as_numpy("probabilities")
    assert classes.shape == (len(expected), 3)
    for row, texts in zip(expected, classes, strict=True):
        values, indexes = zip(*(text.decode().split(":") for text in texts), strict=True)
        assert [int(index) for index in indexes] == list(np.argsort(-row, kind="stable")[:3])
        np.testing.assert_allclose([float(value) for value in values], np.sort(row)[::-1][:3], atol=1e-6)


def test_asynchronous_calls_and_streams_are_answered(client: Any, image: np.ndarray) -> None:
    inputs = [tensor("image", image, "FP32")]
    answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
    for number in range(20):
        client.async_infer("digits", inputs, lambda result, error: answers.put((result, error)),
                           request_id=str(number))
    seen = set()
    for _ in range(20):
        result, error = answers.get(timeout=PATIENCE)
        assert error is None
        seen.add(result.get_response().id)
    assert seen == {str(number) for number in range(20)}

    client.start_stream(lambda result, error: answers.put((result, error)))
    client.async_stream_infer("digits", inputs)
    client.async_stream_infer("absent", inputs)
    client.async_stream_infer("digits", inputs)
    got = [answers.get(timeout=PATIENCE) for _ in range(3)]
    client.stop_stream()
    assert sum(error is None for _, error in got) == 2
    assert any("no model is called" in str(error) for _, error in got)


def test_wrong_requests_are_refused_by_name(client: Any, image: np.ndarray) -> None:
    right = tensor("image", image, "FP32")
    for name, inputs, message in [
        ("absent", [right], 'no model is called "absent"'),
        ("digits", [], 'input "image" is missing'),
        ("digits", [tensor("picture", image, "FP32")], "no input picture"),
        ("digits", [tensor("image", image.astype(np.float64), "FP64")], "f64"),
        ("digits", [right, right], "given twice"),
    ]:
        with pytest.raises(InferenceServerException, match=message):
            client.infer(name, inputs)
    with pytest.raises(InferenceServerException, match="no model is called \"digits\", version 7"):
        client.infer("digits", [right], model_version="7")
    with pytest.raises(InferenceServerException, match="keeps no sequences"):
        client.infer("digits", [right], sequence_id=3, sequence_start=True)


def test_statistics_grow_with_the_requests(client: Any, image: np.ndarray) -> None:
    def count() -> int:
        return int(client.get_inference_statistics("digits").model_stats[0].inference_count)

    before = count()
    for _ in range(3):
        client.infer("digits", [tensor("image", image, "FP32")])
    assert count() == before + 3


def test_models_come_and_go_by_name(client: Any, served: daemons.Daemon) -> None:
    (served.folder / "again.sluice").write_bytes(pathlib.Path(served.folder / "digits.sluice").read_bytes())
    client.load_model("again")
    assert client.is_model_ready("again")
    client.unload_model("again")
    assert not client.is_model_ready("again")
    with pytest.raises(InferenceServerException, match="no model folder has"):
        client.load_model("absent")
