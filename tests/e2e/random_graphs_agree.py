#!/usr/bin/env python3
"""Small random graphs in odd sizes: `cpu` agrees with onnxruntime on each.

Every case is made from its own seed, so that one can be made again: --seed 17 --count 1 --keep DIR.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import numpy_helper
from report import Report, scratch_folder

from harness.agreement import onnxruntime_outputs
from harness.sluice_cli import binary
from random_graphs import dense, elementwise, images, movement, recurrent
from random_graphs.case import Case

FAMILIES: dict[str, Callable[[Case], None]] = {
    "images": images.build,
    "dense": dense.build,
    "elementwise": elementwise.build,
    "movement": movement.build,
    "recurrent": recurrent.build,
}
ABSOLUTE = "1e-4"  # beside the relative 1e-3: values are near one


def write_case(family: str, seed: int, folder: Path) -> None:
    """A folder as ONNX's own test data has them: model.onnx and test_data_set_0/*.pb."""
    case = Case(f"{family}_{seed}", seed)
    FAMILIES[family](case)
    model = case.writer.model()
    data = folder / f"test_{family}_{seed}" / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    path = data.parent / "model.onnx"
    onnx.save_model(model, path)
    outputs = onnxruntime_outputs(path, case.feeds)
    for kind, values in (("input", case.feeds), ("output", outputs)):
        for index, (name, array) in enumerate(values.items()):
            tensor = numpy_helper.from_array(array, name)
            (data / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


def run_cases(folder: Path, backend: str, report: Report) -> None:
    command = [str(binary()), "conformance", str(folder), "--verbose", "--backend", backend,
               "--absolute", ABSOLUTE]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    names = {path.name for path in folder.iterdir()}
    for line in output.splitlines():
        told = re.match(r"(pass|FAIL|skip) (\w+)", line)
        if told and told[2] in names:
            names.discard(told[2])
            report.add(told[1] == "pass", line)
    for name in sorted(names):
        report.add(False, f"{name}: no verdict; the command ended early")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="family",
                        help=f"of {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--count", type=int, default=100, help="cases per family (default: 100)")
    parser.add_argument("--backend", default="cpu", help="default: %(default)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the cases here")
    arguments = parser.parse_intermixed_args()
    report = Report()
    with scratch_folder() as scratch:
        folder = arguments.keep or Path(scratch)
        for family in arguments.families or FAMILIES:
            for seed in range(arguments.seed, arguments.seed + arguments.count):
                write_case(family, seed, folder)
        run_cases(folder, arguments.backend, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
