#!/usr/bin/env python3
"""Ends of number ranges and NaN in generated kernels: an emulated GPU gives the same bits as `reference`.

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402
from report import Report, scratch_folder  # noqa: E402

from harness.sluice_cli import Arrays, compile_model, run_model  # noqa: E402

TYPES = {np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.float32): TensorProto.FLOAT,
         np.dtype(np.float64): TensorProto.DOUBLE}
NAN, INF = float("nan"), float("inf")


def integers(dtype: type) -> Arrays:
    """Each dividend with each divisor, near the ends of the type, of both signs."""
    most = np.iinfo(dtype).max
    ends = [1, 2, 3, 7, most // 2, most // 2 + 1, most - 1, most]
    numbers = np.array(ends + [-number for number in ends] + [0], dtype)
    divisors = numbers[numbers != 0]
    return {"a": np.repeat(numbers, divisors.size), "b": np.tile(divisors, numbers.size)}


LINES = np.array([[1, NAN, 3, 2], [NAN, 3, NAN, 2], [1, 2, 3, NAN], [INF, NAN, INF, 2], [-INF, 2, 2, -INF],
                  [NAN, NAN, NAN, NAN]], np.float32)
ENDS = np.array([NAN, INF, -INF, 0, -0.0, 1e38, -1e38, 2.5, -2.5, 1e-45], np.float32)

CASES: list[tuple[str, Arrays, dict[str, object]]] = [
    *(("Mod", integers(dtype), {"fmod": fmod}) for dtype in (np.int8, np.int32, np.int64) for fmod in (0, 1)),
    *((kind, {"a": LINES}, {"axis": axis, "select_last_index": last})
      for kind in ("ArgMax", "ArgMin") for axis in (0, 1) for last in (0, 1)),
    *((kind, {"a": ENDS}, {}) for kind in ("HardSigmoid", "HardSwish", "Relu", "Abs", "Sign", "Floor", "LeakyRelu",
                                          "ThresholdedRelu", "Shrink")),
    *((kind, {"a": np.repeat(ENDS, ENDS.size).astype(dtype), "b": np.tile(ENDS, ENDS.size).astype(dtype)}, {})
      for kind in ("Max", "Min") for dtype in (np.float32, np.float64)),
    *((kind, {"a": ENDS.astype(np.float64)}, {}) for kind in ("Sign", "Relu", "Abs")),
]


def check(kind: str, feeds: Arrays, attributes: dict[str, object], folder: Path, report: Report) -> None:
    model = folder / "edge.onnx"
    # A kernel cannot report a division by zero: it takes known divisors alone.
    fixed = {"b": feeds["b"]} if kind == "Mod" else {}
    given = {name: value for name, value in feeds.items() if name not in fixed}
    inputs = [helper.make_tensor_value_info(name, TYPES[value.dtype], value.shape) for name, value in given.items()]
    node = helper.make_node(kind, list(feeds), ["y"], **attributes)
    graph = helper.make_graph([node], kind, inputs, [onnx.ValueInfoProto(name="y")],
                              [numpy_helper.from_array(value, name) for name, value in fixed.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(onnx.shape_inference.infer_shapes(made, check_type=True, data_prop=True), model)
    expected, actual = (run_model(compile_model(model, folder / f"{backend}.sluice", backend), given, ["y"])["y"]
                       for backend in ("reference", "cuda-emulated"))
    with np.errstate(invalid="ignore"):
        is_equal = np.allclose(expected, actual, rtol=1e-6, atol=0, equal_nan=True)
    report.add(is_equal, f"{kind} {attributes} of {next(iter(feeds.values())).dtype}")


def main() -> int:
    if reason := cuda_compiler.reason_to_skip():
        print(f"skipped: {reason}")
        return 77
    report = Report()
    with scratch_folder() as name:
        for kind, feeds, attributes in CASES:
            check(kind, feeds, attributes, Path(name), report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
