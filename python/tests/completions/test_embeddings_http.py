"""Embeddings and rerank of a `sluiced`, by OpenAI's own client and by plain HTTP."""

from __future__ import annotations

import base64
import http.client
import json
import threading
from collections.abc import Callable
from typing import Any

import daemon as daemons
import numpy as np
import pytest
from conftest import PATIENCE, eventually
from encoders import TEXTS, Encoders, encoders, served  # noqa: F401 - fixtures
from tiny_encoders import CONTEXT, WIDTH

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def ask(served: daemons.Daemon) -> Ask:
    def send(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(served.http, timeout=PATIENCE)
        connection.request(method, path, body if isinstance(body, bytes | None) else json.dumps(body))
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    eventually(lambda: len(send("GET", "/v1/models")[1].get("data", [])) == 2)
    return send


def embed(ask: Ask, texts: Any, **fields: Any) -> tuple[int, Any]:
    return ask("POST", "/v1/embeddings", {"model": "embedder", "input": texts, **fields})


def refusal(answer: tuple[int, Any]) -> tuple[int, str]:
    assert set(answer[1]["error"]) == {"message", "type", "param", "code"}
    return answer[0], answer[1]["error"]["message"]


def test_openai_client_reads_vectors(served: daemons.Daemon, ask: Ask, encoders: Encoders) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"http://{served.http}/v1", api_key="none", timeout=PATIENCE, max_retries=0) as client:
        for form in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
            answer = client.embeddings.create(model="embedder", input=TEXTS, **form)
            vectors = [one.embedding for one in answer.data]
            if form.get("encoding_format") == "base64":
                vectors = [np.frombuffer(base64.b64decode(one), np.float32) for one in vectors]
            assert np.allclose(vectors, encoders.vectors(TEXTS), atol=1e-4)
            assert [one.index for one in answer.data] == list(range(len(TEXTS)))
            assert answer.usage.prompt_tokens == answer.usage.total_tokens == sum(map(encoders.length, TEXTS))
        with pytest.raises(openai.BadRequestError) as long:
            client.embeddings.create(model="embedder", input="cat " * CONTEXT)
        assert long.value.code == "context_length_exceeded"


def test_inputs_may_be_a_text_or_tokens(ask: Ask, encoders: Encoders) -> None:
    wanted = encoders.vectors(TEXTS[:2])
    ids = [encoders.tokenizer.encode(text).ids for text in TEXTS[:2]]
    for given, count in ((TEXTS[0], 1), ([TEXTS[0]], 1), (ids[0], 1), (ids, 2)):
        status, answer = embed(ask, given)
        assert status == 200 and answer["object"] == "list" and answer["model"] == "embedder"
        assert np.allclose([one["embedding"] for one in answer["data"]], wanted[:count], atol=1e-4)


def test_dimensions_cut_vectors_to_length_1(ask: Ask, encoders: Encoders) -> None:
    wanted = encoders.vectors(TEXTS)[:, :8]
    wanted /= np.sqrt((wanted * wanted).sum(-1, keepdims=True))
    found = [one["embedding"] for one in embed(ask, TEXTS, dimensions=8)[1]["data"]]
    assert np.allclose(found, wanted, atol=1e-4)


def test_rerank_gives_the_best_first(ask: Ask, encoders: Encoders) -> None:
    body = {"model": "scorer", "query": "who ran?", "documents": [TEXTS[0], {"text": TEXTS[1]}, *TEXTS[2:]]}
    scores = encoders.scores("who ran?", TEXTS)
    order = sorted(range(len(TEXTS)), key=lambda i: -scores[i])
    status, answer = ask("POST", "/v1/rerank", body)
    assert status == 200
    assert [one["index"] for one in answer["results"]] == order
    assert np.allclose([one["relevance_score"] for one in answer["results"]], sorted(scores)[::-1], atol=1e-4)
    assert answer["usage"]["total_tokens"] == sum(encoders.length("who ran?", text) for text in TEXTS)
    best = ask("POST", "/v1/rerank", {**body, "top_n": 2, "return_documents": True})[1]["results"]
    assert [one["document"]["text"] for one in best] == [TEXTS[i] for i in order[:2]]


def test_long_texts_are_cut_where_the_client_says_so(ask: Ask, encoders: Encoders) -> None:
    long = "cat dog " * 200
    assert embed(ask, long)[0] == 400
    whole = embed(ask, long, truncate=True)
    assert whole[0] == 200 and whole[1]["usage"]["prompt_tokens"] == 80
    assert whole[1]["data"] == embed(ask, "cat dog " * 300, truncate="END")[1]["data"]
    assert whole[1]["data"] != embed(ask, "cat dog")[1]["data"]
    assert embed(ask, encoders.tokenizer.encode(long).ids, truncate=True)[0] == 200
    body = {"model": "scorer", "query": "who ran?", "documents": [TEXTS[0], long]}
    assert ask("POST", "/v1/rerank", body)[0] == 400
    status, answer = ask("POST", "/v1/rerank", {**body, "truncate": True})
    assert status == 200 and answer["usage"]["total_tokens"] == encoders.length("who ran?", TEXTS[0]) + 80
    short = {**body, "documents": ["cat dog cat dog"], "max_tokens_per_doc": 2}
    alone = {**body, "documents": ["cat dog"]}
    assert ask("POST", "/v1/rerank", short)[1] == ask("POST", "/v1/rerank", alone)[1]


def test_rerank_is_at_the_paths_of_its_clients_and_takes_their_fields(ask: Ask) -> None:
    """Cohere's second version, and those that talk to vLLM or Infinity."""
    body = {"model": "scorer", "query": "who ran?", "documents": TEXTS}
    wanted = ask("POST", "/v1/rerank", body)[1]["results"]
    documents = [{"text": text, "id": i, "title": "cat"} for i, text in enumerate(TEXTS)]
    fields = {"max_tokens_per_doc": 4096, "max_chunks_per_doc": 10, "rank_fields": ["text"]}
    for path in ("/v2/rerank", "/rerank", "/v1/rerank/"):
        status, answer = ask("POST", path, {**body, "documents": documents, **fields})
        assert status == 200 and answer["results"] == wanted, path
    for path in ("/v2/rerank", "/rerank"):
        assert ask("GET", path)[0] == 405
        assert ask("POST", path, {**body, "model": "none"})[1]["error"]["code"] == "model_not_found"


def test_rerank_reads_a_query_once_for_all_documents(ask: Ask, encoders: Encoders) -> None:
    """Spaces make no tokens, so that the context does not bound them; read 2,048 times they take minutes."""
    query = " " * (2 << 20) + "who ran?"
    body = {"model": "scorer", "query": query, "documents": ["cat"] * 2047 + ["dog"]}
    status, answer = ask("POST", "/v1/rerank", body)
    assert status == 200
    scores = {one["index"]: one["relevance_score"] for one in answer["results"]}
    assert np.allclose([scores[0], scores[2047]], encoders.scores("who ran?", ["cat", "dog"]), atol=1e-4)
    status, message = refusal(ask("POST", "/v1/rerank", {**body, "timeout": 1}))
    assert status == 504 and "deadline passed" in message


def test_models_say_what_they_take(ask: Ask) -> None:
    models = {model["id"]: model["endpoints"] for model in ask("GET", "/v1/models")[1]["data"]}
    assert models == {"embedder": ["/v1/embeddings"], "scorer": ["/v1/rerank"]}
    assert ask("GET", "/v1/models/scorer")[1]["endpoints"] == ["/v1/rerank"]
    assert ask("GET", "/v1/embeddings")[0] == 405


def test_clients_at_once_get_their_own_vectors(ask: Ask, encoders: Encoders) -> None:
    texts = [f"the {'dog cat mat'.split()[i % 3]} sat {'on ' * (i % 5)}" for i in range(40)]
    wanted = encoders.vectors(texts)
    found: dict[int, Any] = {}

    def send(i: int) -> None:
        for _ in range(5):
            found[i] = embed(ask, texts[i])[1]["data"][0]["embedding"]
            if not np.allclose(found[i], wanted[i], atol=1e-4):
                return

    threads = [threading.Thread(target=send, args=(i,)) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.allclose([found[i] for i in range(len(texts))], wanted, atol=1e-4)


def test_long_lists_are_answered_and_longer_ones_refused(ask: Ask, encoders: Encoders) -> None:
    texts = [f"{'cat ' * (i % 50)}dog" for i in range(2048)]
    status, answer = embed(ask, texts)
    assert status == 200 and len(answer["data"]) == 2048
    some = list(range(0, 2048, 97))
    assert np.allclose([answer["data"][i]["embedding"] for i in some], encoders.vectors([texts[i] for i in some]), atol=1e-4)
    status, message = refusal(embed(ask, ["a"] * 5000))
    assert status == 400 and "a list of 5000; at most 2048" in message


@pytest.mark.parametrize(("fields", "expected"), [
    ({"input": []}, "input: expected"),
    ({"input": ["cat", ""]}, "input[1]: it is empty"),
    ({"input": [["cat"]]}, "input[0]: expected a whole number"),
    ({"input": [[10**6]]}, "input[0]: the id 1000000"),
    ({"input": ["cat", "cat " * 200]}, "input[1]: the text has 202 tokens; the model takes 80"),
    ({"input": 3}, "input: expected"),
    ({"dimensions": WIDTH + 1}, f"the model's vectors have {WIDTH}"),
    ({"dimensions": "8"}, "dimensions"),
    ({"encoding_format": "int8"}, "encoding_format"),
    ({"truncate": "START"}, "truncate: expected"),
    ({"model": "digits"}, "no vectors of texts"),
    ({"model": "scorer"}, "/v1/rerank takes them"),
    ({"model": "none"}, "none"),
])
def test_wrong_fields_are_named(ask: Ask, fields: dict[str, Any], expected: str) -> None:
    status, message = refusal(ask("POST", "/v1/embeddings", {"model": "embedder", "input": "cat", **fields}))
    assert status == (404 if fields.get("model") == "none" else 400) and expected in message


@pytest.mark.parametrize(("fields", "expected"), [
    ({"documents": []}, "documents: expected"),
    ({"documents": ["cat", {"title": "x"}]}, "documents[1]"),
    ({"documents": ["cat", "cat " * 200]}, "documents[1]: the pair of texts has"),
    ({"query": ""}, "query: missing"),
    ({"query": "cat " * 200}, "query: the text has 200 tokens; the model takes 80"),
    ({"top_n": 0}, "top_n"),
    ({"rank_fields": ["title"]}, "rank_fields: not served"),
    ({"truncate": "START"}, "truncate: expected"),
    ({"model": "embedder"}, "/v1/embeddings gives them"),
])
def test_wrong_fields_of_rerank_are_named(ask: Ask, fields: dict[str, Any], expected: str) -> None:
    status, message = refusal(ask("POST", "/v1/rerank", {"model": "scorer", "query": "who?", "documents": ["cat"], **fields}))
    assert status == 400 and expected in message


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": "\xff"}', b"[" * 100_000,
                                  b'{"model": "embedder", "input": "\xc3\x28"}', b"\x00" * 100,
                                  b'{"model": "embedder", "input": "' + b"x" * (5 << 20) + b'"}'])
def test_bodies_that_are_no_request_are_refused(ask: Ask, body: bytes) -> None:
    for path in ("/v1/embeddings", "/v1/rerank"):
        status, message = refusal(ask("POST", path, body))
        assert status == (413 if len(body) > 4 << 20 else 400) and message


def test_timeout_ends_a_request(ask: Ask) -> None:
    status, message = refusal(embed(ask, ["cat " * 70] * 2000, timeout=1))
    assert status == 504 and message
