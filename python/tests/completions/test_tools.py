"""Tools of chats: calls that are forced keep to the tool's schema; calls that a model writes by itself are found."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import openai
import pytest
from conftest import eventually
from language import Language, language, served  # noqa: F401 - fixtures
from schemas import SCHEMAS, check
from test_plain_http import Curl

TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "order", "description": "Orders.", "parameters": SCHEMAS["order"]}},
    {"type": "function", "function": {"name": "walk", "parameters": SCHEMAS["tree"]}},
    {"type": "function", "function": {"name": "stop"}}]
TEMPLATES = pathlib.Path(__file__).resolve().parents[3] / "tests/e2e/text/templates"
#: As SmolLM2's, which knows no tools.
PLAIN = ("{% for message in messages %}{{ '[' + message.role + '] ' + message['content'] + '\n' }}{% endfor %}"
         "{% if add_generation_prompt %}[assistant]{% endif %}")
PARAMETERS = {tool["function"]["name"]: tool["function"].get("parameters", {"maxProperties": 0}) for tool in TOOLS}


@pytest.fixture(scope="module")
def client(served: daemons.Daemon) -> openai.OpenAI:
    curl = Curl(served.http)
    eventually(lambda: curl("GET", "/v2/health/ready")[0] == 200)
    return openai.OpenAI(base_url=f"http://{served.http}/v1", api_key="any")


def ask(client: openai.OpenAI, **fields: Any) -> Any:
    return client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "x"}], tools=TOOLS,
                                          temperature=1.5, **fields)


def test_forced_calls_keep_to_the_tools(client: openai.OpenAI) -> None:
    called = set()
    for seed in range(30):
        choice = ask(client, tool_choice="required", seed=seed).choices[0]
        (call,) = choice.message.tool_calls
        assert choice.finish_reason == "tool_calls" and choice.message.content is None
        check(json.loads(call.function.arguments), PARAMETERS[call.function.name])
        called.add(call.function.name)
    assert len(called) > 1
    for name in PARAMETERS:
        choice = ask(client, tool_choice={"type": "function", "function": {"name": name}}).choices[0]
        assert [call.function.name for call in choice.message.tool_calls] == [name]


def test_forced_calls_stream(client: openai.OpenAI) -> None:
    whole = ask(client, tool_choice="required", seed=1).choices[0].message.tool_calls[0].function
    chunks = [chunk.choices[0] for chunk in ask(client, tool_choice="required", seed=1, stream=True)]
    calls = [call for chunk in chunks for call in chunk.delta.tool_calls or []]
    assert [(call.index, call.function.name, call.function.arguments) for call in calls] == [(0, whole.name, whole.arguments)]
    assert not any(chunk.delta.content for chunk in chunks)
    assert chunks[-1].finish_reason == "tool_calls"


def test_calls_of_the_model_itself_are_found(client: openai.OpenAI) -> None:
    said = 'root ::= "So: <tool_call>\\n{\\"name\\": \\"order\\", \\"arguments\\": {\\"item\\": \\"a\\"}}\\n</tool_call>"'
    for stream in (False, True):
        answer = ask(client, extra_body={"grammar": said}, stream=stream)
        if stream:
            deltas = [chunk.choices[0].delta for chunk in answer]
            content = "".join(delta.content or "" for delta in deltas)
            calls = [call for delta in deltas for call in delta.tool_calls or []]
        else:
            content, calls = answer.choices[0].message.content, answer.choices[0].message.tool_calls
            assert answer.choices[0].finish_reason == "tool_calls"
        assert content == "So: "
        assert [(call.function.name, json.loads(call.function.arguments)) for call in calls] == [("order", {"item": "a"})]
    plain = ask(client, tool_choice="none", extra_body={"grammar": said}).choices[0]
    assert "<tool_call>" in plain.message.content and plain.message.tool_calls is None


def test_templates_read_tools_and_former_calls(client: openai.OpenAI, language: Language) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "order", "arguments": '{"item": "a"}'}}
    answer = client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "tool_calls": [call]}],
        tools=TOOLS, max_tokens=1)
    assert answer.usage.prompt_tokens == language.length("order of 3\n[user] x\n[assistant] (order a) y\n[assistant]")


def test_wrong_tools_are_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="tool_choice: expected"):
        ask(client, tool_choice={"type": "function", "function": {"name": "none of them"}})
    with pytest.raises(openai.BadRequestError, match="a call beside a grammar"):
        ask(client, tool_choice="required", response_format={"type": "json_object"})


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory, language: Language) -> Iterator[openai.OpenAI]:
    """Models with templates of other families."""
    folder = tmp_path_factory.mktemp("others")
    for name, template in (("mistral", (TEMPLATES / "mistral.jinja").read_text()), ("plain", PLAIN)):
        made = language.save(folder / "models" / name)
        (made / "chat_template.jinja").write_text(template)
        (made / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    with daemons.running(folder, "--http", "localhost:0", "--repository", str(folder / "models")) as running:
        curl = Curl(running.http)
        eventually(lambda: curl("GET", "/v2/health/ready")[0] == 200)
        yield openai.OpenAI(base_url=f"http://{running.http}/v1", api_key="any")


@pytest.mark.parametrize("name", ["mistral", "plain"])
@pytest.mark.parametrize("stream", [False, True])
def test_calls_come_back_to_each_template(others: openai.OpenAI, name: str, stream: bool) -> None:
    """The loop of every agent: ask, call, send the call and its result back, ask again."""
    messages: list[Any] = [{"role": "user", "content": "How warm?"}]
    shared: dict[str, Any] = {"model": name, "tools": TOOLS[2:], "temperature": 0}
    if stream:
        chunks = list(others.chat.completions.create(messages=messages, tool_choice="required", stream=True, **shared))
        (call,) = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
        called = {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": {
            "name": call.function.name, "arguments": call.function.arguments}}]}
    else:
        answer = others.chat.completions.create(messages=messages, tool_choice="required", **shared)
        called = answer.choices[0].message.model_dump(exclude_none=True)
        (call,) = answer.choices[0].message.tool_calls
    assert re.fullmatch("[0-9a-zA-Z]{9}", call.id) and "content" not in called
    messages += [called, {"role": "tool", "tool_call_id": call.id, "content": "20 degrees"}]
    before = others.chat.completions.create(messages=messages, max_tokens=1, **shared)
    messages[-1]["content"] += " and more"
    assert others.chat.completions.create(messages=messages, max_tokens=1, **shared).usage.prompt_tokens > before.usage.prompt_tokens


def test_tools_are_told_where_the_template_knows_none(others: openai.OpenAI, language: Language) -> None:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How warm?"}]

    def prompt_tokens(**fields: Any) -> int:
        return others.chat.completions.create(model="plain", messages=messages, max_tokens=1, **fields).usage.prompt_tokens

    bare = language.length("[system] Be brief.\n[user] How warm?\n[assistant]")
    assert prompt_tokens() == prompt_tokens(tools=TOOLS, tool_choice="none") == bare
    start: Any = {"type": "function", "function": {"name": "start"}}
    one, two = prompt_tokens(tools=TOOLS[2:]), prompt_tokens(tools=[*TOOLS[2:], start])
    assert one > bare + language.length(json.dumps(TOOLS[2], separators=(",", ":")))
    assert two >= one + language.length(json.dumps(start, separators=(",", ":")))
    said = 'root ::= "<tool_call>\\n{\\"name\\": \\"stop\\", \\"arguments\\": {}}\\n</tool_call>"'
    answer = others.chat.completions.create(model="plain", messages=messages, tools=TOOLS[2:], extra_body={"grammar": said})
    assert [call.function.name for call in answer.choices[0].message.tool_calls] == ["stop"]
