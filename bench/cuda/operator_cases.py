"""A model with an operation of each family of kernels, in sizes that an emulated GPU computes in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, save

NAME = "operators"
HEADS = {"q_num_heads": 4, "kv_num_heads": 4}
#: The element types, and those that Casts of them give.
ELEMENTS: dict[int, int] = {TensorProto.FLOAT: TensorProto.FLOAT16, TensorProto.FLOAT16: TensorProto.FLOAT}


def _numbers(generator: np.random.Generator, dims: list[int], element: int) -> np.ndarray:
    return (generator.standard_normal(dims) / 8).astype(helper.tensor_dtype_to_np_dtype(element))


class _Graph:
    """Every operation reads inputs of its own, so that none is fused with another."""

    def __init__(self, element: int) -> None:
        self.element = element
        self.nodes: list[NodeProto] = []
        self.inputs: dict[str, list[int]] = {}
        self.outputs: dict[str, list[int]] = {}
        self.constants: list[TensorProto] = []
        self._generator = np.random.default_rng(0)

    def input(self, *dims: int) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = list(dims)
        return name

    def weights(self, *dims: int) -> str:
        return self.constant(_numbers(self._generator, list(dims), self.element))

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def op(self, kind: str, inputs: list[str], result: list[int] | None, **attributes: Any) -> str:
        """`result`: the dims, if the value is an output."""
        name = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        if result is not None:
            self.outputs[name] = result
        return name


def _rows(graph: _Graph) -> None:
    left, right = graph.input(4, 33, 1000), graph.input(4, 33, 1000)
    product = graph.op("Sigmoid", [graph.op("Mul", [left, right], None)], None)
    graph.op("Add", [product, left], [4, 33, 1000])
    graph.op("Softmax", [graph.input(64, 768)], [64, 768])
    graph.op("LayerNormalization", [graph.input(64, 768), graph.weights(768), graph.weights(768)], [64, 768])
    graph.op("ReduceMean", [graph.input(64, 768), graph.constant(np.array([1]))], [64, 1])
    graph.op("ReduceMax", [graph.input(64, 768), graph.constant(np.array([0]))], [1, 768])


def _moves(graph: _Graph) -> None:
    graph.op("Transpose", [graph.input(1, 64, 12, 64)], [1, 12, 64, 64], perm=[0, 2, 1, 3])
    graph.op("Transpose", [graph.input(96, 200)], [200, 96], perm=[1, 0])
    graph.op("Gather", [graph.input(500, 64), graph.constant(np.arange(0, 500, 7))], [72, 64])
    graph.op("Cast", [graph.input(256, 768)], [256, 768], to=ELEMENTS[graph.element])
    graph.op("Concat", [graph.input(12, 100, 64), graph.input(12, 1, 64)], [12, 101, 64], axis=1)


def _products(graph: _Graph) -> None:
    graph.op("MatMul", [graph.input(256, 256), graph.weights(256, 256)], [256, 256])
    graph.op("MatMul", [graph.input(1, 256), graph.weights(256, 512)], [1, 512])
    graph.op("MatMul", [graph.input(1, 256), graph.weights(256, 501)], [1, 501])
    graph.op("Gemm", [graph.input(1, 256), graph.weights(512, 256), graph.weights(512)], [1, 512], transB=1)
    graph.op("MatMul", [graph.input(12, 256), graph.weights(256, 501)], [12, 501])


def _windows(graph: _Graph) -> None:
    for size, kernel, groups in ((16, 3, 1), (14, 1, 1), (7, 1, 1), (28, 3, 64)):
        weights = graph.weights(64, 64 // groups, kernel, kernel)
        graph.op("Conv", [graph.input(1, 64, size, size), weights, graph.weights(64)], [1, 64, size, size], group=groups,
                 pads=[kernel // 2] * 4)
    graph.op("Conv", [graph.input(1, 64, 7, 7), graph.weights(1024, 64, 1, 1)], [1, 1024, 7, 7])
    graph.op("MaxPool", [graph.input(1, 16, 28, 28)], [1, 16, 14, 14], kernel_shape=[2, 2], strides=[2, 2])
    graph.op("GlobalAveragePool", [graph.input(1, 64, 7, 7)], [1, 64, 1, 1])


def _attention(graph: _Graph) -> None:
    for queries, keys in ((96, 96), (1, 96)):
        graph.op("Attention", [graph.input(1, length, 256) for length in (queries, keys, keys)], [1, queries, 256], **HEADS)


def build(element: int) -> ModelProto:
    graph = _Graph(element)
    for part in (_rows, _moves, _products, _windows, _attention):
        part(graph)
    cast = {node.output[0]: ELEMENTS[element] for node in graph.nodes if node.op_type == "Cast"}
    given = [helper.make_tensor_value_info(name, element, dims) for name, dims in graph.inputs.items()]
    results = [helper.make_tensor_value_info(name, cast.get(name, element), dims) for name, dims in graph.outputs.items()]
    model = helper.make_graph(graph.nodes, NAME, given, results, graph.constants)
    return helper.make_model(model, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def inputs(generator: np.random.Generator, element: int) -> dict[str, np.ndarray]:
    return {value.name: _numbers(generator, [dim.dim_value for dim in value.type.tensor_type.shape.dim], element)
            for value in build(element).graph.input}


def write(folder: Path, element: int, suffix: str) -> Path:
    path = folder / f"{NAME}{suffix}.onnx"
    save(build(element), path)
    return path
