"""Keys and values of texts in 16 bits, through Python and the daemon."""

from __future__ import annotations

import json
import pathlib
import urllib.error
import urllib.request

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import PATIENCE, eventually
from language import Language, language  # noqa: F401 - a fixture

PROMPT = "the mat saw the dog " * 24
PAGE_BYTES = 3 * 2 * 2 * 32 * 16 * 2  # layers, keys and values, heads, places, size, bytes


def check_likeliest(language: Language, tokens: list[int]) -> None:
    """No token is more than a rounding less likely than the best one."""
    for row, token in zip(language.logprobs(PROMPT, tokens), tokens, strict=True):
        assert row.max() - row[token] < 0.02


def test_python_keeps_keys_and_values_in_f16(tmp_path: pathlib.Path, language: Language) -> None:
    model = sluice.load(language.save(tmp_path / "tiny"), kv_cache="f16", threads=1)
    states = [spec for spec in model.inputs if spec.name.startswith("state.")]
    assert len(states) == 6 and {spec.dtype for spec in states} == {np.dtype("float16")}
    text = model.generate(PROMPT, max_tokens=20)
    assert "".join(text) == text.text
    check_likeliest(language, text.tokens)


def test_another_type_is_refused(tmp_path: pathlib.Path, language: Language) -> None:
    with pytest.raises(sluice.InvalidArgument, match="--kv-cache"):
        sluice.load(language.save(tmp_path / "tiny"), kv_cache="f64")


def test_daemon_counts_half_the_bytes_of_a_text_in_f16(tmp_path: pathlib.Path, language: Language) -> None:
    language.save(tmp_path / "models" / "tiny")
    with daemons.running(tmp_path, "--http", "localhost:0", "--repository", str(tmp_path / "models"), "--kv-cache",
                         "f16") as running:
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 4, "temperature": 0}
        request = urllib.request.Request(f"http://{running.http}/v1/completions", json.dumps(asked).encode())
        eventually(lambda: answers(request))
        pages = (language.length(PROMPT) + 3) // 32
        assert pages >= 2
        eventually(lambda: cache_bytes(running) == pages * PAGE_BYTES)


def answers(request: urllib.request.Request) -> bool:
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return bool(json.load(answer)["choices"][0]["text"])
    except urllib.error.HTTPError:
        return False  # not loaded yet


def cache_bytes(running: daemons.Daemon) -> int:
    with urllib.request.urlopen(f"http://{running.http}/metrics", timeout=PATIENCE) as answer:
        lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
    return int(lines["sluice_text_cache_bytes"])
