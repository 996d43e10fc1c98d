#!/usr/bin/env python3
"""What launches cost a run on a GPU: chains of small kernels, and given models, with and without CUDA graphs.

    PYTHONPATH=build/release/python python3 bench/cuda/launches.py [--backend cuda] [MODEL.onnx | MODEL.sluice ...]

A process per setting of SLUICE_CUDA_GRAPHS runs each model on the same inputs; the table has the medians in
microseconds, from host memory to host memory. Fails where results differ from those without graphs in a bit. Kernels
of a chain take about two microseconds each, so a chain shows what a launch costs. Needs onnx.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SETTINGS = ("none", "repeated", "always")
LENGTHS = (10, 100, 300)
FEEDS = 5
WIDTH = 256


def write_chain(length: int, path: Path) -> Path:
    """Softmaxes: no pass joins one with the next."""
    import onnx
    from onnx import TensorProto, helper
    names = ["x", *(f"t{i}" for i in range(1, length)), "y"]
    nodes = [helper.make_node("Softmax", [names[i]], [names[i + 1]]) for i in range(length)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, WIDTH]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def measure(path: Path, backend: str, seconds: float) -> dict[str, object]:
    """In a process of its own: the median in microseconds, and digests of the outputs of each feed."""
    import sluice
    backends = tuple(dict.fromkeys((backend, "cpu")))
    model = (sluice.load(path, threads=1) if path.suffix == ".sluice"
             else sluice.compile(path, backends=backends, threads=1))
    generator = np.random.default_rng(0)
    feeds = []
    for _ in range(FEEDS):
        feed = {}
        for value in model.inputs:
            shape = [dim if isinstance(dim, int) else 1 for dim in value.shape]
            numbers = generator.integers(0, 2, shape) if value.dtype.kind in "iub" else generator.standard_normal(shape)
            feed[value.name] = numbers.astype(value.dtype)
        feeds.append(feed)
    digests = []
    for feed in feeds + feeds:  # the second time with graphs, where they are for repeated runs
        outputs = model.run(feed)
        digests.append(hashlib.sha256(b"".join(np.ascontiguousarray(outputs[value.name]).tobytes()
                                               for value in model.outputs)).hexdigest())
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        model.run(feeds[0])
        times.append((time.perf_counter() - start) * 1e6)
    return {"us": statistics.median(times), "digests": digests}


def measure_apart(path: Path, setting: str, arguments: argparse.Namespace) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", str(path), "--backend", arguments.backend, "--seconds", str(arguments.seconds)]
    run = subprocess.run(command, env={**os.environ, "SLUICE_CUDA_GRAPHS": setting}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.backend, arguments.seconds)))
        return 0
    print("| model | without graphs, us | graphs from the second run, us | from the first, us | same bits |")
    print("|---|---|---|---|---|")
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        chains = [write_chain(length, Path(folder) / f"chain-{length}.onnx") for length in LENGTHS]
        for path in [*chains, *arguments.models]:
            results = {setting: measure_apart(path, setting, arguments) for setting in SETTINGS}
            same = all(result["digests"] == results["none"]["digests"] for result in results.values())
            differ = differ or not same
            cells = " | ".join(f"{results[setting]['us']:.1f}" for setting in SETTINGS)
            print(f"| {path.stem} | {cells} | {'yes' if same else 'NO'} |", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
