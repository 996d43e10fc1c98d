"""OpenAI's own client, unchanged, against a `sluiced`."""

from __future__ import annotations

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
