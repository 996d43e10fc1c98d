#!/usr/bin/env python3
"""Speed of this build of Sluice beside an older one, on the benchmark networks or at the doors.

    .venv/bin/python bench/builds.py ../older/build/release resnet50 bert_base
    .venv/bin/python bench/builds.py ../older/build/release --doors rpc,functions,zipf,queue

Each build compiles each network into its own package. The processes take turns as in compare.py. A ratio is the median
over the rounds of the older build's time over this build's in the same round: above 1, this build is faster. With --doors
the benchmarks of requests take turns instead, each with the daemon and the client of its build (ninja -C build/release
bench_rpc bench_zipf bench_queue bench_request_cost bench_function_load); half of the rounds begin with the older build.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))

import make  # noqa: E402
from harness import doors, sluice_cli, workers  # noqa: E402
from networks import DEFAULT_NAMES, NETWORKS  # noqa: E402


def start(build: Path, package: Path, model: Path, inputs: list[str], threads: int) -> workers.ProcessWorker:
    os.environ["SLUICE"] = str(build / "bin/sluice")
    sluice_cli.compile_model(model, package)
    return workers.sluice_worker([workers.Model(package, inputs)], threads)


def measure(name: str, threads: int, arguments: argparse.Namespace) -> tuple[float, float]:
    """This build's median in ms, and the ratio."""
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / f"{name}.onnx"
    if not model.exists():
        make.write(name, folder)
    inputs = sluice_cli.save_inputs(NETWORKS[name].inputs(np.random.default_rng(0)), folder / name)
    older = start(arguments.older, folder / f"{name}.older.sluice", model, inputs, threads)
    newer = start(arguments.build, folder / f"{name}.sluice", model, inputs, threads)
    turns = []
    for _ in range(arguments.rounds):
        pair = [worker.run(arguments.seconds)["median_us"] for worker in (older, newer)]
        turns.append(pair)
    older.close()
    newer.close()
    return statistics.median(new for _, new in turns) / 1000, statistics.median(old / new for old, new in turns)


def compare_door(name: str, arguments: argparse.Namespace) -> None:
    """Prints both builds' medians of each figure, and the ratio."""
    turns: dict[str, list[tuple[float, float]]] = {}
    builds = {"older": arguments.older, "this": arguments.build}
    for round_number in range(arguments.rounds):
        order = list(builds) if round_number % 2 == 0 else list(builds)[::-1]
        figures = {side: doors.DOORS[name](builds[side], arguments.build) for side in order}
        for row, older in figures["older"].items():
            turns.setdefault(row, []).append((older, figures["this"][row]))
    for row, pairs in turns.items():
        older, newer = (statistics.median(side) for side in zip(*pairs))
        ratio = statistics.median(doors.speed(row, *pair) for pair in pairs)
        print(f"{row:46} {older:12.2f} {newer:12.2f} {ratio:13.3f}x", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("older", type=Path, help="the older build's folder")
    parser.add_argument("networks", nargs="*", default=DEFAULT_NAMES, metavar="NETWORK")
    parser.add_argument("--build", type=Path, default=sluice_cli.ROOT / "build/release")
    parser.add_argument("--threads", default="1,2", metavar="N,N")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench")
    parser.add_argument("--doors", metavar="NAME,...", help=f"some of {','.join(doors.DOORS)}, in place of networks")
    arguments = parser.parse_args()
    if arguments.doors:
        print(f"{'':46} {'older':>12} {'this':>12} {'times as fast':>14}", flush=True)
        for name in arguments.doors.split(","):
            compare_door(name, arguments)
        return 0
    print("network            threads  this ms   older / this", flush=True)
    for threads in map(int, arguments.threads.split(",")):
        ratios = []
        for name in arguments.networks:
            own, ratio = measure(name, threads, arguments)
            ratios.append(ratio)
            print(f"{name:18} {threads:7} {own:9.3f} {ratio:11.3f}x", flush=True)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{'geometric mean':18} {threads:7} {'':9} {mean:11.3f}x, lowest {min(ratios):.3f}x", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"builds: {error}")
