#!/usr/bin/env python3
"""Batches over a model traced with one row, on one core and on all: a table of Markdown.

    PYTHONPATH=build/release/python python bench/batches.py [--rounds 15]

The tracing document says that the time grows with the number of chunks divided by the cores. The columns take turns,
so that a load of the machine meets both; the table has medians of an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import time

import sluice.torch
import torch
import torchvision

ROWS = (1, 2, 4, 8, 16)


def milliseconds(model: sluice.torch.TracedModel, x: torch.Tensor) -> float:
    start = time.perf_counter()
    model(x)
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    traced = sluice.torch.trace(torchvision.models.resnet18().eval(), torch.rand(1, 3, 224, 224))
    one = sluice.torch.dynamic_batch(sluice.torch.set_cores(traced.reopen(), 0, 1))
    every = sluice.torch.dynamic_batch(sluice.torch.set_cores(traced, count=-1))
    print(f"| rows of resnet18 | 1 core, ms | {sluice.torch.num_cores()} cores, ms | 1 core / all |")
    print("|---|---|---|---|")
    for rows in ROWS:
        x = torch.rand(rows, 3, 224, 224)
        times = [(milliseconds(one, x), milliseconds(every, x)) for _ in range(rounds)]
        alone, together = (statistics.median(column) for column in zip(*times))
        print(f"| {rows} | {alone:.1f} | {together:.1f} | {alone / together:.2f} |", flush=True)


if __name__ == "__main__":
    main()
