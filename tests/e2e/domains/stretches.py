"""Small graphs of two symbols, n and m, that broadcast together: one is 1 in the run, or both are equal; and of
sizes that depend on the data. What the compiler fuses, drops or folds must be right for all of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from domains.case import IR_VERSION, OneNode

RNG = np.random.default_rng(11)
OPSET = 18
SIZES = ((1, 5), (5, 1), (3, 3))  # of n and m
WEIGHTS = {"w": RNG.standard_normal((4, 4)).astype(np.float32),
           "axis": np.array([1], np.int64), "halves": np.array([1, 1], np.int64),
           "tens": np.array([[10], [100]], np.int64), "kept": np.array([True, False, True, True])}


@dataclass
class Stretch(OneNode):
    """Nodes over x [n, 4], y [m, 4] and a [1]; the last node's outputs are the model's."""

    nodes: Sequence[NodeProto] = ()

    def model(self) -> onnx.ModelProto:
        types = {"x": ("n", 4), "y": ("m", 4), "a": (1,)}
        inputs = [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), types[name])
            for name, array in self.inputs.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.nodes[-1].output]
        weights = [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()]
        graph = helper.make_graph(list(self.nodes), "stretch", inputs, outputs, weights)
        return helper.make_model(graph, ir_version=IR_VERSION,
                                 opset_imports=[helper.make_opsetid("", OPSET)])


def node(kind: str, inputs: str, outputs: str = "z", **attributes: object) -> NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


GRAPHS = {
    "product_and_sum": [node("MatMul", "x w", "p"), node("Add", "p y")],
    "sum_and_product": [node("MatMul", "x w", "p"), node("Mul", "y p")],
    "softmax_and_quotient": [node("Softmax", "x", "p", axis=-1), node("Div", "y p")],
    "norm_and_difference": [node("ReduceL2", "x a", "p", keepdims=1), node("Sub", "p y")],
    "norm_of_sum": [node("Add", "x y", "s"), node("ReduceMean", "s axis", "p"),
                    node("Sub", "s p", "d"), node("Mul", "d x")],
    "chain": [node("Add", "x y", "s"), node("Relu", "s", "r"), node("MatMul", "r w", "p"),
              node("Add", "p y", "q"), node("Add", "q x")],
    "expand": [node("Shape", "y", "s"), node("Expand", "x s", "e"), node("Neg", "e")],
    "expand_by_sum": [node("Add", "x y", "t"), node("Shape", "t", "s"), node("Expand", "y s", "e"),
                      node("Neg", "e")],
    "where": [node("Less", "x y", "c"), node("Where", "c x y")],
    "largest": [node("MatMul", "y w", "p"), node("Max", "p x y")],
    "batches": [node("Unsqueeze", "x axis", "u"), node("Unsqueeze", "y axis", "v"),
                node("Transpose", "v", "t", perm=[0, 2, 1]), node("MatMul", "u t", "p"),
                node("Add", "p u")],
    "split_of_shape": [node("Add", "x y", "s"), node("Transpose", "s", "columns_first"),
                       node("Shape", "columns_first", "t"), node("Split", "t halves", "four sum", axis=0)],
    "split_and_fill": [node("Shape", "x", "t"), node("Split", "t halves", "rows columns", axis=0),
                       node("Concat", "columns rows", "turned", axis=0), node("Reshape", "x turned", "r"),
                       node("Split", "r", "z", axis=0, num_outputs=1)],
    "nonzero_and_product": [node("Relu", "x", "r"), node("NonZero", "r", "i"), node("Mul", "i tens")],
    "compress_and_difference": [node("Compress", "x kept", "c", axis=1),
                                node("ReduceMax", "x axis", "top"), node("Sub", "top c")],
    "unique_and_sum": [node("Unique", "x", "u", axis=1), node("ReduceMax", "x axis", "top"),
                       node("Add", "u top")],
}


def build() -> list[OneNode]:
    made: list[OneNode] = []
    for name, nodes in GRAPHS.items():
        read = {item for each in nodes for item in each.input}
        for n, m in SIZES:
            given = {"x": RNG.standard_normal((n, 4)).astype(np.float32),
                     "y": RNG.standard_normal((m, 4)).astype(np.float32), "a": np.array([0], np.int64)}
            inputs = {key: value for key, value in given.items() if key in read}
            made.append(Stretch(f"stretch_{name}_{n}_{m}", "", "", inputs, nodes=nodes))
    return made
