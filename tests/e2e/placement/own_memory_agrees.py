#!/usr/bin/env python3
"""Models split over `cpu` and a simulated device that reaches only its own memory, as rules force it.

Each agrees with the whole model on `reference`. A kernel of the device fails if one of its tensors was
not copied to it.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import control_flow_agrees  # noqa: E402
from light_models import model_path, ramp_inputs  # noqa: E402
from report import ROOT, Report, scratch_folder  # noqa: E402

from harness.agreement import error_against  # noqa: E402
from harness.sluice_cli import Arrays, compile_model, run_model  # noqa: E402

OWN_MEMORY = '{"devices": [{"count": 2, "host_memory": false}]}'
SPLITS = {
    "convolutions on the device": ["Conv=sim"],
    "convolutions on the host": ["Conv=cpu", "*=sim"],
    "all of it on the device": ["*=sim"],
}


def worst_error(model: Path, feeds: Arrays, folder: Path) -> dict[str, float]:
    """By split: the relative error against the whole model on `reference`."""
    outputs = [output.name for output in onnx.load(model).graph.output]
    whole = compile_model(model, folder / "whole.sluice", "reference")
    expected = run_model(whole, feeds, outputs)
    errors = {}
    for number, (name, rules) in enumerate(SPLITS.items()):
        options = [text for rule in rules for text in ("--place", rule)]
        package = compile_model(model, folder / f"split{number}.sluice", options=options)
        errors[name] = error_against(package, feeds, expected)
    return errors


def digits() -> tuple[Path, Arrays]:
    model = ROOT / "examples/digits/digits.onnx"
    name = onnx.load(model).graph.input[0].name
    return model, {name: np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)}


def light(name: str) -> tuple[Path, Arrays]:
    return model_path(name), ramp_inputs(onnx.load(model_path(name)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--light", default="", help="light models to split, comma between")
    arguments = parser.parse_args()
    os.environ["SLUICE_SIM"] = OWN_MEMORY
    report = Report()
    names = [name for name in arguments.light.split(",") if name]
    models = {name: light(name) for name in names} or {"digits": digits()}
    for name, (model, feeds) in models.items():
        with scratch_folder() as folder:
            for split, error in worst_error(model, feeds, Path(folder)).items():
                report.case(f"{name}, {split}", lambda: error)
    if not names:
        with scratch_folder() as folder:
            for name, (graph, feeds) in control_flow_agrees.CASES.items():
                control_flow_agrees.write_case(Path(folder) / name, graph, feeds)
            control_flow_agrees.run_cases(Path(folder), "sim,cpu", True, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
