"""OpenAI's own client, unchanged, against a `sluiced`."""

from __future__ import annotations

import types
import urllib.request
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import pytest
from conftest import PATIENCE, eventually
from language import CONTEXT, Language, language, served  # noqa: F401 - fixtures

openai = pytest.importorskip("openai")

PROMPT = "the dog saw"


@pytest.fixture(scope="session")
def client(served: daemons.Daemon) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"http://{served.http}/v1", api_key="none", timeout=PATIENCE, max_retries=0) as made:
        eventually(lambda: {model.id for model in made.models.list()} == {"tiny", "plain"})
        yield made


def test_client_completes_a_prompt(client: Any, language: Language) -> None:
    answer = client.completions.create(model="tiny", prompt=PROMPT, max_tokens=20, temperature=0)
    assert answer.choices[0].text == language.text(PROMPT, 20)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 20
    assert client.models.retrieve("tiny").id == "tiny"


def test_client_reads_a_stream(client: Any, language: Language) -> None:
    stream = client.completions.create(model="tiny", prompt=PROMPT, max_tokens=20, temperature=0, stream=True,
                                       stream_options={"include_usage": True})
    chunks = list(stream)
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == language.text(PROMPT, 20)
    assert chunks[-1].usage.total_tokens == language.length(PROMPT) + 20


def test_prompts_that_begin_alike_share_what_is_computed(client: Any, language: Language, served: daemons.Daemon) -> None:
    begin = "the mat saw the dog " * 24
    assert language.length(begin) > 64
    client.completions.create(model="tiny", prompt=begin, max_tokens=4, temperature=0)
    again = client.completions.create(model="tiny", prompt=begin + "the cat", max_tokens=4, temperature=0)
    assert again.choices[0].text == language.text(begin + "the cat", 4)
    cached = again.usage.prompt_tokens_details.cached_tokens
    assert 64 <= cached <= language.length(begin) and cached % 32 == 0
    with urllib.request.urlopen(f"http://{served.http}/metrics", timeout=PATIENCE) as answer:
        counts = dict(line.split() for line in answer.read().decode().splitlines() if line.startswith("sluice_text_"))
    assert int(counts["sluice_text_cached_tokens_total"]) >= cached
    assert int(counts["sluice_text_prompt_tokens_total"]) > int(counts["sluice_text_cached_tokens_total"])
    assert int(counts["sluice_text_cache_bytes"]) > 0


def check_content(content: Any, language: Language, prompt: str, count: int, top: int) -> None:
    """`content`: of a chat's log probabilities."""
    tokens = language.tokens(prompt, count)
    wanted = language.logprobs(prompt, tokens)
    assert len(content) == len(tokens)
    for one, token, row in zip(content, tokens, wanted, strict=True):
        assert abs(one.logprob - row[token]) < 1e-3
        assert [other.logprob for other in one.top_logprobs] == pytest.approx(sorted(row)[::-1][:top], abs=1e-3)
        assert one.top_logprobs[0].bytes == one.bytes, "the likeliest is chosen"
    assert b"".join(bytes(one.bytes) for one in content).decode(errors="replace") == language.text(prompt, count)


def test_client_reads_log_probabilities(client: Any, language: Language) -> None:
    asked: Any = {"model": "tiny", "max_tokens": 20, "temperature": 0}
    answer = client.chat.completions.create(messages=MESSAGES, logprobs=True, top_logprobs=3, **asked)
    check_content(answer.choices[0].logprobs.content, language, LAID_OUT, 20, 3)
    stream = client.chat.completions.create(messages=MESSAGES, logprobs=True, top_logprobs=3, stream=True, **asked)
    chunks = [chunk.choices[0] for chunk in stream]
    said = [one for chunk in chunks if chunk.logprobs for one in chunk.logprobs.content]
    check_content(said, language, LAID_OUT, 20, 3)
    assert "".join(chunk.delta.content or "" for chunk in chunks) == language.text(LAID_OUT, 20)
    plain = client.chat.completions.create(messages=MESSAGES, logprobs=True, **asked).choices[0].logprobs
    assert len(plain.content) == 20 and plain.content[0].top_logprobs == []


def check_lists(found: Any, language: Language, count: int, top: int) -> None:
    """`found`: of a completion's log probabilities."""
    tokens, said = language.tokens(PROMPT, count), language.text(PROMPT, count)
    wanted = language.logprobs(PROMPT, tokens)
    assert found.token_logprobs == pytest.approx([row[token] for token, row in zip(tokens, wanted, strict=True)], abs=1e-3)
    for spelled, offset, likeliest, row in zip(found.tokens, found.text_offset, found.top_logprobs, wanted, strict=True):
        assert spelled.startswith("bytes:") or said[offset:offset + len(spelled)] == spelled
        assert max(likeliest, key=likeliest.get) == spelled and len(likeliest) <= top
        assert list(likeliest.values()) == pytest.approx(sorted(row)[::-1][:len(likeliest)], abs=1e-3)


def test_client_reads_log_probabilities_of_completions(client: Any, language: Language) -> None:
    asked: Any = {"model": "tiny", "prompt": PROMPT, "max_tokens": 20, "temperature": 0, "logprobs": 3}
    check_lists(client.completions.create(**asked).choices[0].logprobs, language, 20, 3)
    chunks = [chunk.choices[0].logprobs for chunk in client.completions.create(stream=True, **asked)]
    lists: dict[str, list[Any]] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    for chunk in chunks:
        for name, values in lists.items():
            values += getattr(chunk, name) if chunk else []
    check_lists(types.SimpleNamespace(**lists), language, 20, 3)
    alone = client.completions.create(**{**asked, "logprobs": 0}).choices[0].logprobs
    assert [list(one) for one in alone.top_logprobs] == [[token] for token in alone.tokens]


def test_client_may_leave_a_stream(client: Any, language: Language) -> None:
    for _ in range(10):
        with client.completions.create(model="tiny", prompt=PROMPT, max_tokens=400, temperature=0, stream=True) as stream:
            assert next(iter(stream)).choices[0].finish_reason is None
    answer = client.completions.create(model="tiny", prompt=PROMPT, max_tokens=5, temperature=0)
    assert answer.choices[0].text == language.text(PROMPT, 5)


def test_errors_are_those_of_the_client(client: Any) -> None:
    with pytest.raises(openai.NotFoundError) as absent:
        client.completions.create(model="none", prompt=PROMPT)
    assert absent.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError, match="generates no text"):
        client.completions.create(model="digits", prompt=PROMPT)
    with pytest.raises(openai.BadRequestError) as long:
        client.completions.create(model="tiny", prompt=PROMPT, max_tokens=CONTEXT)
    assert long.value.code == "context_length_exceeded" and long.value.type == "invalid_request_error"


MESSAGES = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "the dog?"}]
LAID_OUT = "[system] be kind\n[user] the dog?\n[assistant]"


def test_client_chats(client: Any, language: Language) -> None:
    answer = client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=20, temperature=0)
    choice = answer.choices[0]
    assert (choice.message.role, choice.message.content) == ("assistant", language.text(LAID_OUT, 20))
    assert choice.finish_reason == "length" and answer.object == "chat.completion"
    assert answer.usage.prompt_tokens == language.length(LAID_OUT) and answer.usage.completion_tokens == 20
    loud = client.chat.completions.create(model="tiny", messages=MESSAGES, max_completion_tokens=5, temperature=0,
                                          extra_body={"chat_template_kwargs": {"loud": True}})
    assert loud.choices[0].message.content == language.text(LAID_OUT + "!", 5)


def test_client_reads_a_chat_as_it_comes(client: Any, language: Language) -> None:
    stream = client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=20, temperature=0, stream=True,
                                            stream_options={"include_usage": True})
    first, *chunks, last, usage = list(stream)
    assert first.object == "chat.completion.chunk"
    assert (first.choices[0].delta.role, first.choices[0].delta.content) == ("assistant", "")
    assert "".join(chunk.choices[0].delta.content for chunk in chunks) == language.text(LAID_OUT, 20)
    assert last.choices[0].finish_reason == "length" and last.choices[0].delta.content is None
    assert usage.choices == [] and usage.usage.total_tokens == language.length(LAID_OUT) + 20


def test_chats_that_the_model_does_not_take_are_refused(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="takes no chats"):
        client.chat.completions.create(model="plain", messages=MESSAGES)
    with pytest.raises(openai.BadRequestError, match="no tools here"):
        client.chat.completions.create(model="tiny", messages=[{"role": "tool", "content": "x", "tool_call_id": "1"}])
    with pytest.raises(openai.BadRequestError, match="the model's context has"):
        client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "dog " * CONTEXT}])
