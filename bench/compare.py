#!/usr/bin/env python3
"""Median latency of Sluice, onnxruntime and openvino on the benchmark networks.

The engines run in separate processes on the same processors and take turns, round after round,
so that a change of the machine's speed meets all of them: turns are short and rounds many. A ratio
is the median over the rounds of Sluice's time over the peer's in the same round: below 1, Sluice is
faster.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))

import make  # noqa: E402
from harness import agreement, machine, quantized, sluice_cli, workers  # noqa: E402
from harness.busy import BusyNeighbour  # noqa: E402
from harness.table import (  # noqa: E402
    HEADER, HEADER_P99, PEERS, Row, format_groups, format_markdown, format_memory, format_row, format_summary,
)
from networks import BATCHED_NAMES, CLASSIC, DEFAULT_NAMES, NETWORKS  # noqa: E402

CERTAIN = 0.01  # of a median ratio: its 95 % confidence interval reaches as far on either side


@dataclass
class Prepared:
    """A network's files. A level of Strassen's method is missing if no product supports it,
    except the first requested level."""

    name: str
    models: dict[str, Path]  # by peer
    packages: dict[int, Path]  # by level of Strassen's method
    inputs: list[str]
    errors: dict[int, float]

    def level(self, asked: int) -> int:
        return asked if asked in self.packages else next(iter(self.packages))


def prepare(name: str, folder: Path, check: bool, weights: str = "f32",
            strassen: Sequence[int] = (0,)) -> Prepared:
    """Writes and compiles a network, saves its inputs, and compares one run's outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / f"{name}.onnx"
    if not model.exists():
        make.write(name, folder)
    feeds = NETWORKS[name].inputs(np.random.default_rng(0))
    if weights == "static-int8":
        samples = [NETWORKS[name].inputs(np.random.default_rng(seed)) for seed in range(4)]
        source = quantized.static_model(model, samples)
        options = []
    else:
        source = model
        options = ["--weights", weights]
    packages = compile_levels(source, folder, name, weights, options, strassen)
    inputs = sluice_cli.save_inputs(feeds, folder / name)
    errors = dict.fromkeys(packages, float("nan"))
    if check:
        expected = agreement.onnxruntime_outputs(model, feeds)
        errors = {level: agreement.error_against(package, feeds, expected)
                  for level, package in packages.items()}
    models = {peer: source for peer in NETWORKS[name].peers}
    if weights == "int8":
        models["onnxruntime"] = quantized.onnxruntime_model(model)
    return Prepared(name, models, packages, inputs, errors)


def compile_levels(source: Path, folder: Path, name: str, weights: str, options: list[str],
                   strassen: Sequence[int]) -> dict[int, Path]:
    """A package for each level with a suitable product, which makes the package larger."""
    packages: dict[int, Path] = {}
    for level in strassen:
        suffix = "" if weights == "f32" else f".{weights}"
        suffix += f".strassen{level}" if level else ""
        more = ["--strassen", str(level)] if level else []
        package = sluice_cli.compile_model(
            source, folder / f"{name}{suffix}.sluice", options=[*options, *more])
        if not packages or package.stat().st_size > 1.01 * smallest:
            packages[level] = package
        smallest = min(file.stat().st_size for file in packages.values())
    return packages


def measure(networks: list[Prepared], threads: int, arguments: argparse.Namespace) -> list[Row]:
    """Turns of all engines, in the arguments' rounds and seconds: a row for each level of
    Strassen's method. With several networks a run executes each once, and each engine has one
    process for all of them."""
    def files(of_network: Callable[[Prepared], Path]) -> list[workers.Model]:
        return [workers.Model(of_network(network), network.inputs) for network in networks]

    levels = list(dict.fromkeys(level for network in networks for level in network.packages))
    crew: dict[str, workers.Worker] = {
        sluice_at(level): workers.sluice_worker(
            files(lambda network, level=level: network.packages[network.level(level)]), threads)
        for level in levels
    }
    for peer in networks[0].models:
        if not all(peer in network.models for network in networks):
            continue
        crew[peer] = workers.peer_worker(
            peer, files(lambda network, peer=peer: network.models[peer]), threads,
            spins=not arguments.no_spin)
    neighbour = BusyNeighbour(max(workers.allowed_cpus(threads)))
    try:
        with neighbour if arguments.contended else nullcontext():
            for worker in reversed(crew.values()):  # warm-up; by Sluice's all have started
                worker.run(arguments.seconds)
            turns = rounds_of(crew, arguments)
    finally:
        for worker in crew.values():
            worker.close()
    return [summarise(networks, threads, level, turns) for level in levels]


def rounds_of(crew: dict[str, workers.Worker],
              arguments: argparse.Namespace) -> list[dict[str, workers.Figures]]:
    """Runs the requested rounds, and more while the median of a ratio is uncertain on either side,
    because other programs disturb the machine."""
    turns: list[dict[str, workers.Figures]] = []
    end = math.inf
    while len(turns) < arguments.rounds or (time.monotonic() < end and not all(
            uncertainty(values) <= CERTAIN for values in ratios_over(turns))):
        turns.append({name: worker.run(arguments.seconds) for name, worker in crew.items()})
        if len(turns) == arguments.rounds:
            end = time.monotonic() + arguments.more_seconds
    return turns


def ratios_over(turns: list[dict[str, workers.Figures]]) -> Iterator[list[float]]:
    for mine in (name for name in turns[0] if name not in PEERS):
        for peer in (name for name in turns[0] if name in PEERS):
            yield [turn[mine]["median_us"] / turn[peer]["median_us"] for turn in turns]


def uncertainty(values: list[float]) -> float:
    """Half the 95 % confidence interval of the median, as a share of it; from order statistics, so
    it supposes nothing of how the values are distributed."""
    ordered = sorted(values)
    reach = 0.98 * math.sqrt(len(ordered))  # 1.96 standard deviations of a binomial distribution
    low = max(0, math.floor(len(ordered) / 2 - reach))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + reach) - 1)
    return (ordered[high] - ordered[low]) / 2 / statistics.median(ordered)


def sluice_at(level: int) -> str:
    return f"sluice, Strassen {level}"


def summarise(networks: list[Prepared], threads: int, level: int,
              turns: list[dict[str, workers.Figures]]) -> Row:
    mine = sluice_at(level)
    peers = [peer for peer in PEERS if peer in turns[0]]

    def over_rounds(key: str) -> dict[str, float]:
        return {engine: statistics.median(turn[worker][key] for turn in turns)
                for engine, worker in [("sluice", mine), *((peer, peer) for peer in peers)]}

    def ratios(key: str) -> dict[str, float]:
        return {peer: statistics.median(turn[mine][key] / turn[peer][key] for turn in turns)
                for peer in peers}

    name = networks[0].name if len(networks) == 1 else f"{len(networks)} networks"
    return Row(name, threads, level, over_rounds("median_us"), over_rounds("p99_us"),
               ratios("median_us"), ratios("p99_us"),
               max(network.errors[network.level(level)] for network in networks),
               over_rounds("resident_bytes"))


# Float inputs: the `sluice` command generates all inputs except the first.
MANY = "resnet50,mobilenetv2,efficientnet_b0,yolov8n,speech_encoder,lstm,mlp"

GROUPS = {
    "one": DEFAULT_NAMES,
    "batched": BATCHED_NAMES,
    "default": [*DEFAULT_NAMES, *BATCHED_NAMES],
    "classic": list(CLASSIC),
    "all": list(NETWORKS),
}


def names_of(text: str) -> list[str]:
    """Network and group names, separated by commas, to names of networks without repetition."""
    names = [name for word in text.split(",") for name in GROUPS.get(word, [word])]
    return list(dict.fromkeys(names))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", metavar="A,B",
                        help=f"of {', '.join(NETWORKS)}; or groups: {', '.join(GROUPS)}"
                             " (default: default)")
    parser.add_argument("--threads", default="1,2", metavar="N,N",
                        help="thread counts to measure with (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=21,
                        help="turns per engine (default: %(default)s)")
    parser.add_argument("--more-seconds", type=float, default=30, metavar="SECONDS",
                        help="how long to go on while a median ratio is uncertain by more than a"
                             " hundredth (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.1,
                        help="length of a turn, one run at least (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="7 rounds, no more")
    parser.add_argument("--no-check", action="store_true", help="do not compare outputs")
    parser.add_argument("--no-spin", action="store_true",
                        help="onnxruntime's threads sleep instead of spinning when they wait")
    parser.add_argument("--weights", choices=["f32", "bf16", "int8", "static-int8"], default="f32",
                        help="how Sluice keeps matrices of constants; with int8 onnxruntime runs"
                             " what its own dynamic quantisation makes, else the peers keep f32")
    parser.add_argument("--strassen", default="0", metavar="N,N",
                        help="levels of Strassen's method in Sluice's products, 0 to 2: a row for"
                             " each that changes the network (default: %(default)s)")
    parser.add_argument("--contended", action="store_true",
                        help="beside a process that keeps one of the processors busy;"
                             " implies --no-spin")
    parser.add_argument("--many", action="store_true",
                        help="all networks in one process of each engine; a run computes each network once,"
                             f" by default {MANY}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write a table here")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw a PNG here")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench",
                        help="where models and packages are kept (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.more_seconds = 7, 0
    everything = MANY if arguments.many else "default"
    arguments.networks = names_of(arguments.networks or everything)
    arguments.no_spin |= arguments.contended
    arguments.strassen = [int(level) for level in arguments.strassen.split(",")]
    arguments.threads = [int(count) for count in arguments.threads.split(",")]
    unknown = [name for name in arguments.networks if name not in NETWORKS]
    if unknown:
        parser.error(f"no network called {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    return arguments


def prepare_all(arguments: argparse.Namespace) -> Iterator[list[Prepared]]:
    """What is measured together: each network alone, or all at once."""
    prepared = (prepare(name, arguments.folder, not arguments.no_check, arguments.weights,
                        arguments.strassen)
                for name in arguments.networks)
    if arguments.many:
        yield list(prepared)
    else:
        for network in prepared:
            yield [network]


def write_reports(rows: list[Row], arguments: argparse.Namespace) -> None:
    if arguments.json:
        report = {"machine": machine.description(), "rows": [asdict(row) for row in rows]}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(format_markdown(rows))
    if arguments.plot:
        from harness import plot  # needs Pillow, which the rest does without

        plot.draw(rows, arguments.plot)


def main(groups: dict[str, list[str]] | None = None) -> int:
    """Measures what the arguments say; the summary has a mean for each of `groups`, names of networks."""
    arguments = parse_arguments()
    print("median latency in ms; ratios are Sluice's time over the peer's; error is the largest")
    print("difference from onnxruntime's outputs over their largest magnitude\n")
    print(HEADER + (HEADER_P99 if arguments.contended else ""), flush=True)
    rows = []
    for networks in prepare_all(arguments):
        for threads in arguments.threads:
            for row in measure(networks, threads, arguments):
                rows.append(row)
                print(format_row(row, arguments.contended), flush=True)
                if arguments.many:
                    print(format_memory(row), flush=True)
            write_reports(rows, arguments)  # as far as it got, should the rest be cut short
    print(f"\n{format_summary(rows)}")
    if groups:
        print(format_groups(rows, groups))
    tolerance = agreement.TOLERANCES[arguments.weights]
    wrong = [row.network for row in rows if row.error > tolerance]
    if wrong:
        print(f"outputs differ from onnxruntime's: {', '.join(sorted(set(wrong)))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (sluice_cli.SluiceError, RuntimeError) as error:
        sys.exit(f"compare: {error}")
