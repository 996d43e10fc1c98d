#!/usr/bin/env python3
"""A program over sluice/generate.hpp makes the vectors and scores that plain numpy computes.

usage: library_vectors.py PROGRAM
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import run_cases  # noqa: E402
from tiny_encoders import (CONTEXT, WIDTH, make_encoder, make_tokenizer, plain, save_encoder,  # noqa: E402
                           score_of, vector_of)

from harness.sluice_cli import run_command  # noqa: E402

TEXTS = ["the cat sat on the mat", "dog", "\u00e9 the dog saw the cat and ran", "ran " * 40]
QUERY = "who ran?"


def agrees(folder: Path) -> str:
    saved = make_tokenizer()
    tokenizer = plain(saved)
    embedder = make_encoder("bert", saved.get_vocab_size(), seed=3)
    scorer = make_encoder("distilbert", saved.get_vocab_size(), scores=True, seed=4)
    packages = []
    for name, tiny in (("embedder", embedder), ("scorer", scorer)):
        save_encoder(tiny, folder / name, saved, pooling="pooling_mode_mean_tokens" if name == "embedder" else None)
        packages.append(folder / f"{name}.sluice")
        run_command("compile", folder / name, "-o", packages[-1])
    run = subprocess.run([sys.argv[1], *packages, QUERY, *TEXTS], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return f"{run.returncode}: {run.stderr}"
    sizes, vectors, none, scores, *errors = run.stdout.splitlines()
    wanted = np.concatenate([vector_of(embedder, tokenizer.encode(text)) for text in TEXTS])
    if not np.allclose(np.array(vectors.split(), float), wanted, atol=1e-4):
        return "the vectors differ"
    wanted_scores = [score_of(scorer, tokenizer.encode(QUERY, text)) for text in TEXTS]
    if not np.allclose(np.array(scores.split(), float), wanted_scores, atol=1e-4):
        return f"{scores}, not {wanted_scores}"
    rest = [sizes, none.strip(), *errors]
    said = [f"{WIDTH} {CONTEXT} 0", "", "the model scores pairs of texts, it has no vectors",
            "the model makes vectors of texts, not scores"]
    return "" if rest == said else f"{rest}, not {said}"


if __name__ == "__main__":
    sys.exit(run_cases({"vectors_and_scores": agrees}))
