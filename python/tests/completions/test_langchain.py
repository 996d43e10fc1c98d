"""LangChain's client for OpenAI, unchanged, against a `sluiced`."""

from __future__ import annotations

import json
from typing import Any

import daemon as daemons
import pytest
from conftest import PATIENCE, eventually
from language import Language, language, served  # noqa: F401 - fixtures
from schemas import SCHEMAS, check
from test_plain_http import Curl

langchain_openai = pytest.importorskip("langchain_openai", reason="the package langchain-openai is not installed")

MESSAGES = [("system", "be kind"), ("human", "the dog?")]
LAID_OUT = "[system] be kind\n[user] the dog?\n[assistant]"


@pytest.fixture(scope="module")
def chat(served: daemons.Daemon) -> Any:
    curl = Curl(served.http)
    eventually(lambda: curl("GET", "/v2/health/ready")[0] == 200)
    return langchain_openai.ChatOpenAI(base_url=f"http://{served.http}/v1", api_key="none", model="tiny", temperature=0,
                                       max_tokens=20, timeout=PATIENCE, max_retries=0)


def test_client_chats(chat: Any, language: Language) -> None:
    answer = chat.invoke(MESSAGES)
    assert answer.content == language.text(LAID_OUT, 20)
    assert answer.usage_metadata["output_tokens"] == 20
    assert answer.usage_metadata["input_tokens"] == language.length(LAID_OUT)


def test_client_reads_a_stream(chat: Any, language: Language) -> None:
    pieces = [chunk.content for chunk in chat.stream(MESSAGES)]
    assert len(pieces) > 3
    assert "".join(pieces) == language.text(LAID_OUT, 20)


def test_client_asks_for_several_chats_at_once(chat: Any, language: Language) -> None:
    answers = chat.batch([MESSAGES, "the cat"])
    assert [answer.content for answer in answers] == [language.text(LAID_OUT, 20), language.text("[user] the cat\n[assistant]", 20)]


def test_client_calls_tools_and_reads_objects(chat: Any) -> None:
    schema = {"title": "order", "description": "Orders.", **SCHEMAS["order"]}
    free = chat.model_copy(update={"max_tokens": None})
    (call,) = free.bind_tools([schema], tool_choice="order").invoke("x").tool_calls
    assert call["name"] == "order"
    check(call["args"], SCHEMAS["order"])
    found = free.with_structured_output(schema, method="json_schema").invoke("x")
    check(json.loads(json.dumps(found)), SCHEMAS["order"])
