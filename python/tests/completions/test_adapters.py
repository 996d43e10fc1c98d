"""Texts of one model with several low-rank adapters, side by side through every door."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import daemon as daemons
import pytest
import sluice
from conftest import PATIENCE, eventually
from language import Language
from test_plain_http import Curl

pytest.importorskip("tokenizers")
from tiny_adapters import adapted, make_adapter, save_adapter  # noqa: E402

PROMPT = "the dog saw"
MODULES = ("q_proj", "v_proj", "up_proj", "down_proj")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("adapters")
    base = Language()
    adapters = {name: make_adapter(base.tiny, MODULES, rank=rank, seed=rank) for name, rank in (("sql", 4), ("chat", 6))}
    folders = {name: save_adapter(adapter, folder / name) for name, adapter in adapters.items()}
    output = folder / "tiny.sluice"
    sluice.compile(base.save(folder / "tiny"), adapters=folders).save(output)
    return output


@pytest.fixture(scope="module")
def languages() -> dict[str | None, Language]:
    """What the model says by itself, and with each adapter."""
    every: dict[str | None, Language] = {None: Language()}
    for name, rank in (("sql", 4), ("chat", 6)):
        every[name] = Language()
        every[name].tiny = adapted(every[name].tiny, make_adapter(every[name].tiny, MODULES, rank=rank, seed=rank))
    assert len({language.text(PROMPT, 20) for language in every.values()}) == 3
    return every


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, package: pathlib.Path) -> Iterator[daemons.Daemon]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "models").mkdir()
    (folder / "models" / "tiny.sluice").write_bytes(package.read_bytes())
    with daemons.running(folder, "--http", "localhost:0", "--repository", str(folder / "models")) as running:
        yield running


@pytest.fixture(scope="module")
def client(served: daemons.Daemon) -> Iterator[Any]:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"http://{served.http}/v1", api_key="none", timeout=PATIENCE, max_retries=0) as made:
        eventually(lambda: "tiny" in {model.id for model in made.models.list()})
        yield made


def test_a_text_in_this_process_names_its_adapter(package: pathlib.Path, languages: dict[str | None, Language]) -> None:
    model = sluice.load(package, threads=1)
    for name in (None, "sql", "chat", "sql", None):  # the kept generator forgets another's cache
        assert "".join(model.generate(PROMPT, max_tokens=20, adapter=name)) == languages[name].text(PROMPT, 20)
    with pytest.raises(sluice.NotFound, match="sql, chat"):
        model.generate(PROMPT, adapter="SQL")
    with pytest.raises(sluice.InvalidArgument, match="NUL"):
        model.generate(PROMPT, adapter="sql\0")


def test_models_list_adapters_behind_their_model(client: Any) -> None:
    assert [model.id for model in client.models.list()] == ["tiny", "tiny:sql", "tiny:chat"]
    one = client.models.retrieve("tiny:chat")
    assert (one.id, one.parent) == ("tiny:chat", "tiny")


def test_texts_of_all_adapters_share_runs(client: Any, languages: dict[str | None, Language]) -> None:
    def text(name: str | None) -> str:
        model = "tiny" if name is None else f"tiny:{name}"
        answer = client.completions.create(model=model, prompt=PROMPT, max_tokens=20, temperature=0)
        assert answer.model == model
        return answer.choices[0].text

    asked = [None, "sql", "chat"] * 8
    with ThreadPoolExecutor(len(asked)) as pool:
        for name, said in zip(asked, pool.map(text, asked), strict=True):
            assert said == languages[name].text(PROMPT, 20), name


def test_a_prompt_is_computed_anew_for_another_adapter(client: Any, languages: dict[str | None, Language]) -> None:
    begin = "the cat saw the mat " * 24
    for name, is_known in (("sql", False), ("chat", False), (None, False), ("chat", True)):
        model = "tiny" if name is None else f"tiny:{name}"
        answer = client.completions.create(model=model, prompt=begin, max_tokens=4, temperature=0)
        assert answer.choices[0].text == languages[name].text(begin, 4)
        assert (answer.usage.prompt_tokens_details.cached_tokens >= 64) == is_known, name


def test_triton_texts_name_an_adapter_as_vllm_does(served: daemons.Daemon, languages: dict[str | None, Language],
                                                    client: Any) -> None:
    body = {"text_input": PROMPT, "max_tokens": 20, "temperature": 0, "parameters": {"lora_name": "chat"}}
    status, answer = Curl(served.http)("POST", "/v2/models/tiny/generate", body)
    assert status == 200 and answer["text_output"] == languages["chat"].text(PROMPT, 20)


def test_adapters_that_are_not_there_are_refused(client: Any, served: daemons.Daemon) -> None:
    import openai

    for model in ("tiny:other", "other:sql", "tiny:sql:chat"):
        with pytest.raises(openai.NotFoundError):
            client.completions.create(model=model, prompt=PROMPT, max_tokens=2)
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve(model)
    body = {"text_input": PROMPT, "lora_name": "other"}
    status, answer = Curl(served.http)("POST", "/v2/models/tiny/generate", body)
    assert status == 404 and "sql, chat" in str(answer)
