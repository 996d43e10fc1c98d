"""Encoders with a tokenizer, the vectors and scores that numpy computes, and a `sluiced` that serves them."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/e2e/language"))
from tiny_encoders import make_encoder, make_tokenizer, plain, save_encoder, score_of, vector_of  # noqa: E402
from tiny_models import Tiny  # noqa: E402

TEXTS = ["The cat sat on the mat.", "dog", "the dog saw the cat and ran, " * 3, "Who ran?", "the mat: " * 12, "cat cat"]


class Encoders:
    def __init__(self) -> None:
        saved = make_tokenizer()
        self.saved = saved
        self.tokenizer: Any = plain(saved)
        size = saved.get_vocab_size()
        self.embedder: Tiny = make_encoder("bert", size, seed=3)
        self.scorer: Tiny = make_encoder("bert", size, scores=True, seed=4)

    def save_embedder(self, folder: pathlib.Path) -> pathlib.Path:
        return save_encoder(self.embedder, folder, self.saved)

    def save_scorer(self, folder: pathlib.Path) -> pathlib.Path:
        return save_encoder(self.scorer, folder, self.saved, pooling=None)

    def vectors(self, texts: list[str]) -> np.ndarray:
        return np.stack([vector_of(self.embedder, self.tokenizer.encode(text)) for text in texts])

    def scores(self, query: str, documents: list[str]) -> list[float]:
        return [score_of(self.scorer, self.tokenizer.encode(query, document)) for document in documents]

    def length(self, *texts: str) -> int:
        return len(self.tokenizer.encode(*texts).ids)


@pytest.fixture(scope="session")
def encoders() -> Encoders:
    pytest.importorskip("tokenizers")
    return Encoders()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Iterator[daemons.Daemon]:
    """Beside a model that takes no texts."""
    folder = tmp_path_factory.mktemp("encoders")
    encoders.save_embedder(folder / "models" / "embedder")
    encoders.save_scorer(folder / "models" / "scorer")
    sluice.compile(DIGITS).save(folder / "models" / "digits.sluice")
    with daemons.running(folder, "--http", "localhost:0", "--repository", str(folder / "models")) as running:
        yield running
