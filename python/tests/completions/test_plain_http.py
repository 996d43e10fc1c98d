"""OpenAI's API and Triton's generate routes as programs without a client library use them."""

from __future__ import annotations

import http.client
import json
import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import pytest
from conftest import PATIENCE, eventually
from language import CONTEXT, Language, language, served  # noqa: F401 - fixtures

PROMPT = "the cat \u4e2d\u6587 sat"


class Curl:
    """Requests by hand, each on a connection of its own."""

    def __init__(self, address: str) -> None:
        self.address = address

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.address, timeout=PATIENCE)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = self.connection()
        data = json.dumps(body) if isinstance(body, dict) else body
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None

    def events(self, path: str, body: dict[str, Any]) -> Iterator[str]:
        connection = self.connection()
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.getheader("Content-Type") == "text/event-stream; charset=utf-8"
        for line in answer:
            text = line.decode()
            assert text.startswith("data: ") or text == "\n", text
            if text != "\n":
                yield text.removeprefix("data: ").removesuffix("\n")
        connection.close()


@pytest.fixture(scope="session")
def curl(served: daemons.Daemon) -> Curl:
    made = Curl(served.http)
    eventually(lambda: made("GET", "/v2/health/ready")[0] == 200)
    return made


def complete(curl: Curl, **fields: Any) -> tuple[int, Any]:
    return curl("POST", "/v1/completions", {"model": "tiny", "prompt": PROMPT, "max_tokens": 12,
                                            "temperature": 0, **fields})


def refusal(curl: Curl, path: str = "/v1/completions", body: Any = None, **fields: Any) -> tuple[int, str]:
    if body is None:
        body = {"model": "tiny", "prompt": PROMPT, **fields}
    status, answer = curl("POST", path, body)
    error = answer["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return status, error["message"]


def test_texts_are_those_of_the_model(curl: Curl, language: Language) -> None:
    status, answer = complete(curl)
    assert status == 200
    assert answer["object"] == "text_completion" and answer["model"] == "tiny"
    choice = answer["choices"][0]
    assert choice == {"index": 0, "text": language.text(PROMPT, 12), "logprobs": None, "finish_reason": "length"}
    prompt = language.length(PROMPT)
    assert answer["usage"] == {"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": 0},
                               "completion_tokens": 12, "total_tokens": prompt + 12}


def test_prompts_may_be_ids_and_come_back(curl: Curl, language: Language) -> None:
    ids, said = language.tokenizer.encode(PROMPT).ids, language.text(PROMPT, 12)
    for prompt in (ids, [ids], [PROMPT]):
        assert complete(curl, prompt=prompt)[1]["choices"][0]["text"] == said
    for prompt in (ids, PROMPT):
        assert complete(curl, prompt=prompt, echo=True)[1]["choices"][0]["text"] == PROMPT + said
    assert complete(curl, max_tokens=0, echo=True)[1]["choices"][0]["text"] == PROMPT


def test_long_prompts_are_read_in_pieces(curl: Curl, language: Language) -> None:
    prompt = "the dog saw the mat " * 60
    assert language.length(prompt) > 256
    assert complete(curl, prompt=prompt, max_tokens=3)[1]["choices"][0]["text"] == language.text(prompt, 3)


def test_stop_texts_end_a_text_before_them(curl: Curl, language: Language) -> None:
    said = language.text(PROMPT, 40)
    stop = said[len(said) // 2:][:3]
    for stops in (stop, ["no such text", stop]):
        choice = complete(curl, max_tokens=40, stop=stops)[1]["choices"][0]
        assert (choice["text"], choice["finish_reason"]) == (said.partition(stop)[0], "stop")
    tokens = language.tokens(PROMPT, 12)
    choice = complete(curl, stop_token_ids=[tokens[4]])[1]["choices"][0]
    before = tokens[:tokens.index(tokens[4])]
    assert (choice["text"], choice["finish_reason"]) == (language.tokenizer.decode(before), "stop")


def test_seeds_repeat_a_draw(curl: Curl) -> None:
    def draw(seed: int) -> str:
        return complete(curl, temperature=1.5, top_k=0, top_p=0.99, min_p=0.001, seed=seed)[1]["choices"][0]["text"]

    assert draw(7) == draw(7) and draw(-1) == draw(-1)
    assert len({draw(seed) for seed in range(4)}) > 1


def test_events_are_the_text_in_pieces(curl: Curl, language: Language) -> None:
    body = {"model": "tiny", "prompt": PROMPT, "max_tokens": 40, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True}}
    *chunks, usage, done = list(curl.events("/v1/completions", body))
    assert done == "[DONE]"
    pieces = [json.loads(chunk)["choices"][0] for chunk in chunks]
    assert len(pieces) > 10
    assert "".join(piece["text"] for piece in pieces) == language.text(PROMPT, 40)
    assert [piece["finish_reason"] for piece in pieces] == [None] * (len(pieces) - 1) + ["length"]
    last = json.loads(usage)
    assert last["choices"] == [] and last["usage"]["completion_tokens"] == 40
    assert len({json.loads(chunk)["id"] for chunk in [*chunks, usage]}) == 1


def test_models_are_those_that_generate_texts(curl: Curl) -> None:
    status, answer = curl("GET", "/v1/models")
    assert status == 200 and answer["object"] == "list"
    assert {(model["id"], model["object"]) for model in answer["data"]} == {("tiny", "model"), ("plain", "model")}
    assert curl("GET", "/v1/models/tiny")[1]["id"] == "tiny"
    for path in ("/v1/models/digits", "/v1/models/none"):
        status, answer = curl("GET", path)
        assert status == 404 and answer["error"]["code"] == "model_not_found"


def test_paths_that_are_not_there_are_not_found_by_any_method(curl: Curl) -> None:
    for path in ("/v1/responses", "/v1/moderations", "/v1/other", "/v1", "/v1/", "/v1/modelsx", "/v1/chat"):
        for method in ("GET", "POST", "DELETE"):
            status, answer = curl(method, path, {})
            assert status == 404, (method, path)
            assert answer["error"]["code"] == "unknown_url" and answer["error"]["type"] == "invalid_request_error"
    status, answer = curl("POST", "/v1/models/digits:predict", {"instances": [[1]]})
    assert status == 404 and "/v2/models/NAME/infer" in answer["error"]["message"]
    for path in ("/v1/completions", "/v1/chat/completions/", "/v1/embeddings", "/v1/rerank"):
        assert curl("GET", path)[0] == 405
    for path in ("/v1/models", "/v1/models/", "/v1/models/tiny/"):
        assert (curl("GET", path)[0], curl("POST", path, {})[0]) == (200, 405)
    assert curl("POST", "/v1/completions/", {"model": "tiny", "prompt": PROMPT, "max_tokens": 1})[0] == 200


def test_other_models_are_refused(curl: Curl) -> None:
    status, message = refusal(curl, model="none")
    assert status == 404 and "none" in message
    status, message = refusal(curl, model="digits")
    assert status == 400 and "generates no text" in message


def test_prompts_beyond_the_context_are_refused(curl: Curl, language: Language) -> None:
    long = "the dog " * CONTEXT
    for fields in ({"prompt": long}, {"max_tokens": CONTEXT}):
        status, message = refusal(curl, **fields)
        count = language.length(fields.get("prompt", PROMPT))
        assert status == 400 and f"the model's context has {CONTEXT}" in message and f"has {count} tokens" in message


@pytest.mark.parametrize(("fields", "expected"), [
    ({"stop": ["x"] * 10_000}, "10000 texts"),
    ({"stop": "x" * 5000}, "5000 bytes"),
    ({"stop": [1]}, "expected texts"),
    ({"best_of": 3}, "best_of: not served"),
    ({"logprobs": 21}, "logprobs: 21 is not between"),
    ({"logprobs": True}, "logprobs: expected a whole number"),
    ({"logprobs": 1, "echo": True}, "leave out echo"),
    ({"suffix": "end"}, "suffix: not served"),
    ({"presence_penalty": 2.5}, "presence_penalty is 2.5; it takes -2 to 2"),
    ({"frequency_penalty": -3}, "frequency_penalty is -3; it takes -2 to 2"),
    ({"frequency_penalty": "much"}, "frequency_penalty: expected a number"),
    ({"logit_bias": {"5": 101}}, "logit_bias is 101; it takes -100 to 100"),
    ({"logit_bias": {"100000": 1}}, "logit_bias has the id 100000; the model has tokens"),
    ({"logit_bias": {"cat": 1}}, "logit_bias: expected ids"),
    ({"logit_bias": [[5, 1]]}, "logit_bias: expected an object"),
    ({"logit_bias": {str(id): 1 for id in range(1025)}}, "1024"),
    ({"bad_words": ["a"] * 513}, "bad_words: 513 texts; at most 512"),
    ({"prompt": ["a", ""]}, "prompt[1]: the text is empty"),
    ({"prompt": []}, "prompt: expected"),
    ({"prompt": ""}, "empty"),
    ({"prompt": [10**6]}, "the id 1000000"),
    ({"prompt": [2**63]}, "prompt"),
    ({"temperature": -1}, "temperature"),
    ({"temperature": "hot"}, "temperature: expected a number"),
    ({"top_p": 2}, "top_p"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": 10**30}, "max_tokens"),
    ({"seed": 1.5}, "seed"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"temprature": 0}, "\"temprature\" is a field that is not known here"),
    ({"model": 3}, "model"),
])
def test_wrong_fields_are_named(curl: Curl, fields: dict[str, Any], expected: str) -> None:
    status, message = refusal(curl, **fields)
    assert status == 400 and expected in message


def test_fields_that_are_not_served_are_told_from_faults_of_the_server(curl: Curl) -> None:
    """Clients send a request again after any status from 500 on, and routers leave such a server out."""
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    schema = {"type": "json_schema", "json_schema": {"strict": True, "schema": {"type": "array", "uniqueItems": True}}}
    chat = {"messages": [{"role": "user", "content": "a"}]}
    for param, fields in (("best_of", {"prompt": "a", "best_of": 3}), ("suffix", {"prompt": "a", "suffix": "b"}),
                          ("functions", {**chat, "functions": [{}]}),
                          ("logprobs", {"prompt": "a", "echo": True, "logprobs": 1}),
                          ("messages", {"messages": [{"role": "user", "content": [image]}]}),
                          (None, {**chat, "response_format": schema})):
        path = "/v1/chat/completions" if "messages" in fields else "/v1/completions"
        status, answer = curl("POST", path, {"model": "tiny", **fields})
        error = answer["error"]
        assert status == 400, error
        assert (error["type"], error["code"]) == ("invalid_request_error", "unsupported_parameter")
        assert param in (None, error["param"])
    status, answer = curl("POST", "/v1/completions", {"model": "tiny", "prompt": "a", "max_tokens": -1})
    assert (status, answer["error"]["param"], answer["error"]["code"]) == (400, "max_tokens", None)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nonsense", b'{"model": "\xff"}', b"[" * 100_000, b'{"a":' * 100_000,
                                  b'{"model": "tiny", "prompt": "\xc3\x28"}', b"\x00" * 100])
def test_bodies_that_are_no_request_are_refused(curl: Curl, body: bytes) -> None:
    for path in ("/v1/completions", "/v1/chat/completions"):
        status, message = refusal(curl, path, body)
        assert status == 400 and message


@pytest.mark.parametrize("path", ["completions", "chat/completions", "embeddings", "rerank"])
def test_bodies_that_are_too_large_are_told_so(curl: Curl, path: str) -> None:
    body = json.dumps({"model": "tiny", "prompt": "a" * (4 << 20)}).encode()
    status, message = refusal(curl, f"/v1/{path}", body)
    assert status == 413 and f"has {len(body)} bytes" in message
    assert curl("POST", "/v2/models/tiny/generate", body)[0] == 413


def test_sixteen_clients_at_once_get_their_own_texts(curl: Curl, language: Language) -> None:
    prompts = [f"the cat {'sat ' * i}" for i in range(16)]
    expected = [language.text(prompt, 10) for prompt in prompts]
    said: list[str] = [""] * 16

    def ask(i: int) -> None:
        if i % 2:
            body = {"model": "tiny", "prompt": prompts[i], "max_tokens": 10, "temperature": 0, "stream": True}
            *chunks, _ = list(curl.events("/v1/completions", body))
            said[i] = "".join(json.loads(chunk)["choices"][0]["text"] for chunk in chunks)
        else:
            said[i] = complete(curl, prompt=prompts[i], max_tokens=10)[1]["choices"][0]["text"]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == expected


def inferences(curl: Curl) -> int:
    """Steps that the model answered or gave up."""
    _, answer = curl("GET", "/v2/models/tiny/stats")
    stats = answer["model_stats"][0]["inference_stats"]
    return int(stats["success"]["count"] + stats["fail"]["count"])


@pytest.mark.parametrize("is_streamed", [True, False])
def test_client_that_goes_ends_its_text(curl: Curl, is_streamed: bool) -> None:
    # On a busy machine a short text may end before its client has gone, but not each time.
    ended_early = 0
    for _ in range(8):
        before = inferences(curl)
        host, port = curl.address.rsplit(":", 1)
        body = json.dumps({"model": "tiny", "prompt": [1], "max_tokens": CONTEXT - 1, "temperature": 0, "stream": is_streamed})
        client = socket.create_connection((host, int(port)))
        client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        eventually(lambda before=before: inferences(curl) > before)
        client.close()

        def stands_still() -> bool:
            first = inferences(curl)
            complete(curl, max_tokens=4)  # four steps, which the text of the client that went would share
            steps = inferences(curl)
            return steps == first + 4 and curl("GET", "/v1/models")[0] == 200 and inferences(curl) == steps

        eventually(stands_still)
        ended_early += inferences(curl) - before < CONTEXT - 1
    assert ended_early > 0, "each text was written to its end"
    assert complete(curl)[0] == 200


def test_timeout_ends_a_text(curl: Curl) -> None:
    status, message = refusal(curl, timeout=1, max_tokens=100)
    assert status == 504 and "deadline" in message
    body = {"model": "tiny", "prompt": [1], "max_tokens": CONTEXT - 1, "temperature": 0, "stream": True,
            "timeout": 100_000}
    *_, last = list(curl.events("/v1/completions", body))
    assert last == "[DONE]" or "deadline" in json.loads(last)["error"]["message"]


def test_generate_routes_of_triton(curl: Curl, language: Language) -> None:
    said = language.text(PROMPT, 12)
    for body in ({"text_input": PROMPT, "max_tokens": 12, "temperature": 0},
                 {"text_input": PROMPT, "id": "7", "parameters": {"max_tokens": 12, "temperature": 0, "stream": False}}):
        status, answer = curl("POST", "/v2/models/tiny/generate", body)
        assert status == 200
        assert (answer["text_output"], answer["model_name"], answer["model_version"]) == (said, "tiny", "1")
        assert answer.get("id") == body.get("id")
        events = [json.loads(one) for one in curl.events("/v2/models/tiny/versions/1/generate_stream", body)]
        assert len(events) > 1 and "".join(one["text_output"] for one in events) == said
    for name, expected in (("none", 404), ("digits", 400)):
        status, answer = curl("POST", f"/v2/models/{name}/generate", {"text_input": "a"})
        assert status == expected and isinstance(answer["error"], str)
    assert curl("POST", "/v2/models/tiny/generate", {"text": "a"})[1]["error"] == "text_input: missing"
    assert curl("GET", "/v2/models/tiny/generate")[0] == 405


def test_daemon_that_ends_lets_texts_end(tmp_path: pathlib.Path, language: Language) -> None:
    """As long as it drains; it takes no new ones."""
    language.save(tmp_path / "models" / "tiny")
    with daemons.running(tmp_path, "--http", "localhost:0", "--repository", str(tmp_path / "models")) as running:
        curl = Curl(running.http)
        eventually(lambda: curl("GET", "/v2/health/ready")[0] == 200)
        body = {"model": "tiny", "prompt": [1], "max_tokens": CONTEXT - 1, "temperature": 0, "stream": True}
        events = curl.events("/v1/completions", body)
        chunks = [next(events)]
        running.terminate()
        chunks += events
    assert chunks[-1] == "[DONE]" and json.loads(chunks[-2])["choices"][0]["finish_reason"] == "length"


def test_models_are_looked_at_and_not_removed(served: daemons.Daemon) -> None:
    def ask(method: str, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(served.http)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    for method in ("DELETE", "POST", "PUT"):
        assert ask(method, "/v1/models/tiny")[0] == 405
    assert json.loads(ask("GET", "/v1/models/tin%79")[1])["id"] == "tiny"
    assert ask("GET", "/v1/models/%ff")[0] == 400
