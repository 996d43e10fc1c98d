#!/usr/bin/env python3
"""MB/s of encoding lines with a tokenizer.json, on one thread: Sluice's room `text` beside the package `tokenizers`.

The two take turns. A ratio is the median over the rounds of Sluice's speed over the package's: above 1, Sluice
is faster. Texts are those of tests/e2e/text/corpus.py, or a file.

    .venv/bin/python bench/tokenizing.py                      # kinds of tests/e2e/text/kinds.py
    .venv/bin/python bench/tokenizing.py tokenizer.json --text book.txt
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e/text"))

from corpus import lines  # noqa: E402
from kinds import KINDS  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402


def package_speed(tokenizer: Tokenizer, text: list[str], size: int, seconds: float) -> float:
    start = time.perf_counter()
    total = 0
    while (taken := time.perf_counter() - start) < seconds or not total:
        tokenizer.encode_batch_fast(text)
        total += size
    return total / 1e6 / taken


def compare(path: Path, text: Path, rounds: int, seconds: float) -> tuple[float, float, float]:
    tokenizer = Tokenizer.from_file(str(path))
    given = text.read_text().split("\n")
    size = text.stat().st_size
    package_speed(tokenizer, given, size, 0.1)
    ours, theirs = [], []
    for _ in range(rounds):
        run = subprocess.run([ROOT / "build/release/bench/tokenizing", path, text, str(seconds)],
                             capture_output=True, check=True)
        ours.append(float(run.stdout))
        theirs.append(package_speed(tokenizer, given, size, seconds))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return statistics.median(ours), statistics.median(theirs), statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["gpt2", "llama3", "qwen", "llama2", "gemma", "bert", "t5"])
    parser.add_argument("--text", type=Path, help="UTF-8 (default: a generated text in many scripts)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = args.text or Path(folder) / "text"
        if args.text is None:
            text.write_text("\n".join(line.replace("\n", " ") for line in lines(3, 8000)))
        training = list(lines(1, 3000))
        print(f"{'tokenizer':<16} {'sluice':>8} {'package':>8} {'ratio':>6}   MB/s, one thread")
        for name in args.names:
            path = Path(name)
            if name in KINDS:
                path = Path(folder) / f"{name}.json"
                KINDS[name](training).save(str(path))
            ours, theirs, ratio = compare(path, text, args.rounds, args.seconds)
            print(f"{path.stem:<16} {ours:8.1f} {theirs:8.1f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
