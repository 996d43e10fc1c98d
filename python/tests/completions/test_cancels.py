"""Clients that go in the middle of their texts, at random, cost a daemon no page of keys and values."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import random
from typing import Any

import daemon as daemons
from conftest import eventually
from language import CONTEXT, Language, language  # noqa: F401 - a fixture
from test_plain_http import Curl

TEXTS, CLIENTS = 300, 8
PAGE_BYTES = 3 * 2 * 2 * 32 * 16 * 4  # layers, keys and values, heads, places, size, bytes
PAGES = (CONTEXT + 31) // 32 + 5  #: the longest text and five more: six lost pages are noticed


def leave(curl: Curl, seed: int) -> None:
    """Asks for a text and goes: before the answer, after some events of it, or at its end."""
    draw = random.Random(seed)
    words = " ".join(draw.choices(["the", "cat", "dog", "mat", "saw", "sat on"], k=draw.randint(1, 60)))
    asked: dict[str, Any] = {"model": "tiny", "prompt": words, "max_tokens": draw.randint(1, 150), "seed": seed,
                             "temperature": 1.0, "stream": draw.random() < 0.8, "n": draw.choice([1, 1, 1, 2])}
    if draw.random() < 0.2:
        asked["response_format"] = {"type": "json_object"}
    connection = curl.connection()
    try:
        connection.request("POST", "/v1/completions", json.dumps(asked))
        if draw.random() < 0.2:
            return
        answer = connection.getresponse()
        for _ in range(draw.randint(0, 12) if asked["stream"] else 1):
            if not answer.readline():
                return
    finally:
        connection.close()


def test_clients_that_go_at_random_cost_no_page(tmp_path: pathlib.Path, language: Language) -> None:
    language.save(tmp_path / "models" / "tiny")
    with daemons.running(tmp_path, "--http", "localhost:0", "--repository", str(tmp_path / "models"),
                         "--text-cache-bytes", str(PAGES * PAGE_BYTES)) as running:
        curl = Curl(running.http)
        eventually(lambda: curl("GET", "/v2/health/ready")[0] == 200)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda seed: leave(curl, seed), range(TEXTS)))
        # A text as long as the context finds its pages, and they hold what numpy computes.
        prompt = language.tokenizer.decode(language.tokenizer.encode("the mat saw the dog " * 200).ids[:CONTEXT - 8])
        ids = language.tokenizer.encode(prompt).ids
        assert len(ids) + 8 <= CONTEXT and len(ids) // 32 > PAGES - 8
        status, answer = curl("POST", "/v1/completions", {"model": "tiny", "prompt": ids, "max_tokens": 8, "temperature": 0})
        assert status == 200, answer
        assert answer["choices"][0]["text"] == language.text(prompt, 8)
