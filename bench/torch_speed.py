#!/usr/bin/env python3
"""Traced models against eager torch and torch.compile (inductor), on one machine, in one table of Markdown.

    PYTHONPATH=build/release/python python bench/torch_speed.py [--rounds 15] [--threads 1 2]

The three take turns of five calls, so that a load of the machine meets all of them. The table has medians; the first
call of a turn does not count, because the threads of the one before may still spin. inductor
needs a C++ compiler; where it fails, the column has a dash and the reason goes to the error stream.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import sluice.torch
import timm
import torch
import torchvision
import transformers
from torch import nn

Made = tuple[nn.Module, tuple[Any, ...]]
CALLS_OF_A_TURN = 5


def image(size: int = 224) -> tuple[torch.Tensor]:
    return (torch.rand(1, 3, size, size),)


def minilm() -> Made:
    """The sizes of all-MiniLM-L6-v2; a sentence of 32 tokens."""
    config = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    return transformers.BertModel(config), (torch.randint(0, 1000, (1, 32)),)


def gpt2() -> Made:
    """Six of GPT-2's twelve layers, without a cache; 32 tokens."""
    config = transformers.GPT2Config(n_layer=6, use_cache=False)
    return transformers.GPT2Model(config), (torch.randint(0, 1000, (1, 32)),)


MODELS: dict[str, Callable[[], Made]] = {
    "resnet18": lambda: (torchvision.models.resnet18(), image()),
    "mobilenet_v2": lambda: (torchvision.models.mobilenet_v2(), image()),
    "efficientnet_b0": lambda: (torchvision.models.efficientnet_b0(), image()),
    "convnext_atto": lambda: (timm.create_model("convnext_atto", pretrained=False), image()),
    "vit_tiny_patch16": lambda: (timm.create_model("vit_tiny_patch16_224", pretrained=False), image()),
    "minilm": minilm,
    "gpt2, 6 layers": gpt2,
}


def compiled(model: nn.Module, inputs: tuple[Any, ...]) -> Callable[..., Any] | None:
    torch._dynamo.reset()
    call = torch.compile(model)
    try:
        call(*inputs)
    except Exception as error:  # of any of inductor's tools
        print(f"torch.compile: {str(error).splitlines()[0][:200]}", file=sys.stderr)
        return None
    return call


def median_times(calls: list[Callable[..., Any] | None], inputs: tuple[Any, ...], rounds: int) -> list[float | None]:
    """Milliseconds of each; None stays None."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, times):
            for turn in range(CALLS_OF_A_TURN if call is not None else 0):
                start = time.perf_counter()
                call(*inputs)
                if turn > 0:
                    own.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(own) if own else None for own in times]


def measure(name: str, threads: int, rounds: int) -> tuple[str, float]:
    """A row of the table, and the ratio of eager to Sluice."""
    model, inputs = MODELS[name]()
    model.eval()
    torch.set_num_threads(threads)
    traced = sluice.torch.trace(model, inputs).reopen(threads=threads)
    with torch.no_grad():
        times = median_times([traced, model, compiled(model, inputs)], inputs, rounds)
    ours, eager, inductor = times
    assert ours is not None and eager is not None
    texts = ["–" if value is None else f"{value:.2f}" for value in times]
    against = "–" if inductor is None else f"{inductor / ours:.2f}"
    return f"| {name} | {threads} | {' | '.join(texts)} | {eager / ours:.2f} | {against} |", eager / ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| model | threads | Sluice, ms | eager, ms | inductor, ms | eager / Sluice | inductor / Sluice |")
    print("|---|---|---|---|---|---|---|")
    for threads in arguments.threads:
        ratios = []
        for name in arguments.models:
            row, ratio = measure(name, threads, arguments.rounds)
            ratios.append(ratio)
            print(row, flush=True)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"| geometric mean | {threads} | | | | {mean:.2f} | |", flush=True)


if __name__ == "__main__":
    main()
