"""Texts over ModelStreamInfer, to Triton's client as its users of text models call it."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
from conftest import PATIENCE, eventually
from language import CONTEXT, Language, language, served  # noqa: F401 - fixtures
from test_plain_http import Curl, complete, curl, inferences  # noqa: F401 - a fixture

grpcclient = pytest.importorskip("tritonclient.grpc")
InferenceServerException = pytest.importorskip("tritonclient.utils").InferenceServerException

PROMPT = "the cat \u4e2d\u6587 sat"
COUNT = 12


class Streaming:
    """A client and what its stream brings."""

    def __init__(self, address: str) -> None:
        self.client = grpcclient.InferenceServerClient(address)
        self._came: queue.Queue[tuple[Any, Any]] = queue.Queue()
        self.client.start_stream(callback=lambda result, error: self._came.put((result, error)))

    def ask(self, text: str, request_id: str = "1", stream: bool = True, sampling: Any = None, model: str = "tiny",
            inputs: tuple[Any, ...] = (), **given: Any) -> None:
        words = [tensor("text_input", np.array([text.encode()], object)), tensor("stream", np.array([stream]))]
        if sampling is not None:
            words.append(tensor("sampling_parameters", np.array([json.dumps(sampling).encode()], object)))
        self.client.async_stream_infer(model, [*words, *inputs], request_id=request_id, **given)

    def next(self) -> tuple[Any, Any]:
        return self._came.get(timeout=PATIENCE)

    def pieces(self, num_requests: int = 1) -> dict[str, list[str]]:
        """The texts of each request, until all have their last answer."""
        texts: dict[str, list[str]] = {}
        while num_requests > 0:
            result, error = self.next()
            assert error is None, error
            response = result.get_response()
            assert response.model_name == "tiny" and response.model_version == "1"
            if response.outputs:
                [text] = result.as_numpy("text_output")
                texts.setdefault(response.id, []).append(text.decode())
            num_requests -= response.parameters["triton_final_response"].bool_param
        return texts

    def error(self) -> str:
        result, error = self.next()
        assert result is None
        return str(error)


def tensor(name: str, value: Any) -> Any:
    datatype = {"O": "BYTES", "b": "BOOL", "i": "INT32", "f": "FP32"}[value.dtype.kind]
    made = grpcclient.InferInput(name, list(value.shape), datatype)
    made.set_data_from_numpy(value)
    return made


@pytest.fixture
def stream(served: daemons.Daemon, curl: Curl) -> Iterator[Streaming]:  # noqa: ARG001 - the daemon is ready
    made = Streaming(served.address)
    yield made
    made.client.stop_stream(cancel_requests=True)
    made.client.close()


def test_pieces_come_one_by_one_and_the_last_is_marked(stream: Streaming, language: Language) -> None:
    # Triton's client of vLLM sends numbers as texts, and all of them twice.
    sampling = {"temperature": "0", "max_tokens": str(COUNT)}
    stream.ask(PROMPT, sampling=sampling, parameters=sampling)
    [pieces] = stream.pieces().values()
    assert "".join(pieces) == language.text(PROMPT, COUNT)
    assert len(pieces) > 2 and pieces[-1] == ""
    stream.ask(PROMPT, sampling=sampling, enable_empty_final_response=True)
    [pieces] = stream.pieces().values()
    assert "".join(pieces) == language.text(PROMPT, COUNT) and pieces[-1] != ""


def test_text_without_a_stream_is_one_answer(stream: Streaming, language: Language) -> None:
    stream.ask(PROMPT, stream=False, sampling={"temperature": 0, "max_tokens": COUNT})
    assert stream.pieces() == {"1": [language.text(PROMPT, COUNT)]}


def test_parameters_may_be_inputs_as_of_tensorrt(stream: Streaming, language: Language) -> None:
    inputs = (tensor("max_tokens", np.array([[COUNT]], np.int32)), tensor("temperature", np.array([[0]], np.float32)),
              tensor("stop_words", np.array([[b""]], object)))
    stream.ask(PROMPT, inputs=inputs)
    assert "".join(stream.pieces()["1"]) == language.text(PROMPT, COUNT)
    stream.ask(PROMPT, stream=False, inputs=(*inputs, tensor("exclude_input_in_output", np.array([False]))))
    assert stream.pieces() == {"1": [PROMPT + language.text(PROMPT, COUNT)]}


def test_texts_of_one_stream_are_made_side_by_side(stream: Streaming, language: Language) -> None:
    prompts = {str(i): f"{PROMPT} {i}" for i in range(8)}
    for key, prompt in prompts.items():
        stream.ask(prompt, key, sampling={"temperature": 0, "max_tokens": COUNT})
    texts = {key: "".join(pieces) for key, pieces in stream.pieces(len(prompts)).items()}
    assert texts == {key: language.text(prompt, COUNT) for key, prompt in prompts.items()}


def test_what_is_no_text_is_refused_and_the_stream_goes_on(stream: Streaming, language: Language) -> None:
    for sampling, said in (({"colour": 1}, "colour"), ({"temperature": "hot"}, "temperature"), ([1], "no JSON object"),
                           ({"max_tokens": -1}, "max_tokens")):
        stream.ask(PROMPT, sampling=sampling)
        assert said in stream.error()
    stream.ask("", sampling={})
    assert "text_input" in stream.error()
    stream.ask(PROMPT, inputs=(tensor("max_tokens", np.zeros(5000, np.int32)),))
    assert "4096 elements" in stream.error()
    stream.ask(PROMPT, model="digits")
    assert "input" in stream.error()
    stream.ask(PROMPT, stream=False, sampling={"temperature": 0, "max_tokens": COUNT})
    assert stream.pieces() == {"1": [language.text(PROMPT, COUNT)]}


def test_one_answer_for_a_text_is_refused_and_the_config_says_so(served: daemons.Daemon, curl: Curl) -> None:
    inputs = [tensor("text_input", np.array([PROMPT.encode()], object)), tensor("max_tokens", np.array([COUNT], np.int32))]
    with grpcclient.InferenceServerClient(served.address) as client:
        with pytest.raises(InferenceServerException, match="ModelStreamInfer, or with POST /v2/models/tiny/generate") as raised:
            client.infer("tiny", inputs)
        assert raised.value.status() == "StatusCode.UNIMPLEMENTED"
        assert client.get_model_config("tiny").config.model_transaction_policy.decoupled
        assert not client.get_model_config("digits").config.model_transaction_policy.decoupled
    body = {"inputs": [{"name": "text_input", "shape": [1], "datatype": "BYTES", "data": [PROMPT]}]}
    status, answer = curl("POST", "/v2/models/tiny/infer", body)
    assert status == 501 and "ModelStreamInfer, or with POST /v2/models/tiny/generate" in answer["error"]
    assert curl("GET", "/v2/models/tiny/config")[1]["model_transaction_policy"] == {"decoupled": True}
    assert curl("GET", "/v2/models/digits/config")[1]["model_transaction_policy"] == {"decoupled": False}


def test_client_that_goes_ends_its_text(served: daemons.Daemon, curl: Curl) -> None:
    # On a busy machine a short text may end before its client has gone, but not each time.
    most = CONTEXT - 50
    ended_early = 0
    for _ in range(8):
        before = inferences(curl)
        gone = Streaming(served.address)
        gone.ask(PROMPT, sampling={"max_tokens": most, "temperature": 0})
        assert gone.next()[1] is None
        gone.client.stop_stream(cancel_requests=True)
        gone.client.close()

        def stands_still() -> bool:
            first = inferences(curl)
            complete(curl, max_tokens=4)  # four steps, which the text of the client that went would share
            steps = inferences(curl)
            return steps == first + 4 and curl("GET", "/v1/models")[0] == 200 and inferences(curl) == steps

        eventually(stands_still)
        ended_early += inferences(curl) - before < most
    assert ended_early > 0, "each text was written to its end"
