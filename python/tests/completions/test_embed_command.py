"""sluice embed: vectors and scores of texts on a command line."""

from __future__ import annotations

import json
import pathlib
import subprocess

import numpy as np
from daemon import program
from encoders import TEXTS, Encoders, encoders  # noqa: F401 - a fixture


def test_command_prints_vectors_and_the_best_first(tmp_path: pathlib.Path, encoders: Encoders) -> None:
    command = program().with_name("sluice")

    def said(*arguments: str) -> list[str]:
        return subprocess.run([command, "embed", *arguments], capture_output=True, text=True, check=True).stdout.splitlines()

    vectors = [json.loads(line) for line in said(str(encoders.save_embedder(tmp_path / "embedder")), *TEXTS[:2])]
    assert np.allclose(vectors, encoders.vectors(TEXTS[:2]), atol=1e-4)
    lines = said(str(encoders.save_scorer(tmp_path / "scorer")), "--query", "who ran?", *TEXTS)
    scores = encoders.scores("who ran?", TEXTS)
    order = sorted(range(len(TEXTS)), key=lambda i: -scores[i])
    assert [line.partition("  ")[2].strip() for line in lines] == [TEXTS[i].strip() for i in order]
