"""Several prompts in one request, and several texts for each (`n`), by OpenAI's client and by hand."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from conftest import eventually
from language import CONTEXT, Language, language, served  # noqa: F401 - fixtures
from test_openai import LAID_OUT, MESSAGES, client  # noqa: F401 - a fixture
from test_plain_http import Curl, complete, curl, inferences, refusal  # noqa: F401 - a fixture

openai = pytest.importorskip("openai")

PROMPTS = ["the cat", "the dog saw the mat", "\u4e2d\u6587"]
DRAW: dict[str, Any] = {"model": "tiny", "max_tokens": 12, "temperature": 1.5, "top_p": 0.99, "seed": 7}


def test_prompts_of_one_request_have_their_texts_in_order(client: Any, language: Language) -> None:
    """As LangChain's OpenAI.batch and lm-eval-harness ask."""
    said = [language.text(prompt, 12) for prompt in PROMPTS]
    ids = [language.tokenizer.encode(prompt).ids for prompt in PROMPTS]
    for prompts in (PROMPTS, ids, [PROMPTS[0], *ids[1:]]):
        answer = client.completions.create(model="tiny", prompt=prompts, max_tokens=12, temperature=0)
        assert [choice.text for choice in answer.choices] == said
        assert [choice.index for choice in answer.choices] == [0, 1, 2]
        assert answer.usage.prompt_tokens == sum(language.length(prompt) for prompt in PROMPTS)
        assert answer.usage.completion_tokens == 36
    echoed = client.completions.create(model="tiny", prompt=PROMPTS, max_tokens=12, temperature=0, echo=True)
    assert [choice.text for choice in echoed.choices] == [a + b for a, b in zip(PROMPTS, said, strict=True)]


def test_choices_of_a_prompt_are_drawn_apart_and_repeat_by_their_seed(client: Any, language: Language) -> None:
    answer = client.completions.create(prompt=PROMPTS[:2], n=3, extra_body={"min_p": 0.001}, **DRAW)
    texts = [choice.text for choice in answer.choices]
    assert [choice.index for choice in answer.choices] == list(range(6)) and len(set(texts)) == 6
    again = client.completions.create(prompt=PROMPTS[:2], n=3, extra_body={"min_p": 0.001}, **DRAW)
    assert [choice.text for choice in again.choices] == texts
    for i, prompt in enumerate(PROMPTS[:2]):
        alone = client.completions.create(prompt=prompt, extra_body={"min_p": 0.001}, **DRAW)
        assert alone.choices[0].text == texts[3 * i], "the first choice has the client's own seed"
    assert answer.usage.prompt_tokens == sum(language.length(prompt) for prompt in PROMPTS[:2])
    assert answer.usage.completion_tokens == 72
    unseeded = client.completions.create(prompt="the", n=4, **{**DRAW, "seed": None})
    assert len({choice.text for choice in unseeded.choices}) > 1


def test_choices_of_a_chat_have_their_own_log_probabilities(client: Any, language: Language) -> None:
    answer = client.chat.completions.create(messages=MESSAGES, n=2, logprobs=True, top_logprobs=2, **DRAW)
    for choice in answer.choices:
        content = choice.logprobs.content
        assert len(content) == 12 and all(len(one.top_logprobs) == 2 for one in content)
        assert b"".join(bytes(one.bytes) for one in content).decode(errors="replace") == choice.message.content
    assert answer.choices[0].message.content != answer.choices[1].message.content
    assert answer.usage.prompt_tokens == language.length(LAID_OUT) and answer.usage.completion_tokens == 24


def test_events_of_choices_come_between_each_other(client: Any, language: Language) -> None:
    chunks = list(client.completions.create(model="tiny", prompt=PROMPTS, n=2, max_tokens=30, temperature=0, stream=True,
                                            stream_options={"include_usage": True}))
    *chunks, usage = chunks
    order = [chunk.choices[0].index for chunk in chunks]
    texts = [""] * 6
    reasons: list[Any] = [None] * 6
    for chunk in chunks:
        choice = chunk.choices[0]
        texts[choice.index] += choice.text
        reasons[choice.index] = choice.finish_reason
    assert texts == [language.text(prompt, 30) for prompt in PROMPTS for _ in range(2)]
    assert reasons == ["length"] * 6 and len({chunk.id for chunk in [*chunks, usage]}) == 1
    assert sum(a != b for a, b in zip(order, order[1:], strict=False)) > 12, "the texts share their steps"
    assert usage.choices == [] and usage.usage.completion_tokens == 180
    assert usage.usage.prompt_tokens == sum(language.length(prompt) for prompt in PROMPTS)


def test_events_of_chats_begin_and_end_each_choice(client: Any, language: Language) -> None:
    stream = client.chat.completions.create(model="tiny", messages=MESSAGES, n=3, max_tokens=9, temperature=0, stream=True)
    deltas: list[list[Any]] = [[], [], []]
    for chunk in stream:
        deltas[chunk.choices[0].index].append(chunk.choices[0])
    for choices in deltas:
        assert choices[0].delta.role == "assistant" and choices[-1].finish_reason == "length"
        assert "".join(choice.delta.content or "" for choice in choices) == language.text(LAID_OUT, 9)


def test_streams_of_many_choices_are_whole(curl: Curl) -> None:
    """Megabytes: the texts pause where enough waits for the client, and go on when it has read."""
    body = {"model": "tiny", "prompt": PROMPTS[:2], "n": 8, "max_tokens": 300, "temperature": 0, "stream": True,
            "logprobs": 20}
    texts = [""] * 16
    *chunks, done = list(curl.events("/v1/completions", body))
    assert done == "[DONE]" and sum(map(len, chunks)) > 1 << 20
    for chunk in chunks:
        choice = json.loads(chunk)["choices"][0]
        texts[choice["index"]] += choice["text"]
    alone = [complete(curl, prompt=prompt, max_tokens=300)[1]["choices"][0]["text"] for prompt in PROMPTS[:2]]
    assert texts == [text for text in alone for _ in range(8)]


@pytest.mark.parametrize("is_streamed", [True, False])
def test_client_that_goes_ends_all_its_texts(curl: Curl, is_streamed: bool) -> None:
    before = inferences(curl)
    host, port = curl.address.rsplit(":", 1)
    body = json.dumps({"model": "tiny", "prompt": [[1], [2]], "n": 64, "max_tokens": CONTEXT - 1, "temperature": 0,
                       "stream": is_streamed})
    sender = socket.create_connection((host, int(port)))
    sender.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    eventually(lambda: inferences(curl) > before)
    sender.close()

    def stands_still() -> bool:
        first = inferences(curl)
        complete(curl, max_tokens=4)  # four steps, which texts of the client that went would share
        return inferences(curl) == first + 4

    eventually(stands_still)
    # 32 texts share a step: to their ends the 128 would take four times as many steps as one.
    assert inferences(curl) - before < 4 * (CONTEXT - 1)


def test_a_text_that_fails_ends_the_request(curl: Curl) -> None:
    status, message = refusal(curl, prompt=["a", "the dog " * CONTEXT])
    assert status == 400 and "context" in message
    status, message = refusal(curl, prompt=["a"] * 16, max_tokens=400, timeout=1)
    assert status == 504 and "deadline" in message
    assert curl("POST", "/v1/completions", {"model": "tiny", "prompt": ["a", "b"], "max_tokens": 2})[0] == 200


def test_choices_are_bounded(curl: Curl) -> None:
    for fields, expected in (({"n": 0}, "n: 0 is not between 1 and 128"), ({"n": 129}, "n: 129"),
                             ({"n": 2.5}, "n: expected a whole number"), ({"prompt": ["a"] * 129}, "at most 128"),
                             ({"prompt": ["a"] * 65, "n": 2}, "130 choices in all; at most 128")):
        status, message = refusal(curl, **fields)
        assert status == 400 and expected in message
    answer = curl("POST", "/v1/completions", {"model": "tiny", "prompt": ["a"] * 64, "n": 2, "max_tokens": 1})[1]
    assert [choice["index"] for choice in answer["choices"]] == list(range(128))
