#!/usr/bin/env python3
"""The networks of bench/models: `cpu` agrees with onnxruntime on two different inputs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from report import Report, scratch_folder

import make
from harness.agreement import error_against, onnxruntime_outputs
from harness.sluice_cli import compile_model
from networks import CLASSIC, DEFAULT_NAMES, NETWORKS

SEEDS = (0, 1)


def error_of(name: str, folder: Path) -> float:
    model = make.write(name, folder)
    package = compile_model(model, folder / f"{name}.sluice")
    errors = []
    for seed in SEEDS:
        feeds = NETWORKS[name].inputs(np.random.default_rng(seed))
        errors.append(error_against(package, feeds, onnxruntime_outputs(model, feeds)))
    return max(errors)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="default: all at batch 1")
    arguments = parser.parse_args()
    report = Report()
    for name in arguments.names or [*DEFAULT_NAMES, "mlp_tiny", *CLASSIC]:
        with scratch_folder() as folder:
            report.case(name, lambda: error_of(name, Path(folder)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
