"""Compares outputs of Sluice with expected ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from harness.sluice_cli import Arrays, run_model

TOLERANCE = 1e-3
# By how weights are kept: bf16 has three significant digits, int8 two, and rounds activations too.
TOLERANCES = {"f32": TOLERANCE, "bf16": 5e-2, "int8": 2e-1, "static-int8": 2e-1}


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over the largest expected magnitude; infinite where shapes differ."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    if not np.isfinite(actual).all():
        return float("inf")
    difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64)).max(initial=0.0)
    magnitude = np.abs(expected.astype(np.float64)).max(initial=0.0)
    if magnitude == 0.0:
        return 0.0 if difference == 0.0 else float("inf")
    return float(difference / magnitude)


def onnxruntime_outputs(model: Path, feeds: Arrays) -> Arrays:
    return next(onnxruntime_runs(model, [feeds]))


def onnxruntime_runs(model: Path, runs: Iterable[Arrays]) -> Iterator[Arrays]:
    """The outputs of one session for each run's inputs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for feeds in runs:
        yield dict(zip(names, session.run(names, feeds)))


def error_against(package: Path, feeds: Arrays, expected: Arrays) -> float:
    """The worst relative error over all outputs of one run of `package`."""
    actual = run_model(package, feeds, list(expected))
    return max(relative_error(actual[name], expected[name]) for name in expected)
