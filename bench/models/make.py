#!/usr/bin/env python3
"""Writes the benchmark networks as ONNX files with seeded random weights."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnx
from networks import DEFAULT_NAMES, NETWORKS


def write(name: str, folder: Path) -> Path:
    """Writes `folder`/`name`.onnx; a reader never sees half a file."""
    path = folder / f"{name}.onnx"
    scratch = path.with_suffix(".partial")
    onnx.save_model(NETWORKS[name].build(), scratch, format="protobuf")
    scratch.replace(path)
    return path


def outputs_of(path: Path, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def check(name: str, path: Path) -> str:
    """Runs the file twice in onnxruntime; returns the problem of its outputs, or ""."""
    feeds = NETWORKS[name].inputs
    first = outputs_of(path, feeds(np.random.default_rng(0)))
    second = outputs_of(path, feeds(np.random.default_rng(1)))
    for index, (a, b) in enumerate(zip(first, second)):
        size, change = np.abs(a).max(), np.abs(a - b).max()
        print(f"  output {index}: largest {size:.3g}, deviation {a.std():.3g}, "
              f"change with the input {change / size:.2g}")
        if not np.isfinite(a).all() or size > 1e4:
            return f"output {index} is not finite or too large"
        if (a.size > 1 and a.std() < 0.05 * size) or change < 0.1 * size:
            return f"output {index} hardly varies"
    return ""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the .onnx files go")
    parser.add_argument("names", nargs="*", metavar="name",
                        help=f"networks to write, of {', '.join(NETWORKS)} "
                             f"(default: all but mlp_tiny)")
    parser.add_argument("--check", action="store_true",
                        help="run each in onnxruntime: outputs finite, varied, input-dependent")
    arguments = parser.parse_intermixed_args()
    unknown = [name for name in arguments.names if name not in NETWORKS]
    if unknown:
        parser.error(f"no network called {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in arguments.names or DEFAULT_NAMES:
        start = time.perf_counter()
        path = write(name, arguments.folder)
        seconds = time.perf_counter() - start
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB in {seconds:.1f} s", flush=True)
        problem = check(name, path) if arguments.check else ""
        if problem:
            print(f"{path}: {problem}", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
