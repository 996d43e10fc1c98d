#!/usr/bin/env python3
"""How long until ResNet-50 is ready: a .sluice package, an onnxruntime session, an openvino model.

Each round starts fresh processes, two per engine, in turn; the first of the two brings the engine's
files into the page cache, and is not counted. The peers load their libraries before the clock
starts. Counted is the time inside the process from the call that opens the file to a model that can
run: for Sluice `sluice bench FILE --open` (load the plug-in, map and check the package, make kernels and an
execution context), for onnxruntime the construction of an InferenceSession with all optimisations,
for openvino compile_model from the .onnx file. A second opening in the same process, which has the
plug-in already as the peers have their libraries, is printed beside it. Starting the process, the
Python interpreter and its imports are not counted. Memory is what the process has with the model loaded and run, and after that.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "models"))

import make  # noqa: E402
from harness import sluice_cli  # noqa: E402
from networks import NETWORKS  # noqa: E402

SESSION = """
import sys, time, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
start = time.perf_counter()
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print((time.perf_counter() - start) * 1e6)
"""

COMPILED = """
import sys, time, openvino
settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": int(sys.argv[2])}
core = openvino.Core()
start = time.perf_counter()
core.compile_model(sys.argv[1], "CPU", settings)
print((time.perf_counter() - start) * 1e6)
"""
PEERS = {"onnxruntime": SESSION, "openvino": COMPILED}


def sluice_opening(package: Path, threads: int) -> dict[str, float]:
    for _ in range(2):
        output = sluice_cli.run_command("bench", package, "--open", "--threads", threads, "--json")
    return json.loads(output)


def peer_us(program: str, model: Path, threads: int) -> float:
    command = [sys.executable, "-c", program, str(model), str(threads)]
    for _ in range(2):
        process = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(process.stdout)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", default="resnet50", choices=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench",
                        help="where models and packages are kept (default: %(default)s)")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    model = arguments.folder / f"{arguments.network}.onnx"
    if not model.exists():
        make.write(arguments.network, arguments.folder)
    package = sluice_cli.compile_model(model, arguments.folder / f"{arguments.network}.sluice")
    openings = []
    times: dict[str, list[float]] = {name: [] for name in ("sluice", "again", *PEERS)}
    for _ in range(arguments.rounds):
        opening = sluice_opening(package, arguments.threads)
        peers = {name: peer_us(program, model, arguments.threads)
                 for name, program in PEERS.items()}
        openings.append(opening)
        mine = {"sluice": opening["open_us"], "again": opening["again_us"]}
        for name, us in {**mine, **peers}.items():
            times[name].append(us)
    report(arguments, times, openings[-1])


def report(arguments: argparse.Namespace, times: dict[str, list[float]],
           opening: dict[str, float]) -> None:
    medians = {name: statistics.median(all_of) for name, all_of in times.items()}
    ratios = {name: statistics.median(t / o for t, o in zip(times[name], times["sluice"]))
              for name in PEERS}
    if arguments.json:
        print(json.dumps({"open_us": medians, "ratios": ratios, "sluice": opening}))
        return
    print(f"{arguments.network}, open to ready, medians of {arguments.rounds} interleaved rounds:")
    print(f"Sluice {medians['sluice'] / 1e3:.2f} ms, again {medians['again'] / 1e3:.2f} ms"
          + "".join(f", {name} {medians[name] / 1e3:.1f} ms ({ratios[name]:.1f} times as long)"
                    for name in PEERS))
    print(f"memory of Sluice's process: {opening['loaded_bytes'] / 1e6:.1f} MB with the model loaded"
          f" and run, {opening['unloaded_bytes'] / 1e6:.1f} MB after it")


if __name__ == "__main__":
    try:
        main()
    except sluice_cli.SluiceError as error:
        sys.exit(f"load: {error}")
