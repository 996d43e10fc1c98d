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
        eventually(lambda: [model.id for model in made.models.list()] == ["tiny"])
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
