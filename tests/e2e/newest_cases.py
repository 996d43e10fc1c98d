"""Writes the test cases of the installed onnx package as folders that `sluice conformance` reads.

The package brings models and expected values as code; its own generator writes only those that are
no single node. A folder has model.onnx and test_data_set_<i>/{input,output}_<j>.pb.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import onnx
from onnx import numpy_helper
from onnx.backend.test.case import model as model_cases
from onnx.backend.test.case import node as node_cases

WRITERS = {
    "map_type": numpy_helper.from_dict,
    "sequence_type": numpy_helper.from_list,
    "optional_type": numpy_helper.from_optional,
    "tensor_type": numpy_helper.from_array,
}


UNREAD = {f"test_image_decoder_decode_{name}_rgb" for name in ("bmp", "jpeg2k", "pnm", "tiff", "webp")}


def collect() -> list:
    """All cases with their own data, single nodes and small models, but those of files that ImageDecoder refuses: the
    standard names them as formats that a decoder may read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the makers divide by zero on purpose
        cases = {case.name: case for case in node_cases.collect_testcases(None)}
        cases |= {case.name: case for case in model_cases.collect_testcases()}
    return [case for case in cases.values() if case.model is not None and case.data_sets and case.name not in UNREAD]


def write_values(folder: Path, kind: str, infos: list, values: list) -> None:
    for index, (info, value) in enumerate(zip(infos, values)):
        if not isinstance(value, onnx.TensorProto):
            value = WRITERS[info.type.WhichOneof("value")](value, info.name)
        (folder / f"{kind}_{index}.pb").write_bytes(value.SerializeToString())


def write_case(case, folder: Path) -> None:
    graph = case.model.graph
    for index, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{index}"
        data.mkdir(parents=True)
        write_values(data, "input", graph.input, inputs)
        write_values(data, "output", graph.output, outputs)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())


def write_all(folder: Path) -> int:
    """Replaces what is in `folder`; returns how many cases there are."""
    shutil.rmtree(folder, ignore_errors=True)
    cases = collect()
    for case in cases:
        write_case(case, folder / case.name)
    return len(cases)
