#!/usr/bin/env python3
"""Products with weights of 4, 8 and 16 bits on an emulated GPU, as on `reference`.

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnx

for folder in ("", "precision"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))
import cuda_compiler  # noqa: E402
import weights_stay_narrow  # noqa: E402
from report import Report, scratch_folder  # noqa: E402

from harness.agreement import relative_error  # noqa: E402
from harness.sluice_cli import compile_model, run_command, run_model  # noqa: E402

TARGETS = "cuda-emulated,cpu"


def places(package: Path, operator: str) -> set[str]:
    nodes = json.loads(run_command("explain", package, "--json"))["nodes"]
    return {node["backend"] for node in nodes if operator in node["operator"]}


def check_product(name: str, model: onnx.ModelProto, folder: Path, report: Report) -> None:
    path = folder / "model.onnx"
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "M"
    onnx.save_model(model, path)
    package = compile_model(path, folder / "device.sluice", TARGETS)
    found = places(package, "NarrowMatMul")
    report.add(found == {"cuda-emulated"}, f"{name}: NarrowMatMul on {sorted(found)}")
    whole = compile_model(path, folder / "whole.sluice", "reference")
    for rows in (1, 3, 19):  # fewer than a block has, and several blocks of them
        feeds = {"x": weights_stay_narrow.RANDOM.standard_normal((rows, weights_stay_narrow.K), dtype=np.float32)}
        error = relative_error(run_model(package, feeds, ["y"])["y"], run_model(whole, feeds, ["y"])["y"])
        tolerance = 1e-3 if "f16" in name else 1e-5  # the result is rounded to 11 bits
        report.add(error <= tolerance, f"{name}, {rows} rows: relative error {error:.1e}")


def main() -> int:
    if reason := cuda_compiler.reason_to_skip():
        print(f"skipped: {reason}")
        return 77
    report = Report()
    with scratch_folder() as name:
        for case, (make, *_) in weights_stay_narrow.CASES.items():
            if "MatMulNBits" in case or "QDQ" in case.upper():
                check_product(case, make(), Path(name), report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
