"""Penalties, biases and words that must not come: texts are those of OpenAI's formula, through each door."""

from __future__ import annotations

import json
import pathlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sluice
from language import Language, language, served  # noqa: F401 - fixtures
from test_openai import LAID_OUT, MESSAGES, PROMPT, client  # noqa: F401 - a fixture
from test_plain_http import Curl, curl  # noqa: F401 - a fixture
from tiny_models import greedy

pytest.importorskip("openai")

COUNT = 24
STEERED: dict[Any, str] = {}  #: texts by prompt and settings: numpy takes longer for them than Sluice does


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, language: Language) -> sluice.Model:
    return sluice.load(language.save(tmp_path_factory.mktemp("tiny")), threads=1)


def steered(language: Language, prompt: str, *, presence_penalty: float = 0, frequency_penalty: float = 0,
            logit_bias: dict[int, float] | None = None, bad_words: list[str] | None = None) -> str:
    encode = language.tokenizer.encode
    bad = [encode(space + word).ids for word in bad_words or [] for space in ("", " ")]
    key = (prompt, presence_penalty, frequency_penalty, json.dumps(logit_bias), json.dumps(bad))
    if key not in STEERED:
        STEERED[key] = language.tokenizer.decode(greedy(
            language.tiny, encode(prompt).ids, COUNT, presence=presence_penalty, frequency=frequency_penalty,
            bias=logit_bias, bad=bad))
    return STEERED[key]


def settings_of(language: Language, prompt: str) -> list[dict[str, Any]]:
    """Each changes the text."""
    tokens = language.tokens(prompt, COUNT)
    settings: list[dict[str, Any]] = [
        {"presence_penalty": 2.0}, {"frequency_penalty": 1.5}, {"frequency_penalty": -2.0},
        {"presence_penalty": -1.5, "frequency_penalty": 1.75}, {"logit_bias": {tokens[2]: -100.0, tokens[0]: 2.0}},
        {"logit_bias": {7: 100.0}}, {"logit_bias": {7: 6.5}, "frequency_penalty": 2.0},
    ]
    assert language.text(prompt, COUNT) not in [steered(language, prompt, **one) for one in settings]
    return settings


def test_texts_of_a_program_are_those_of_the_formula(model: sluice.Model, language: Language) -> None:
    for given in settings_of(language, PROMPT):
        assert "".join(model.generate(PROMPT, max_tokens=COUNT, **given)) == steered(language, PROMPT, **given)


def test_texts_over_http_are_those_of_the_formula(client: Any, curl: Curl, language: Language) -> None:
    shared = {"max_tokens": COUNT, "temperature": 0}
    for given in settings_of(language, PROMPT):
        answer = client.completions.create(model="tiny", prompt=PROMPT, **shared, **given)
        assert answer.choices[0].text == steered(language, PROMPT, **given)
        status, generated = curl("POST", "/v2/models/tiny/generate", {"text_input": PROMPT, **shared, **given})
        assert (status, generated["text_output"]) == (200, steered(language, PROMPT, **given))
    for given in settings_of(language, LAID_OUT):
        answer = client.chat.completions.create(model="tiny", messages=MESSAGES, **shared, **given)
        assert answer.choices[0].message.content == steered(language, LAID_OUT, **given)


def test_texts_of_one_run_have_their_own_settings(client: Any, language: Language) -> None:
    settings = settings_of(language, PROMPT) * 2
    with ThreadPoolExecutor(len(settings)) as pool:
        answers = list(pool.map(lambda given: client.completions.create(
            model="tiny", prompt=[PROMPT, "the"], max_tokens=COUNT, temperature=0, **given), settings))
    for given, answer in zip(settings, answers, strict=True):
        assert [choice.text for choice in answer.choices] == [steered(language, prompt, **given) for prompt in (PROMPT, "the")]


def test_bad_words_do_not_come(model: sluice.Model, curl: Curl, language: Language) -> None:
    tokens = language.tokens(PROMPT, COUNT)
    # Pieces of one token, and of two that the tokenizer makes of their text, too.
    pieces = [language.tokenizer.decode(run) for size in (1, 2) for run in zip(*(tokens[i:] for i in range(size)), strict=False)
              if language.tokenizer.encode(language.tokenizer.decode(run)).ids == list(run)]
    assert pieces
    for words in (pieces[:1], pieces[-1:], pieces):
        expected = steered(language, PROMPT, bad_words=words)
        assert expected != language.text(PROMPT, COUNT)
        assert "".join(model.generate(PROMPT, max_tokens=COUNT, bad_words=words)) == expected
        body = {"text_input": PROMPT, "max_tokens": COUNT, "temperature": 0, "bad_words": words}
        assert curl("POST", "/v2/models/tiny/generate", body)[1]["text_output"] == expected
    assert "".join(model.generate(PROMPT, max_tokens=5, bad_words="no such text")) == language.text(PROMPT, 5)


def test_settings_choose_among_what_a_grammar_allows(model: sluice.Model, curl: Curl, language: Language) -> None:
    ids = {letter: language.tokenizer.encode(letter).ids for letter in "xyz"}
    assert all(len(one) == 1 for one in ids.values())
    grammar = "root ::= [xyz]{9}"
    x, y, z = (ids[letter][0] for letter in "xyz")
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"logit_bias": {y: 100.0}}, {"y" * 9}), ({"logit_bias": {x: -100.0, z: -100.0}}, {"y" * 9}),
        ({"bad_words": ["x", "z"]}, {"y" * 9}), ({"bad_words": ["x", "yy", "zz"]}, {"yzyzyzyzy", "zyzyzyzyz"})]
    for given, expected in cases:
        assert "".join(model.generate(PROMPT, grammar=grammar, **given)) in expected
        body = {"model": "tiny", "prompt": PROMPT, "grammar": grammar, "temperature": 0, **given}
        assert curl("POST", "/v1/completions", body)[1]["choices"][0]["text"] in expected
    # Each costs 2 more: after a while all three have come.
    even = "".join(model.generate(PROMPT, grammar="root ::= [xyz]{40}", frequency_penalty=2.0))
    assert set(even) == set("xyz")
    with pytest.raises(sluice.FailedPrecondition, match="bad_words leave no token"):
        list(model.generate(PROMPT, grammar="root ::= [xyz]", bad_words=["x", "y", "z"]))


def test_settings_out_of_range_are_named(model: sluice.Model, tmp_path: pathlib.Path, language: Language) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"presence_penalty": 2.5}, "presence_penalty is 2.5; it takes -2 to 2"),
        ({"frequency_penalty": float("nan")}, "frequency_penalty is nan"), ({"logit_bias": {5: 101}}, "logit_bias is 101"),
        ({"logit_bias": {10**6: 1}}, "logit_bias has the id 1000000"), ({"bad_words": [""]}, "bad_words: a text is empty"),
        ({"bad_words": ["a\0b"]}, "NUL"), ({"schema": "{}\0"}, "NUL"), ({"grammar": "root ::= \"a\"\0"}, "NUL")]
    for given, expected in wrong:
        with pytest.raises(sluice.InvalidArgument, match=expected.replace(".", r"\.")):
            model.generate(PROMPT, **given)
    language.save(tmp_path / "bare")
    (tmp_path / "bare" / "tokenizer.json").unlink()
    bare = sluice.load(tmp_path / "bare", threads=1)
    with pytest.raises(sluice.InvalidArgument, match="tokenizer.json"):
        bare.generate([1, 2], bad_words=["a"])
    ids = [1, 2, 3]
    said = "".join(bare.generate(ids, max_tokens=COUNT, presence_penalty=2.0))
    assert json.loads(f"[{said.replace(' ', ',')}]") == greedy(language.tiny, ids, COUNT, presence=2.0)
