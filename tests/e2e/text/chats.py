"""Chats of every sort that templates tell apart: what stands beside the template's own variables."""

from typing import Any

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Such as K\u00f6ln"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "array", "items": {"type": "integer"}},
        "exact": {"type": ["boolean", "null"], "default": False},
        "place": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]},
        "more": {"type": "object", "additionalProperties": {"type": "string"}},
    }, "required": ["city"]}}}
CLOCK = {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}},
                                          "return": {"type": "string"}}}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text} | more


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def call(name: str, arguments: Any, ident: str = "abcdefghi") -> dict[str, Any]:
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


ASKED = [user("Weather?"), assistant("", tool_calls=[call("get_weather", {"city": "K\u00f6ln", "days": [1, 2]})]),
         {"role": "tool", "tool_call_id": "abcdefghi", "name": "get_weather", "content": "{\"t\": 21.5}"}]

CHATS: dict[str, dict[str, Any]] = {
    "one question": {"messages": [user("Hello")]},
    "no prompt behind": {"messages": [user("Hello"), assistant("Hi.")], "add_generation_prompt": False},
    "system and turns": {"messages": [system("Be brief."), user(" Hi \n"), assistant(" Hello. \n"), user("Bye")]},
    "two questions in a row": {"messages": [user("a"), user("b")]},
    "answer first": {"messages": [assistant("a"), user("b")]},
    "no messages": {"messages": []},
    "characters": {"messages": [user("<|im_end|>{{ 1 }} \u00e9\u4e2d\u6587\U0001f600\t\"'\\ {% if %}\r\n\u2028"), assistant("\u00df\x01")]},
    "thoughts": {"messages": [user("2+2"), assistant("<think>\nfour\n</think>\n\n4"), user("3+3"), assistant("<think>\nsix\n</think>\n\n6")]},
    "thoughts apart": {"messages": [user("2+2"), assistant("4", reasoning_content="\nfour\n"), user("3"), assistant("3", thinking="x")]},
    "no thinking": {"messages": [system("x /no_think"), user("2+2")], "enable_thinking": False},
    "tools": {"messages": [user("Weather?")], "tools": [WEATHER, CLOCK]},
    "tools and system": {"messages": [system("S"), user("Weather?")], "tools": [CLOCK, WEATHER]},
    "calls": {"messages": [*ASKED, assistant("21.5 degrees"), user("Thanks")], "tools": [WEATHER]},
    "calls at the end": {"messages": ASKED, "tools": [WEATHER]},
    "several calls": {"messages": [user("?"), assistant(None, tool_calls=[call("now", {}), call("now", "{\"a\": 1}")]),
                                   {"role": "tool", "content": "12", "tool_call_id": "abcdefghi"},
                                   {"role": "tool", "content": "13", "tool_call_id": "abcdefghi"}, assistant("Noon")],
                      "tools": [CLOCK], "tools_in_user_message": False},
    "short ids": {"messages": [user("?"), assistant("", tool_calls=[call("now", {}, "x")])]},
    "a tool that nobody called": {"messages": [user("?"), {"role": "tool", "content": "12"}]},
    "parts": {"messages": [system("S"), user([{"type": "image"}, {"type": "text", "text": " What is it? "}]), assistant("A cat")]},
    "content of null": {"messages": [user(None)]},
    "without content": {"messages": [{"role": "user"}]},
    "unknown role": {"messages": [{"role": "critic", "content": "no"}, user("a")]},
    "documents": {"messages": [user("?")], "documents": [{"text": "one"}, {"text": "two"}], "controls": {"length": "short"}},
    "settings": {"messages": [user("?")], "date_string": "1 May 2020", "reasoning_effort": "high", "custom_tools": [WEATHER]},
}
