#!/usr/bin/env python3
"""A model cut in two, a core for each half, in a daemon with the client beside it: requests per second by requests in flight,
and beside the whole model on one core.

    .venv/bin/python bench/serving/cut_in_two.py [--build build/release]

The loads take turns, so that a change of the machine meets all. Target: 1.7 times the rate of one core, from two requests in
flight on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import sluice_cli  # noqa: E402
from harness.daemon import Daemon  # noqa: E402

LAYERS, WIDTH = 16, 256  # halves of milliseconds
IN_FLIGHT = (1, 2, 3, 4)


def write_model(path: Path) -> None:
    """Products with one matrix, in a row."""
    matrix = numpy_helper.from_array(np.full((WIDTH, WIDTH), 1 / WIDTH, np.float32), "w")
    nodes = [helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"], name=f"product{i}") for i in range(LAYERS)]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [WIDTH, WIDTH]) for name in ("x0", f"x{LAYERS}")]
    graph = helper.make_graph(nodes, "products", ends[:1], ends[1:], [matrix])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def rate(address: str, model: str, in_flight: int, seconds: float) -> float:
    """Answers per second."""
    printed = sluice_cli.run_command(
        "perf", model, "--grpc", address, "--concurrency", str(in_flight), "--window", str(seconds / 3), "--windows", "3",
        "--stability", "100", "--json")  # fmt: skip
    [load] = json.loads(printed)
    return float(load["inferences_per_second"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=sluice_cli.ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each load in a round")
    arguments = parser.parse_args()
    os.environ["SLUICE"] = str(arguments.build.resolve() / "bin/sluice")
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("this process may use one processor; the figure needs two")
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as name:
        folder = Path(name)
        write_model(folder / "model.onnx")
        for package, options in (("cut", ("--cut", f"product{LAYERS // 2}", "--cores", "1,1")), ("whole", ("--cores", "1"))):
            sluice_cli.compile_model(folder / "model.onnx", folder / f"{package}.sluice", options=options)
        with Daemon(arguments.build.resolve(), folder / "daemon") as daemon:
            at = ("--address", daemon.address)
            turns: dict[str, list[float]] = {}
            for _ in range(arguments.rounds):
                for package, loads in (("whole", (max(IN_FLIGHT),)), ("cut", IN_FLIGHT)):
                    sluice_cli.run_command("load", folder / f"{package}.sluice", "--depth", str(max(IN_FLIGHT)), *at)
                    for in_flight in loads:
                        what = "whole, on one core" if package == "whole" else f"cut in two, {in_flight} in flight"
                        turns.setdefault(what, []).append(rate(daemon.address, package, in_flight, arguments.seconds))
                    sluice_cli.run_command("unload", package, *at)
    [one, *_] = (statistics.median(rates) for rates in turns.values())
    for what, rates in turns.items():
        some = statistics.median(rates)
        print(f"{what:26} {some:8.1f} requests/s, {some / one:.2f} times one core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
