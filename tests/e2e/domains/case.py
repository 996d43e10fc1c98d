"""One small model with one node, what it is fed, and the folder that ONNX's own test data uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from domains.exceptions import ONNX_DECIDES

IR_VERSION = 8  # the newest that ONNX 1.12, as Debian 12 ships it, reads
OPSETS = {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}


@dataclass
class OneNode:
    """`inputs` are fed, `constants` are initializers; "" in `order` leaves an input out."""

    name: str
    kind: str
    domain: str
    inputs: dict[str, np.ndarray]
    outputs: Sequence[str] = ("Y",)
    attributes: dict[str, object] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    order: Sequence[str] | None = None
    opsets: dict[str, int] = field(default_factory=dict)
    results: Sequence[str] | None = None  # outputs that are compared; all if None
    symbols: dict[str, Sequence[int | str]] = field(default_factory=dict)
    expected: Sequence[np.ndarray] | None = None  # replaces the outputs of onnxruntime and ONNX

    def model(self) -> onnx.ModelProto:
        order = self.order or [*self.inputs, *self.constants]
        node = helper.make_node(self.kind, list(order), list(self.outputs), name=self.name,
                                domain=self.domain, **self.attributes)
        inputs = [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), self.symbols.get(name, array.shape))
            for name, array in self.inputs.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.results or self.outputs if name]
        weights = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph([node], "one_node", inputs, outputs, weights)
        opsets = {**OPSETS, **self.opsets}
        return helper.make_model(
            graph, ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid(*pair) for pair in opsets.items()])


def onnxruntime_results(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def onnx_results(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, feeds)


def results_of(case: OneNode, model: onnx.ModelProto) -> Sequence[np.ndarray]:
    if case.expected is not None:
        return case.expected
    judge = onnx_results if case.name in ONNX_DECIDES else onnxruntime_results
    return judge(model, case.inputs)


def tensor_of(array: np.ndarray, name: str) -> onnx.TensorProto:
    array = np.asarray(array)
    return numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)


def write(case: OneNode, folder: Path) -> None:
    """model.onnx and test_data_set_0/*.pb, the outputs from whoever is the judge."""
    model = case.model()
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, data.parent / "model.onnx")
    results = results_of(case, model)
    for kind, arrays in (("input", case.inputs.values()), ("output", results)):
        for index, array in enumerate(arrays):
            tensor = tensor_of(array, f"{kind}_{index}")
            (data / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())
