#!/usr/bin/env python3
"""The planner beside a daemon: `sluice plan --calibrate` on models alone and joined, over gRPC and HTTP.

    .venv/bin/python bench/scale/planning.py [--seconds 60] [--build build/release] [--case NAME ...]

Each case has a `sluiced` of its own on the first processor; the load generator has the second. The model is a chain of 16
products with matrices of 2048 x 2048, whose weights come from memory in each run, so that rows that run together cost
little more than one. A case is within bounds if p50, p99 and the share of shed requests of three Poisson loads (0.5, 0.8
and 1.3 of what the model answers) are simulated within 15 %. Exits 1 if one is not.
Run nothing else on the machine meanwhile. A case takes four times --seconds and a little more.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "models")]

from graph_writer import GraphWriter  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.sluice_cli import ROOT  # noqa: E402

MOST_ERROR = 0.15
MS = 1e6


@dataclass(frozen=True)
class Case:
    rows: int = 1  # of a joined run; 1: every request runs alone
    delay_s: float = 0
    over_http: bool = False

    @property
    def name(self) -> str:
        return f"{'joined' if self.rows > 1 else 'alone'}-{'http' if self.over_http else 'grpc'}"

    def joining(self) -> list[str]:
        """Options of `sluice load` and of `sluice plan`."""
        return ["--batch-rows", str(self.rows), "--max-delay", str(self.delay_s)] if self.rows > 1 else []


CASES = [Case(), Case(8, 0.01), Case(over_http=True), Case(8, 0.01, over_http=True)]
LAYERS, WIDTH = 16, 2048


def write_model(path: Path) -> None:
    g = GraphWriter("products", seed=1)
    x = g.input("input", ["rows", WIDTH])
    for layer in range(LAYERS):
        weight = g.normal(f"w{layer}", (WIDTH, WIDTH), math.sqrt(2 / WIDTH))
        x = g.op("Relu", g.op("MatMul", x, weight), name="output" if layer == LAYERS - 1 else None)
    g.output("output", ["rows", WIDTH])
    g.save(path)


def http_of(folder: Path) -> str:
    """HOST:PORT, which the daemon says together with where it listens."""
    said = (folder / "log").read_text().splitlines()
    [address] = [line.rpartition(" ")[2] for line in said if line.startswith("sluiced: http on ")]
    return address


def make_package(sluice: Path, folder: Path) -> Path:
    package = folder / "products.sluice"
    write_model(package.with_suffix(".onnx"))
    subprocess.run([sluice, "compile", package.with_suffix(".onnx"), "-o", package], check=True, stdout=subprocess.DEVNULL)
    return package


def calibrate(case: Case, build: Path, package: Path, file: Path, seconds: float) -> None:
    """`sluice plan --calibrate` writes the case to the file beside the others, as a model of its name."""
    sluice, place = build / "bin/sluice", package.parent / case.name
    os.sched_setaffinity(0, {0})  # the daemon's
    with Daemon(build, place, "--http", "localhost:0", "--model-folders", package.parent) as daemon:
        os.sched_setaffinity(0, {1})
        at = ["--address", daemon.address]
        subprocess.run([sluice, "load", package, "--name", case.name, *case.joining(), *at], check=True,
                       stdout=subprocess.DEVNULL)
        door = ["--http", http_of(place)] if case.over_http else []
        subprocess.run([sluice, "plan", file, "--calibrate", case.name, "--seconds", str(seconds), *case.joining(), *door,
                        *at])
    if case.name not in models_of(file):
        raise SystemExit(f"{case.name}: no calibration")


def models_of(file: Path) -> dict[str, dict]:
    """By their names."""
    return {model["name"]: model for model in json.loads(file.read_text())["models"]} if file.exists() else {}


def error_of(run: dict) -> float:
    """As CalibrationRun::error of src/fleet."""
    measured, simulated = run["measured"], run["simulated"]
    errors = [abs(simulated[key] - measured[key]) / max(measured[key], 1) for key in ("p50_ns", "p99_ns")]
    shed = [figures["shed_per_million"] / 1e6 for figures in (measured, simulated)]
    return max(*errors, abs(shed[1] - shed[0]) / max(shed[0], 0.05))


def line_of(case: Case, run: dict) -> str:
    pairs = [f"{run['measured'][key] / MS:.1f}/{run['simulated'][key] / MS:.1f}" for key in ("p50_ns", "p99_ns")]
    shed = "/".join(f"{run[side]['shed_per_million'] / 1e4:.1f}" for side in ("measured", "simulated"))
    return (f"| {case.name} | {run['requests_per_million_seconds'] / 1e6:.1f}/s | {' | '.join(pairs)} | {shed} | "
            f"{run['num_requests']} | {run['deadline_ns'] / MS:.0f} | {run['seed']} | {100 * error_of(run):.1f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of each load (default: %(default)s)")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="default: all (repeatable)")
    parser.add_argument("--keep", type=Path, help="write the calibration to this file, for `sluice plan`")
    options = parser.parse_args()
    if (os.cpu_count() or 1) < 2:
        parser.error("the daemon and the load generator need a processor each")
    cases = [case for case in CASES if options.case is None or case.name in options.case]
    with tempfile.TemporaryDirectory(prefix="sluice-planning-") as folder:
        build = options.build.resolve()
        package, file = make_package(build / "bin/sluice", Path(folder)), Path(folder) / "cases.plan"
        for case in cases:
            calibrate(case, build, package, file, options.seconds)
        models = models_of(file)
        if options.keep:
            options.keep.write_bytes(file.read_bytes())
    print("measured/simulated\n\n| case | load | p50, ms | p99, ms | shed, % | requests | deadline, ms | seed | error, % |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for case in cases:
        print("\n".join(line_of(case, run) for run in models[case.name]["runs"]))
    most = max(error_of(run) for model in models.values() for run in model["runs"])
    print(f"\nlargest error: {100 * most:.1f} %")
    return 0 if most <= MOST_ERROR else 1


if __name__ == "__main__":
    sys.exit(main())
