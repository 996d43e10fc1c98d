#!/usr/bin/env python3
"""Tokens per second of a language model on a GPU: Sluice beside transformers, eager and with torch.compile.

    PYTHONPATH=build/release/python python3 bench/cuda/decode.py [--shape 135m] [--prompt 128] [--tokens 128] [--json FILE]

The model has a published shape, random weights in bf16 and a cache of keys and values; every engine reads the same folder
and writes one text without sampling. `first` is the time to the first token of a prompt that the engine has not seen.
torch.compile has CUDA graphs and a cache of fixed size. The peers need torch with CUDA and transformers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness.sluice_cli import run_command  # noqa: E402
from texts import folder as folders  # noqa: E402

Ids = list[int]
#: Writes so many tokens behind a prompt; the seconds to the first one, and those of the others.
Text = Callable[[Ids, int], tuple[float, float]]


def sluice_text(source: Path, arguments: argparse.Namespace) -> Text:
    import sluice
    package = source.with_suffix(".sluice")
    run_command("compile", source, "-o", package, "--backend", f"{arguments.backend},cpu")
    model = sluice.load(package, threads=1)

    def text(ids: Ids, tokens: int) -> tuple[float, float]:
        start = time.perf_counter()
        with model.generate(ids, max_tokens=tokens, temperature=0) as written:
            next(written)
            first, begun_with = time.perf_counter(), len(written.tokens)
            for _ in written:
                pass
            rest = time.perf_counter() - first
            return first - start, rest * (tokens - 1) / max(len(written.tokens) - begun_with, 1)
    return text


def torch_text(source: Path, arguments: argparse.Namespace, is_compiled: bool) -> Text:
    import torch
    import transformers
    model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16).to(arguments.device).eval()
    if is_compiled:
        model.forward = torch.compile(model.forward, mode="reduce-overhead", fullgraph=True)
    options = {"cache_implementation": "static"} if is_compiled else {}

    def timed(ids: Ids, tokens: int) -> float:
        given = torch.tensor([ids], device=arguments.device)
        start = time.perf_counter()
        with torch.no_grad():
            model.generate(given, attention_mask=torch.ones_like(given), do_sample=False, min_new_tokens=tokens,
                           max_new_tokens=tokens, pad_token_id=0, **options).cpu()
        return time.perf_counter() - start

    def text(ids: Ids, tokens: int) -> tuple[float, float]:
        first = timed(ids, 1)
        return first, timed(ids, tokens) - first
    return text


def measure(name: str, text: Text, arguments: argparse.Namespace) -> dict[str, float | str]:
    """The best of some texts, behind one that takes what an engine does once. Prompts differ, and have one length."""
    random = np.random.default_rng(0)
    words = folders.SHAPES[arguments.shape]["vocab_size"] - 1
    times = [text(random.integers(1, words, arguments.prompt).tolist(), arguments.tokens)
             for _ in range(arguments.texts + 1)]
    return {"engine": name, "warm_s": sum(times[0]), "first_ms": min(first for first, _ in times[1:]) * 1e3,
            "tokens_per_s": (arguments.tokens - 1) / min(rest for _, rest in times[1:])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="135m", choices=sorted(folders.SHAPES))
    parser.add_argument("--prompt", type=int, default=128, help="tokens")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--device", default="cuda", help="of PyTorch")
    parser.add_argument("--engines", nargs="+", default=["sluice", "eager", "torch.compile"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    makers: dict[str, Callable[[Path], Text]] = {
        "sluice": lambda source: sluice_text(source, arguments),
        "eager": lambda source: torch_text(source, arguments, False),
        "torch.compile": lambda source: torch_text(source, arguments, True)}
    print(f"| {arguments.shape} in bf16 | first token, ms | tokens/s | first text with all compilation, s |\n|---|---|---|---|")
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        source = folders.make(arguments.shape, Path(scratch) / arguments.shape)
        for name in arguments.engines:
            try:
                results.append(measure(name, makers[name](source), arguments))
            except Exception as error:  # the others still say something
                print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
                continue
            row = results[-1]
            print(f"| {name} | {row['first_ms']:.1f} | {row['tokens_per_s']:.1f} | {row['warm_s']:.1f} |", flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if any(row["engine"] == "sluice" for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
