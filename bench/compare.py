#!/usr/bin/env python3
"""Median latency of Sluice, onnxruntime and openvino on the benchmark networks.

The engines run in separate processes on the same processors and take turns, round after round,
so that a change of the machine's speed meets all of them. A ratio is the median over the rounds
of Sluice's time over the peer's in the same round: below 1, Sluice is faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))

import make  # noqa: E402
from harness import agreement, sluice_cli, workers  # noqa: E402
from networks import DEFAULT_NAMES, NETWORKS  # noqa: E402

ENGINES = ["sluice", *workers.PEERS]


@dataclass
class Row:
    network: str
    threads: int
    median_us: dict[str, float]
    p99_us: dict[str, float]
    ratio: dict[str, float]
    error: float


@dataclass
class Prepared:
    name: str
    model: Path
    package: Path
    inputs: list[str]
    error: float


def prepare(name: str, folder: Path, check: bool) -> Prepared:
    """Writes and compiles a network, saves its inputs, and compares one run's outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / f"{name}.onnx"
    if not model.exists():
        make.write(name, folder)
    package = sluice_cli.compile_model(model, folder / f"{name}.sluice")
    feeds = NETWORKS[name].inputs(np.random.default_rng(0))
    inputs = sluice_cli.save_inputs(feeds, folder / name)
    error = float("nan")
    if check:
        expected = agreement.onnxruntime_outputs(model, feeds)
        error = agreement.error_against(package, feeds, expected)
    return Prepared(name, model, package, inputs, error)


def measure(network: Prepared, threads: int, rounds: int, seconds: float) -> Row:
    crew: dict[str, workers.Worker] = {
        "sluice": workers.sluice_worker(network.package, network.inputs, threads)
    }
    for peer in NETWORKS[network.name].peers:
        crew[peer] = workers.peer_worker(peer, network.model, network.inputs, threads)
    try:
        for worker in crew.values():
            worker.run(seconds)  # warm-up
        turns = [
            {name: worker.run(seconds) for name, worker in crew.items()} for _ in range(rounds)
        ]
    finally:
        for worker in crew.values():
            worker.close()
    return summarise(network, threads, turns)


def summarise(network: Prepared, threads: int, turns: list[dict[str, workers.Figures]]) -> Row:
    def over_rounds(engine: str, key: str) -> float:
        return statistics.median(turn[engine][key] for turn in turns)

    def ratio(peer: str) -> float:
        pairs = (turn["sluice"]["median_us"] / turn[peer]["median_us"] for turn in turns)
        return statistics.median(pairs)

    return Row(
        network.name,
        threads,
        {engine: over_rounds(engine, "median_us") for engine in turns[0]},
        {engine: over_rounds(engine, "p99_us") for engine in turns[0]},
        {peer: ratio(peer) for peer in turns[0] if peer != "sluice"},
        network.error,
    )


HEADER = (
    f"{'network':<12} {'threads':>7} {'sluice':>10} {'onnxruntime':>12} {'openvino':>10}"
    f" {'vs ort':>7} {'vs ov':>7} {'error':>9}"
)


def format_row(row: Row) -> str:
    nan = float("nan")  # of a peer that does not read the network
    sluice, ort, openvino = (f"{row.median_us.get(engine, nan) / 1e3:.3f}" for engine in ENGINES)
    return (
        f"{row.network:<12} {row.threads:>7} {sluice:>10} {ort:>12} {openvino:>10}"
        f" {row.ratio['onnxruntime']:>7.2f} {row.ratio.get('openvino', nan):>7.2f}"
        f" {row.error:>9.1e}"
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", default=",".join(DEFAULT_NAMES), metavar="A,B",
                        help=f"of {', '.join(NETWORKS)} (default: %(default)s)")
    parser.add_argument("--threads", default="1,2", metavar="N,N",
                        help="thread counts to measure with (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns per engine (default: 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a turn (default: 1)")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 0.3 seconds")
    parser.add_argument("--no-check", action="store_true", help="do not compare outputs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench",
                        help="where models and packages are kept (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds = 3, 0.3
    arguments.networks = arguments.networks.split(",")
    arguments.threads = [int(count) for count in arguments.threads.split(",")]
    unknown = [name for name in arguments.networks if name not in NETWORKS]
    if unknown:
        parser.error(f"no network called {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    print("median latency in ms; ratios are Sluice's time over the peer's; error is the largest")
    print("difference from onnxruntime's outputs over their largest magnitude\n")
    print(HEADER, flush=True)
    rows = []
    for name in arguments.networks:
        network = prepare(name, arguments.folder, not arguments.no_check)
        for threads in arguments.threads:
            rows.append(measure(network, threads, arguments.rounds, arguments.seconds))
            print(format_row(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    wrong = [row.network for row in rows if row.error > agreement.TOLERANCE]
    if wrong:
        print(f"outputs differ from onnxruntime's: {', '.join(sorted(set(wrong)))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"compare: {error}")
