"""A GGUF file in Python, and over HTTP from a folder of models."""

from __future__ import annotations

import json
import pathlib
import urllib.request

import daemon as daemons
import pytest
import sluice
from conftest import PATIENCE, eventually
from language import TEMPLATE, Language, language  # noqa: F401 - fixtures

import gguf_files  # isort: skip - beside tiny_models, which language finds

PROMPT = "the dog saw"


def write(language: Language, path: pathlib.Path) -> pathlib.Path:
    written = json.loads(language.tokenizer.to_str())
    size = language.tokenizer.get_vocab_size()
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in written["model"]["merges"]]
    return gguf_files.save(language.tiny, path, changes={
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.tokens": [language.tokenizer.id_to_token(i) for i in range(size)],
        "tokenizer.ggml.eos_token_id": None, "tokenizer.chat_template": TEMPLATE})


def test_program_loads_a_gguf_file(language: Language, tmp_path: pathlib.Path) -> None:
    with sluice.load(write(language, tmp_path / "tiny.gguf")) as model:
        assert "".join(model.generate(PROMPT, max_tokens=20, temperature=0)) == language.text(PROMPT, 20)
        assert model.tokenizer.encode(PROMPT) == language.tokenizer.encode(PROMPT).ids


@pytest.mark.parametrize("weights", ["f32", "int8"])
def test_folder_of_models_serves_a_gguf_file(language: Language, tmp_path: pathlib.Path, weights: str) -> None:
    (tmp_path / "models").mkdir()
    path = write(language, tmp_path / "models" / "tiny.gguf")
    with sluice.load(path, weights=weights) as model:
        text = model.generate(PROMPT, max_tokens=20, temperature=0, top_logprobs=1)
        wanted = "".join(text)
        logprobs = [place.logprob for place in text.logprobs]
    with daemons.running(tmp_path, "--http", "localhost:0", "--repository", str(tmp_path / "models"), "--weights",
                         weights) as running:
        base = f"http://{running.http}/v1"

        def is_served() -> bool:
            with urllib.request.urlopen(f"{base}/models", timeout=PATIENCE) as answer:
                return [model["id"] for model in json.load(answer)["data"]] == ["tiny"]

        eventually(is_served)
        body = json.dumps({"model": "tiny", "prompt": PROMPT, "max_tokens": 20, "temperature": 0, "logprobs": 1}).encode()
        with urllib.request.urlopen(f"{base}/completions", body, timeout=PATIENCE) as answer:
            choice = json.load(answer)["choices"][0]
        assert choice["text"] == wanted
        assert choice["logprobs"]["token_logprobs"] == pytest.approx(logprobs, abs=1e-3)
        if weights == "f32":
            assert wanted == language.text(PROMPT, 20)
