"""Writes ONNX graphs node by node, with seeded random weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8  # the newest that ONNX 1.12, as Debian 12 ships it, reads

ELEMENT_TYPES = {
    "float32": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
}


class GraphWriter:
    """A graph under construction; every method that makes a value returns its name."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.rng = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], dtype: str = "float32") -> str:
        self._inputs.append(helper.make_tensor_value_info(name, ELEMENT_TYPES[dtype], shape))
        return name

    def output(
        self, name: str, shape: Sequence[int | str] | None, dtype: str = "float32"
    ) -> None:
        """A `shape` of None leaves even the rank open."""
        self._outputs.append(helper.make_tensor_value_info(name, ELEMENT_TYPES[dtype], shape))

    def weight(self, name: str, values: np.ndarray) -> str:
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def normal(self, name: str, shape: Sequence[int], std: float, mean: float = 0.0) -> str:
        values = self.rng.standard_normal(shape, dtype=np.float32)
        values *= np.float32(std)
        values += np.float32(mean)
        return self.weight(name, values)

    def uniform(self, name: str, shape: Sequence[int], low: float, high: float) -> str:
        values = self.rng.random(shape, dtype=np.float32)
        return self.weight(name, low + np.float32(high - low) * values)

    def constant(self, values: float | Sequence[float] | np.ndarray, dtype: str) -> str:
        """A small constant as exporters write it: a Constant node, not an initialiser."""
        tensor = numpy_helper.from_array(np.array(values, dtype=dtype))
        return self.op("Constant", value=tensor)

    def op(self, kind: str, *inputs: str, name: str | None = None, **attributes: object) -> str:
        """Adds a node with one output, called `name` if that is given."""
        return self.multi_op(kind, *inputs, names=[name or self._fresh(kind)], **attributes)[0]

    def multi_op(
        self, kind: str, *inputs: str, names: Sequence[str], **attributes: object
    ) -> list[str]:
        """Adds a node with one output per name."""
        node_name = f"{kind}_{len(self._nodes)}"
        self._nodes.append(
            helper.make_node(kind, list(inputs), list(names), name=node_name, **attributes)
        )
        return list(names)

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, self._weights
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="sluice-bench",
        )

    def save(self, path: Path) -> None:
        onnx.save_model(self.model(), path)

    def _fresh(self, kind: str) -> str:
        return f"{kind}_{len(self._nodes)}_output"
