#!/usr/bin/env python3
"""Finds the first operator of an ONNX model after which Sluice and onnxruntime differ.

Bisects over the nodes: the model cut after node k is compiled, run on seeded inputs and compared.
Each cut keeps the fusions before it, so a wrong fused kernel is found too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from report import scratch_folder

from harness.agreement import TOLERANCE, error_against, onnxruntime_outputs
from harness.sluice_cli import Arrays, SluiceError, compile_model
from networks import NETWORKS

DTYPES = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.INT64: np.int64}


def random_inputs(model: onnx.ModelProto) -> Arrays:
    """Normal floats, zero integers; symbolic dimensions become 1."""
    rng = np.random.default_rng(0)
    weights = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        kind = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in kind.shape.dim]
        floats = kind.elem_type == onnx.TensorProto.FLOAT
        values = rng.standard_normal(shape) if floats else np.zeros(shape)
        feeds[value.name] = values.astype(DTYPES[kind.elem_type])
    return feeds


def cut_after(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """The first `count` nodes; the only output is the last one's first."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    del cut.graph.node[count:]
    del cut.graph.output[:]
    name = next(filter(None, cut.graph.node[-1].output))
    cut.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    used = {name for node in cut.graph.node for name in node.input}
    kept = [tensor for tensor in cut.graph.initializer if tensor.name in used]
    del cut.graph.initializer[:]
    cut.graph.initializer.extend(kept)
    inferred = onnx.shape_inference.infer_shapes(cut)
    known = {value.name: value for value in inferred.graph.value_info}
    known |= {value.name: value for value in inferred.graph.output}
    cut.graph.output[0].CopyFrom(known[name])
    return cut


class Bisection:
    def __init__(self, model: onnx.ModelProto, feeds: Arrays, backend: str, folder: Path) -> None:
        self._model = model
        self._feeds = feeds
        self._backend = backend
        self._folder = folder

    def first_difference(self) -> onnx.NodeProto | None:
        """The last node of the shortest differing cut; None if the whole model agrees."""
        nodes = self._model.graph.node
        cuts = [k + 1 for k, node in enumerate(nodes) if node.op_type != "Constant"]
        good, bad = -1, len(cuts) - 1
        if not self._differs(cuts[bad]):
            return None
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (good, middle) if self._differs(cuts[middle]) else (middle, bad)
        return nodes[cuts[bad] - 1]

    def _differs(self, count: int) -> bool:
        node = self._model.graph.node[count - 1]
        try:
            error = self._error_of(count)
            text = f"relative error {error:.1e}"
        except SluiceError as problem:
            error, text = float("inf"), str(problem)
        print(f"node {count:>4} {node.op_type:<20} {node.output[0]}: {text}", flush=True)
        return error > TOLERANCE

    def _error_of(self, count: int) -> float:
        cut = cut_after(self._model, count)
        path = self._folder / "cut.onnx"
        onnx.save_model(cut, path)
        names = {value.name for value in cut.graph.input}
        feeds = {name: values for name, values in self._feeds.items() if name in names}
        package = compile_model(path, self._folder / "cut.sluice", self._backend)
        return error_against(package, feeds, onnxruntime_outputs(path, feeds))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help=f"an .onnx file, or one of {', '.join(NETWORKS)}")
    parser.add_argument("--backend", default="cpu", help="default: %(default)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the last cut here")
    arguments = parser.parse_args()
    if arguments.model in NETWORKS:
        network = NETWORKS[arguments.model]
        model, feeds = network.build(), network.inputs(np.random.default_rng(0))
    else:
        model = onnx.load(arguments.model)
        feeds = random_inputs(model)
    with scratch_folder() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        found = Bisection(model, feeds, arguments.backend, folder).first_difference()
    print("no difference" if found is None else f"first difference: {found}")
    return 0 if found is None else 1


if __name__ == "__main__":
    sys.exit(main())
