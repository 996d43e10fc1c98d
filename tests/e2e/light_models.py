#!/usr/bin/env python3
"""The nine "light" models of the onnx package, on both backends.

Each must give its published output, and on `cpu` also onnxruntime's output after its constant
weights were replaced by random ones. Inputs are what onnx.backend.test.runner feeds: 0, 1/n, 2/n …
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from report import Report, scratch_folder

from harness.agreement import error_against, onnxruntime_outputs
from harness.sluice_cli import Arrays, compile_model
from light_weights import randomise

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
NAMES = [
    "bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet",
    "squeezenet", "vgg19", "zfnet512",
]


def model_path(name: str) -> Path:
    return LIGHT / f"light_{name}.onnx"


def ramp_inputs(model: onnx.ModelProto) -> Arrays:
    weights = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name not in weights:
            shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
            size = np.prod(shape)
            feeds[value.name] = (np.arange(size).reshape(shape) / size).astype(np.float32)
    return feeds


def published_error(name: str, backend: str, folder: Path) -> float:
    path = model_path(name)
    model = onnx.load(path)
    tensor = onnx.TensorProto.FromString(path.with_name(f"light_{name}_output_0.pb").read_bytes())
    expected = {model.graph.output[0].name: numpy_helper.to_array(tensor)}
    package = compile_model(path, folder / f"{name}.sluice", backend)
    return error_against(package, ramp_inputs(model), expected)


def seeded_error(name: str, backend: str, folder: Path) -> float:
    model = onnx.load(model_path(name))
    randomise(model, seed=NAMES.index(name))
    path = folder / f"{name}_seeded.onnx"
    onnx.save_model(model, path)
    feeds = ramp_inputs(model)
    package = compile_model(path, folder / f"{name}_seeded.sluice", backend)
    return error_against(package, feeds, onnxruntime_outputs(path, feeds))


SUITES = {
    "published-reference": ("reference", published_error),
    "published-cpu": ("cpu", published_error),
    "seeded-cpu": ("cpu", seeded_error),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite",
                        help=f"of {', '.join(SUITES)} (default: all)")
    parser.add_argument("--models", default=",".join(NAMES), help="default: %(default)s")
    arguments = parser.parse_intermixed_args()
    report = Report()
    for suite in arguments.suites or SUITES:
        backend, error_of = SUITES[suite]
        for name in arguments.models.split(","):
            with scratch_folder() as folder:
                report.case(f"{suite} {name}", lambda: error_of(name, backend, Path(folder)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
