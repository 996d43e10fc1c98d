"""Texts that keep to a JSON schema or a grammar: a model of random weights, whose tokens are drawn at a high temperature,
writes nothing else."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
from typing import Any

import daemon as daemons
import pytest
import sluice
from conftest import eventually
from language import Language, language, served  # noqa: F401 - fixtures
from schemas import SCHEMAS, check
from test_plain_http import Curl

TEXTS_OF_A_SCHEMA = 50
MAX_TOKENS = 560


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, language: Language) -> pathlib.Path:
    return language.save(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder: pathlib.Path) -> sluice.Model:
    return sluice.load(folder, threads=1)


@pytest.fixture(scope="module")
def curl(served: daemons.Daemon) -> Curl:
    made = Curl(served.http)
    eventually(lambda: made("GET", "/v2/health/ready")[0] == 200)
    return made


@pytest.mark.parametrize("name", SCHEMAS)
def test_drawn_texts_fit_their_schema(model: sluice.Model, name: str) -> None:
    schema, texts = SCHEMAS[name], set()
    for seed in range(TEXTS_OF_A_SCHEMA):
        text = model.generate("the cat", schema=schema, temperature=1.5, top_k=0, top_p=1.0, seed=seed,
                              max_tokens=MAX_TOKENS)
        said = "".join(text)
        assert text.finish == "stop", said
        check(json.loads(said), schema)
        texts.add(said)
    assert len(texts) > 1


def test_enum_of_thousands_of_texts_is_taken(model: sluice.Model, curl: Curl) -> None:
    names = [f"product {i * 7919 % 6007}" for i in range(6000)]
    schema = {"type": "object", "properties": {"name": {"enum": names}}, "required": ["name"]}
    for seed in range(3):
        said = "".join(model.generate("the cat", schema=schema, temperature=1.5, seed=seed))
        assert json.loads(said)["name"] in names
    status, answer = curl("POST", "/v1/completions", {
        "model": "tiny", "prompt": "the cat", "max_tokens": MAX_TOKENS, "temperature": 1.5,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}})
    assert status == 200 and json.loads(answer["choices"][0]["text"])["name"] in names


def test_texts_keep_to_a_grammar(model: sluice.Model) -> None:
    grammar = r'root ::= "[" word (", " word){1,3} "]"' "\n" r"word ::= [a-z\u4e00-\u9fff]{2,5}"
    for seed in range(20):
        text = model.generate("the cat", grammar=grammar, temperature=1.5, seed=seed)
        assert re.fullmatch(r"\[[a-z\u4e00-\u9fff]{2,5}(, [a-z\u4e00-\u9fff]{2,5}){1,3}\]", "".join(text))
        assert text.finish == "stop"
    assert "".join(model.generate("the cat", grammar='root ::= "only this"')) == "only this"


def test_schemas_and_grammars_are_refused_by_name(model: sluice.Model) -> None:
    with pytest.raises(sluice.Unimplemented, match="#/properties/a: the word \"not\" is not supported"):
        model.generate("a", schema={"properties": {"a": {"not": {}}}})
    with pytest.raises(sluice.InvalidArgument, match="give one"):
        model.generate("a", schema={}, grammar="root ::= \"a\"")
    with pytest.raises(sluice.InvalidArgument, match="expected ::="):
        model.generate("a", grammar="root")
    assert "".join(model.generate("a", max_tokens=2))  # the next text is free again


def test_response_formats_over_http(curl: Curl) -> None:
    schema = SCHEMAS["order"]
    for wanted in ({"type": "json_object", "schema": schema},
                   {"type": "json_schema", "json_schema": {"name": "order", "strict": True, "schema": schema}}):
        body = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], "response_format": wanted,
                "temperature": 1.5, "seed": 3}
        status, answer = curl("POST", "/v1/chat/completions", body)
        assert status == 200, answer
        choice = answer["choices"][0]
        check(json.loads(choice["message"]["content"]), schema)
        assert choice["finish_reason"] == "stop"
        *chunks, done = curl.events("/v1/chat/completions", {**body, "stream": True})
        pieces = [json.loads(chunk)["choices"][0]["delta"].get("content", "") for chunk in chunks]
        assert "".join(pieces) == choice["message"]["content"]
    status, answer = curl("POST", "/v1/completions", {"model": "tiny", "prompt": "x", "grammar": 'root ::= "yes" | "no"'})
    assert status == 200 and answer["choices"][0]["text"] in ("yes", "no")


def test_words_that_no_grammar_says_are_wishes_unless_strict(curl: Curl) -> None:
    schema = {"type": "object", "required": ["tags", "link"], "additionalProperties": False, "properties": {
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "uniqueItems": True, "maxItems": 2},
        "link": {"type": "string", "format": "uri", "maxLength": 12, "x-order": 1}}}
    body = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], "seed": 5, "temperature": 1.2}
    inner = {"name": "n", "schema": schema}
    status, answer = curl("POST", "/v1/chat/completions",
                          {**body, "response_format": {"type": "json_schema", "json_schema": inner}})
    assert status == 200, answer
    value = json.loads(answer["choices"][0]["message"]["content"])
    assert set(value) == {"tags", "link"} and len(value["tags"]) <= 2 and len(value["link"]) <= 12
    status, answer = curl("POST", "/v1/chat/completions",
                          {**body, "response_format": {"type": "json_schema", "json_schema": {**inner, "strict": True}}})
    assert status in (400, 501) and "uniqueItems" in answer["error"]["message"]
    for strict in (False, True):
        tool = {"type": "function", "function": {"name": "tag", "parameters": schema, "strict": strict}}
        status, answer = curl("POST", "/v1/chat/completions", {**body, "tools": [tool], "tool_choice": "required"})
        assert status in ((400, 501) if strict else (200,)), answer


def test_wrong_schemas_over_http_are_answered(curl: Curl) -> None:
    def refusal(**fields: Any) -> tuple[int, str]:
        status, answer = curl("POST", "/v1/completions", {"model": "tiny", "prompt": "x", **fields})
        return status, answer["error"]["message"]

    status, message = refusal(response_format={"type": "json_object", "schema": {"uniqueItems": True}})
    assert status == 400 and "uniqueItems" in message
    status, message = refusal(grammar="root ::= root")
    assert status == 400 and "root" in message


def test_the_program_reads_schemas_from_files(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMAS["order"]))
    (tmp_path / "grammar.gbnf").write_text('root ::= "yes" | "no"')

    def generate(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "sluice", "generate", str(folder), "the cat", *options],
                              capture_output=True, text=True)

    run = generate("--schema", str(tmp_path / "schema.json"), "--temperature", "1.5", "--seed", "3")
    assert run.returncode == 0, run.stderr
    check(json.loads(run.stdout), SCHEMAS["order"])
    assert generate("--grammar", str(tmp_path / "grammar.gbnf")).stdout in ("yes\n", "no\n")
    run = generate("--grammar", str(tmp_path / "schema.json"))
    assert run.returncode != 0 and "schema.json" in run.stderr
