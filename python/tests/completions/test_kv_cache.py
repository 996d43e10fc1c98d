"""Keys and values of texts in 16 and 8 bits, through Python and the daemon."""

from __future__ import annotations

import json
import pathlib
import urllib.error
import urllib.request
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import PATIENCE, eventually
from language import Language, language  # noqa: F401 - a fixture

PROMPT = "the mat saw the dog " * 24
ROWS = 3 * 2 * 2 * 32  # layers, keys and values, heads, places
#: By word: the numbers of a state, the bytes of a row of 16 numbers, and how far a log probability may be off.
#: A row of 8 bits ends in 4 bytes of its scale. Its numbers are off by 1/440 of the largest in the mean of squares,
#: about 25 times as much as those of f16. Measured: 0.008 and 0.21 at most, of log probabilities down to -20.
KEPT = {"f16": ("float16", 16 * 2, 0.02), "int8": ("int8", 16 + 4, 0.3)}
kept = pytest.mark.parametrize("kept", KEPT)


@kept
def test_python_keeps_keys_and_values_narrow(tmp_path: pathlib.Path, language: Language, kept: str) -> None:
    dtype, _, off = KEPT[kept]
    model = sluice.load(language.save(tmp_path / "tiny"), kv_cache=kept, threads=1)
    states = [spec for spec in model.inputs if spec.name.startswith("state.")]
    assert len(states) == 6 and {spec.dtype for spec in states} == {np.dtype(dtype)}
    text = model.generate(PROMPT, max_tokens=20, top_logprobs=5)
    assert "".join(text) == text.text
    wanted = language.logprobs(PROMPT, text.tokens)  # in floats of 64 bits
    for place, row in zip(text.logprobs, wanted, strict=True):
        assert row.max() - row[place.token] < off, "no token is more than a rounding less likely than the best one"
        for token, logprob in [(place.token, place.logprob), *place.top]:
            assert abs(logprob - row[token]) < off


def test_another_type_is_refused(tmp_path: pathlib.Path, language: Language) -> None:
    with pytest.raises(sluice.InvalidArgument, match="--kv-cache"):
        sluice.load(language.save(tmp_path / "tiny"), kv_cache="f64")


@kept
def test_daemon_counts_and_shares_narrow_pages(tmp_path: pathlib.Path, language: Language, kept: str) -> None:
    language.save(tmp_path / "models" / "tiny")
    with daemons.running(tmp_path, "--http", "localhost:0", "--repository", str(tmp_path / "models"), "--kv-cache",
                         kept) as running:
        asked = {"model": "tiny", "prompt": PROMPT, "max_tokens": 4, "temperature": 0}
        request = urllib.request.Request(f"http://{running.http}/v1/completions", json.dumps(asked).encode())
        eventually(lambda: answer_of(request))
        first = answer_of(request)
        pages = (language.length(PROMPT) + 3) // 32
        assert pages >= 2
        again = answer_of(request)
        eventually(lambda: cache_bytes(running) == pages * ROWS * KEPT[kept][1])
        assert again["choices"] == first["choices"]
        assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == (language.length(PROMPT) - 1) // 32 * 32


def answer_of(request: urllib.request.Request) -> dict[str, Any]:
    """Empty as long as the model is not loaded."""
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            given: dict[str, Any] = json.load(answer)
            return given
    except urllib.error.HTTPError:
        return {}


def cache_bytes(running: daemons.Daemon) -> int:
    with urllib.request.urlopen(f"http://{running.http}/metrics", timeout=PATIENCE) as answer:
        lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
    return int(lines["sluice_text_cache_bytes"])
