#!/usr/bin/env python3
"""The networks of bench/models: `cpu` agrees with onnxruntime on two different inputs.

Transformers have three blocks here, not twelve: all blocks are alike, but for the first and the last.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from report import Report, scratch_folder

import make
from harness.agreement import error_against, onnxruntime_runs
from harness.sluice_cli import compile_model
from networks import CLASSIC, DEFAULT_NAMES, MODULES, NETWORKS

SEEDS = (0, 1)
MOST_LAYERS = 3


def shorten() -> None:
    for module in MODULES:
        if hasattr(module, "LAYERS"):
            module.LAYERS = min(module.LAYERS, MOST_LAYERS)


def error_of(name: str, folder: Path) -> float:
    model = make.write(name, folder)
    package = compile_model(model, folder / f"{name}.sluice")
    runs = [NETWORKS[name].inputs(np.random.default_rng(seed)) for seed in SEEDS]
    return max(error_against(package, feeds, expected)
               for feeds, expected in zip(runs, onnxruntime_runs(model, runs)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="default: all at batch 1")
    arguments = parser.parse_args()
    shorten()
    report = Report()
    for name in arguments.names or [*DEFAULT_NAMES, "mlp_tiny", *CLASSIC]:
        with scratch_folder() as folder:
            report.case(name, lambda: error_of(name, Path(folder)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
