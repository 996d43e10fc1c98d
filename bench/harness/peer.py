"""One onnxruntime or openvino process that measures models on command (see workers.py).

Each at its best documented settings for latency with a fixed number of threads, in f32, with
inputs and outputs bound once so that no run copies or allocates them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np

LEAST_RUNS = 3
Run = Callable[[], object]


def onnxruntime_run(
    model: str, feeds: dict[str, np.ndarray], threads: int, spins: bool
) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    if not spins:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, values in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(values))
    for output, values in zip(session.get_outputs(), session.run(None, feeds)):
        binding.bind_ortvalue_output(output.name, ort.OrtValue.ortvalue_from_numpy(values))
    return lambda: session.run_with_iobinding(binding)


def openvino_run(
    model: str, feeds: dict[str, np.ndarray], threads: int, spins: bool
) -> Run:
    del spins  # it has no such setting
    import openvino

    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = openvino.Core().compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()
    for name, values in feeds.items():
        request.set_tensor(name, openvino.Tensor(values, shared_memory=True))

    def run(kept: object = feeds) -> object:  # the request does not keep its inputs' memory alive
        return request.infer(share_outputs=True)

    return run


ENGINES = {"onnxruntime": onnxruntime_run, "openvino": openvino_run}


def measure(run: Run, seconds: float) -> dict[str, float]:
    times_ns: list[int] = []
    end = time.perf_counter_ns() + int(seconds * 1e9)
    now = time.perf_counter_ns()
    while now < end or len(times_ns) < LEAST_RUNS:
        run()
        start, now = now, time.perf_counter_ns()
        times_ns.append(now - start)
    median, p90, p99 = np.percentile(times_ns, [50, 90, 99]) / 1e3
    return {"median_us": median, "p90_us": p90, "p99_us": p99, "runs": len(times_ns),
            "resident_bytes": resident_bytes()}


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def one_after_another(runs: list[Run]) -> Run:
    def run_all() -> None:
        for run in runs:
            run()

    return runs[0] if len(runs) == 1 else run_all


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("models", help="JSON: a list of [an .onnx file, [NAME=X.npy, ...]]")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-spin", action="store_true", help="waiting threads sleep at once")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    runs = []
    for model, inputs in json.loads(arguments.models):
        feeds = {name: np.load(path) for name, path in (item.split("=", 1) for item in inputs)}
        runs.append(ENGINES[arguments.engine](model, feeds, arguments.threads,
                                              not arguments.no_spin))
    run = one_after_another(runs)
    for line in sys.stdin:
        command, seconds = line.split()
        if command != "run":
            sys.exit(f"unknown command {command}")
        print(json.dumps(measure(run, float(seconds))), flush=True)


if __name__ == "__main__":
    main()
