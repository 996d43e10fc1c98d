#!/usr/bin/env python3
"""The time of each step of a network on the cpu backend, beside the limits of the machine.

Prints for every kind and shape of operation its time, its arithmetic per second as a share of the
machine's multiply-add peak, and its bytes per second as a share of what it reads from memory. The
peaks are measured just before and just after the network; the better of the two counts. A step near
100 % of either is done; more than 100 % of memory says that its data lay in a cache.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "models"))

from compare import prepare  # noqa: E402
from harness import sluice_cli, steps  # noqa: E402
from networks import NETWORKS  # noqa: E402


@dataclass
class Peak:
    """The peak of all workers together."""

    gflops: float
    memory_gbps: float
    cache_gbps: float


@dataclass
class Line:
    """All steps of one kind and shape."""

    op: str
    shape: str
    count: int
    ms: float
    gflops: float
    gbps: float
    of_peak: float
    of_memory: float


def measure_peak(workers: int) -> Peak:
    program = sluice_cli.binary().parent / "bench_peak"
    if not program.exists():
        raise sluice_cli.SluiceError(f"{program} is missing; run 'ninja -C build/release bench_peak'")
    done = subprocess.run([str(program), str(workers)], check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout)
    return Peak(figures["gflops"], figures["memory_gbps"], figures["cache_gbps"])


def better(a: Peak, b: Peak) -> Peak:
    return Peak(*(max(x, y) for x, y in zip(asdict(a).values(), asdict(b).values())))


def summarise(measured: list[steps.Step], peak: Peak, least: bool) -> list[Line]:
    """Longest first."""
    groups: dict[tuple[str, str], list[steps.Step]] = defaultdict(list)
    for step in measured:
        groups[step.op, step.shape()].append(step)
    lines = []
    for (op, shape), group in groups.items():
        ns = max(1.0, sum(step.least_ns if least else step.median_ns for step in group))
        gflops = sum(step.flops() for step in group) / ns
        gbps = sum(step.bytes for step in group) / ns
        lines.append(Line(op, shape, len(group), ns / 1e6, gflops, gbps,
                          gflops / peak.gflops, gbps / peak.memory_gbps))
    return sorted(lines, key=lambda line: -line.ms)


def print_table(name: str, threads: int, lines: list[Line], peak: Peak, most: int) -> None:
    total = sum(line.ms for line in lines)
    work = sum(line.gflops * line.ms for line in lines)
    print(f"{name}, {threads} threads: {total:.3f} ms, {work / total:.1f} GFLOP/s ="
          f" {work / total / peak.gflops:.0%} of {peak.gflops:.0f};"
          f" memory {peak.memory_gbps:.1f} GB/s, cache {peak.cache_gbps:.1f} GB/s")
    print(f"{'ms':>9} {'time':>6} {'count':>5} {'GFLOP/s':>8} {'peak':>6} {'GB/s':>7} {'memory':>7}"
          f"  operation")
    for line in lines[:most]:
        kind = line.op if len(line.op) < 40 else line.op[:37] + "..."
        print(f"{line.ms:>9.3f} {line.ms / total:>6.1%} {line.count:>5} {line.gflops:>8.1f}"
              f" {line.of_peak:>6.0%} {line.gbps:>7.1f} {line.of_memory:>7.0%}  {kind} {line.shape}")
    if len(lines) > most:
        rest = sum(line.ms for line in lines[most:])
        print(f"{rest:>9.3f} {rest / total:>6.1%}  {len(lines) - most} more (--lines)")
    print(flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="+", metavar="network", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="per network (default: 2)")
    parser.add_argument("--weights", choices=["f32", "bf16", "int8"], default="f32",
                        help="how matrices of constants are kept")
    parser.add_argument("--least", action="store_true",
                        help="of each step its least time, not its median: on a busy machine")
    parser.add_argument("--lines", type=int, default=24, help="most lines to print (default: 24)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--folder", type=Path, default=sluice_cli.ROOT / "build/bench",
                        help="where models and packages are kept (default: %(default)s)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.networks if name not in NETWORKS]
    if unknown:
        parser.error(f"no network called {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    report = {}
    for name in arguments.networks:
        network = prepare(name, arguments.folder, False, arguments.weights)
        before = measure_peak(arguments.threads)
        measured = steps.measure(network.packages[0], network.inputs, arguments.threads,
                                 arguments.seconds)
        peak = better(before, measure_peak(arguments.threads))
        lines = summarise(measured, peak, arguments.least)
        print_table(name, arguments.threads, lines, peak, arguments.lines)
        report[name] = {"peak": asdict(peak), "steps": [asdict(line) for line in lines]}
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (sluice_cli.SluiceError, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"roofline: {error}")
