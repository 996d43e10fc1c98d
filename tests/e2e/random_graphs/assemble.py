"""A case as a model, and as the folder that `sluice conformance` takes."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

import ml_dtypes  # noqa: F401  (numpy's bfloat16)
import numpy as np
import onnx
from onnx import helper

from random_graphs.bodies import tensor_of
from random_graphs.case import Case, Fragment
from random_graphs.evaluate import element_type

Arrays = dict[str, np.ndarray]


def choose_outputs(case: Case) -> list[str]:
    """Every value without a reader, and occasionally one with a reader."""
    made = [name for fragment in case.fragments for name in fragment.outputs]
    read = {name for fragment in case.fragments for name in fragment.inputs}
    leaves = [name for name in made if name not in read]
    return leaves + [name for name in made if name in read and case.chance(0.08)]


def symbols_of(case: Case) -> dict[tuple[str, int], str]:
    """Names for some dimensions of inputs: distinct names, or one name for all dimensions of equal size."""
    chosen = {}
    for name, array in case.feeds.items():
        is_index = array.ndim == 1 and array.dtype.kind == "i"  # possibly a list of axes or sizes
        for axis, size in enumerate(array.shape):
            if case.is_dynamic and not is_index and case.chance(0.5):
                chosen[name, axis] = f"n{size}" if case.chance(0.3) else f"{name}_{axis}"
    return chosen


def model_of(fragments: Sequence[Fragment], inputs: Arrays, weights: Arrays, outputs: Arrays,
             opset: int, symbols: dict[tuple[str, int], str], shapes: bool) -> onnx.ModelProto:
    """Outputs declare their shapes if `shapes`; weights that nobody reads are left out."""
    read = {name for fragment in fragments for name in fragment.inputs} | set(outputs)
    typed = [helper.make_tensor_value_info(
        name, element_type(array),
        [symbols.get((name, axis), size) for axis, size in enumerate(array.shape)])
        for name, array in inputs.items()]
    made = [helper.make_tensor_value_info(name, element_type(array),
                                          array.shape if shapes else None)
            for name, array in outputs.items()]
    kept = [tensor_of(array, name) for name, array in weights.items() if name in read]
    nodes = [node for fragment in fragments for node in fragment.nodes]
    graph = helper.make_graph(nodes, "random", typed, made, kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def write_folder(folder: Path, model: onnx.ModelProto, inputs: Arrays, outputs: Arrays) -> None:
    """model.onnx and test_data_set_0/*.pb, as ONNX's own test data has them."""
    data = folder / "test_data_set_0"
    shutil.rmtree(folder, ignore_errors=True)
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values in (("input", inputs), ("output", outputs)):
        for index, (name, array) in enumerate(values.items()):
            (data / f"{kind}_{index}.pb").write_bytes(tensor_of(array, name).SerializeToString())


def write_case(case: Case, folder: Path, left_out: Collection[str] = ()) -> bool:
    """False if all outputs are among those that are left out."""
    known = {value.name: value.data for value in case.values}
    outputs = {name: known[name] for name in choose_outputs(case) if name not in left_out}
    model = model_of(case.fragments, case.feeds, case.weights, outputs, case.opset,
                     symbols_of(case), shapes=not case.is_dynamic and case.chance(0.7))
    write_folder(folder, model, case.feeds, outputs)
    return bool(outputs)
