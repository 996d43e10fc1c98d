#!/usr/bin/env python3
"""Models split over `cpu` and two simulated devices that reach only their own memory, in three forced
ways; each executor gives the outputs of the whole model on `reference`.

A build with a sanitizer is slow: --oracle names the `sluice` of another build for the whole model.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from light_models import NAMES as LIGHT  # noqa: E402
from light_models import model_path, ramp_inputs  # noqa: E402
from report import Report, scratch_folder  # noqa: E402

import make  # noqa: E402
from harness.agreement import relative_error  # noqa: E402
from harness.sluice_cli import Arrays, compile_model, run_command, run_model  # noqa: E402
from networks import NETWORKS  # noqa: E402

TWO_DEVICES = '{"devices": [{"count": 2, "host_memory": false}]}'
TARGETS = ("cpu", "sim", "sim:1")
EXECUTORS = ("linear", "dataflow", "parallel")
GENERATED = ("mobilenetv2", "efficientnet_b0", "dlrm", "lstm", "mlp", "speech_encoder")
QUICK = ("light/squeezenet", "generated/mlp", "generated/dlrm")


def thirds(position: int, count: int) -> int:
    return 3 * position // count


def in_turn(position: int, count: int) -> int:
    return position % 3


def ninths_in_turn(position: int, count: int) -> int:
    return 9 * position // count % 3


SPLITS = {"thirds": thirds, "in turn": in_turn, "ninths in turn": ninths_in_turn}


def rules(package: Path, split) -> list[str]:
    """--place arguments that send each node of the compiled graph to its target, by name."""
    nodes = json.loads(run_command("explain", package, "--json"))["nodes"]
    names = [node["name"] for node in nodes if node["subgraph"] == 0 and node["backend"] and node["name"]]
    names = [name for name in dict.fromkeys(names) if names.count(name) == 1]
    placed = (f"{name}={TARGETS[split(i, len(names))]}" for i, name in enumerate(names))
    return [text for rule in placed for text in ("--place", rule)]


def load(name: str, folder: Path) -> tuple[Path, Arrays]:
    family, model = name.split("/")
    if family == "light":
        return model_path(model), ramp_inputs(onnx.load(model_path(model)))
    return make.write(model, folder), NETWORKS[model].inputs(np.random.default_rng(0))


def check(name: str, folder: Path, oracle: Path | None, report: Report) -> None:
    model, feeds = load(name, folder)
    outputs = [output.name for output in onnx.load(model, load_external_data=False).graph.output]
    shapes = [text for input_name, array in feeds.items()
              for text in ("--shape", f"{input_name}={','.join(map(str, array.shape))}") if array.shape]
    with mock.patch.dict(os.environ, {"SLUICE": str(oracle)} if oracle else {}):
        whole = compile_model(model, folder / "whole.sluice", "reference", shapes)
        expected = run_model(whole, feeds, outputs)
    for number, (split_name, split) in enumerate(SPLITS.items()):
        options = [*shapes, *rules(whole, split)]
        package = compile_model(model, folder / f"split{number}.sluice", "cpu", options)
        nodes = json.loads(run_command("explain", package, "--json"))["nodes"]
        backends = {node["backend"] for node in nodes if node["backend"]}
        report.add(backends >= set(TARGETS), f"{name}, {split_name}: runs on {sorted(backends)}")
        for executor in EXECUTORS:
            def error() -> float:
                actual = run_model(package, feeds, outputs, ("--executor", executor))
                return max(relative_error(actual[key], expected[key]) for key in outputs)
            report.case(f"{name}, {split_name}, {executor}", error)


def main() -> int:
    every = [*(f"light/{name}" for name in LIGHT), *(f"generated/{name}" for name in GENERATED)]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(every)}")
    parser.add_argument("--all", action="store_true", help="all of them, half an hour on two cores")
    parser.add_argument("--oracle", type=Path, help="the program that runs the whole model; by default $SLUICE")
    arguments = parser.parse_args()
    os.environ["SLUICE_SIM"] = TWO_DEVICES
    report = Report()
    for name in arguments.names or (every if arguments.all else QUICK):
        with scratch_folder() as folder:
            check(name, Path(folder), arguments.oracle, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
