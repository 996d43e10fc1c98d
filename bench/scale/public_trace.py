#!/usr/bin/env python3
"""A load for `sluice plan --trace` with the arrivals of a public trace: Azure's of LLM inference (CC-BY).

    .venv/bin/python bench/scale/public_trace.py AzureLLMInferenceTrace_conv.csv conv.csv --rate 60000 --seconds 160
    sluice plan FILE --trace conv.csv --stand-in MODEL --machines 1000 --groups 4 --deadline 0.25

The trace (https://github.com/Azure/AzurePublicDataset, folder data) has an hour of one service. Its time is shortened to
`--seconds`, and its rate raised to `--rate`: the trace is cut into `--steps` of equal length, and each step gets a Poisson
process with its share of the requests. So waves and bursts of a step and more are the trace's, and shorter ones are gone. The
models are ours, as the trace has one: `--models`, whose shares fall as one by their rank.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np

MOST_REQUESTS = 20_000_000  # kMaxArrivals of src/fleet


def seconds_of(trace: Path) -> Any:
    """Arrivals since the first one."""
    with trace.open(newline="") as file:
        rows = csv.DictReader(file)
        if "TIMESTAMP" not in (rows.fieldnames or ()):
            raise SystemExit(f"{trace}: no column TIMESTAMP")
        # The file has seven digits behind the second; Python reads six.
        times = [datetime.datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp() for row in rows]
    if len(times) < 2 or max(times) == min(times):
        raise SystemExit(f"{trace}: two requests at different times are the least")
    return np.sort(np.array(times)) - min(times)


def arrivals_of(trace: Any, rate: float, seconds: float, steps: int, random: np.random.Generator) -> Any:
    """Ascending times."""
    counts, edges = np.histogram(trace * (seconds / trace[-1]), steps, (0, seconds))
    made = random.poisson(counts * (rate * seconds / len(trace)))
    starts = np.repeat(edges[:-1], made)
    return np.sort(starts + random.random(len(starts)) * (seconds / steps))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, help="a file of the dataset with a column TIMESTAMP")
    parser.add_argument("to", type=Path, help="the file to write")
    parser.add_argument("--rate", type=float, default=60_000, help="requests a second on average (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=160, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=800, help="default: %(default)s")
    parser.add_argument("--models", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    if not 0 < options.rate * options.seconds < 0.99 * MOST_REQUESTS or options.steps < 1 or options.models < 1:
        parser.error(f"a load has steps, models, and up to {MOST_REQUESTS} requests")
    random = np.random.default_rng(options.seed)
    times = arrivals_of(seconds_of(options.trace), options.rate, options.seconds, options.steps, random)
    shares = 1 / np.arange(1, options.models + 1)
    models = random.choice(options.models, len(times), p=shares / shares.sum())
    with options.to.open("w") as file:
        file.write("arrival_s,model\n")
        file.writelines(f"{time:.6f},m{model}\n" for time, model in zip(times.tolist(), models.tolist()))
    peak = np.histogram(times, options.steps, (0, options.seconds))[0].max() * options.steps / options.seconds
    print(f"{len(times)} requests, {len(times) / options.seconds:.0f}/s, at most {peak:.0f}/s for "
          f"{options.seconds / options.steps:g} s, seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
