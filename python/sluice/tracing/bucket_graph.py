"""Several ONNX graphs of one function, traced at different shapes, as one graph that runs one of them.

The graph nests If nodes on the bucket's number. Weights of equal content exist once, outside of the branches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import onnx
from onnx import TensorProto, helper, numpy_helper

import numpy as np

from ..errors import InvalidArgument
from . import graph_names

INDEX = "bucket"  #: the input that selects: a number, counted from 0
SELECTED = "bucket.selected"  #: the same number where the graph computes it


class _Weights:
    """Initializers of all buckets, one for each content."""

    def __init__(self, taken: set[str]) -> None:
        self.tensors: list[TensorProto] = []
        self._names: dict[tuple[object, ...], str] = {}
        self._taken = taken

    def add(self, tensor: TensorProto) -> str:
        content = TensorProto()
        content.CopyFrom(tensor)
        content.name = ""
        key = (tensor.data_type, tuple(tensor.dims), hashlib.sha256(content.SerializeToString(deterministic=True))
               .digest())
        if key not in self._names:
            name = tensor.name
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._names[key] = name
            content.name = name
            self.tensors.append(content)
        return self._names[key]

    def add_array(self, name: str, value: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
        return self.add(numpy_helper.from_array(value, name))


def merge(models: Sequence[onnx.ModelProto], *, before: Sequence[onnx.NodeProto] = (),
          constants: Sequence[TensorProto] = (), sources: Sequence[str] | None = None) -> onnx.ModelProto:
    """One model with the inputs and outputs of each, in their order and with the first one's names.

    Without `before` the model has one more input, `bucket`: i64[], the number of the model to run. `before`:
    nodes that compute SELECTED and the tensors `sources`, which the branches read instead of the inputs.
    Raises InvalidArgument if the models differ in number, rank or type of inputs or outputs, or have an input `bucket`.
    """
    first = models[0].graph
    inputs = _common([model.graph.input for model in models], "input")
    outputs = _common([model.graph.output for model in models], "output")
    weights = _Weights({value.name for value in (*inputs, *outputs)})
    names = list(sources or (value.name for value in inputs))
    branches = [_branch(i, model.graph, names, weights) for i, model in enumerate(models)]
    nodes = list(before)
    if not before:
        if any(value.name == INDEX for value in (*inputs, *outputs)):
            raise InvalidArgument(f'"{INDEX}" is the input that selects a bucket; rename that input or output')
        numbers = weights.add_array(f"{INDEX}.numbers", np.arange(len(models), dtype=np.int64))
        nodes.append(helper.make_node("Gather", [numbers, INDEX], [SELECTED]))
        inputs = [helper.make_tensor_value_info(INDEX, TensorProto.INT64, []), *inputs]
    nodes += _select(branches, outputs, weights)
    graph = helper.make_graph(nodes, first.name or "buckets", inputs, outputs, [*weights.tensors, *constants])
    return helper.make_model(graph, opset_imports=models[0].opset_import, ir_version=models[0].ir_version,
                             producer_name="sluice.torch")


def _common(lists: Sequence[Sequence[onnx.ValueInfoProto]], kind: str) -> list[onnx.ValueInfoProto]:
    """Values with the dimensions that all models share; other dimensions get a name."""
    if len({len(values) for values in lists}) > 1:
        raise InvalidArgument(f"the buckets differ in their number of {kind}s: {[len(values) for values in lists]}")
    merged = []
    for values in zip(*lists):
        types = [value.type.tensor_type for value in values]
        name = values[0].name
        if len({(each.elem_type, len(each.shape.dim)) for each in types}) > 1:
            raise InvalidArgument(f'{kind} "{name}" differs in type or number of dimensions between buckets')
        dims: list[int | str] = []
        for axis, options in enumerate(zip(*(each.shape.dim for each in types))):
            sizes = {dim.dim_value for dim in options}
            dims.append(sizes.pop() if len(sizes) == 1 else f"{name}_{axis}")
        merged.append(helper.make_tensor_value_info(name, types[0].elem_type, dims))
    return merged


def _branch(number: int, graph: onnx.GraphProto, sources: Sequence[str], weights: _Weights) -> onnx.GraphProto:
    """The graph without inputs: it reads `sources` of the surrounding graph, at its own static shapes."""
    prefix = f"{INDEX}{number}."
    names = {tensor.name: weights.add(tensor) for tensor in graph.initializer}
    nodes = []
    for source, value in zip(sources, graph.input):
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        shape = weights.add_array(f"{prefix}{value.name}.shape", np.array(dims, np.int64))
        names[value.name] = prefix + value.name
        nodes.append(helper.make_node("Reshape", [source, shape], [names[value.name]], allowzero=1))
    nodes += [_renamed(node, names, prefix) for node in graph.node]
    outputs = []
    for i, value in enumerate(graph.output):
        output = helper.make_tensor_value_info(f"{prefix}result{i}", value.type.tensor_type.elem_type,
                                               [dim.dim_value for dim in value.type.tensor_type.shape.dim])
        nodes.append(helper.make_node("Identity", [names.get(value.name, prefix + value.name)], [output.name]))
        outputs.append(output)
    return helper.make_graph(nodes, f"{prefix}graph", [], outputs)


def _renamed(node: onnx.NodeProto, names: Mapping[str, str], prefix: str) -> onnx.NodeProto:
    """The node with other names, in graphs nested in it too."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    graph_names.rename_node(copy, lambda name: names.get(name, prefix + name))
    _prefix_nodes(copy, prefix)
    return copy


def _prefix_nodes(node: onnx.NodeProto, prefix: str) -> None:
    node.name = prefix + node.name
    for graph in graph_names.subgraphs(node):
        for inner in graph.node:
            _prefix_nodes(inner, prefix)


def _select(branches: Sequence[onnx.GraphProto], outputs: Sequence[onnx.ValueInfoProto], weights: _Weights,
            first: int = 0, suffix: str = "") -> list[onnx.NodeProto]:
    """Nodes that run branch `first` or one behind it."""
    results = [value.name + suffix for value in outputs]
    branch = branches[first]
    if first + 1 == len(branches):
        moves = [helper.make_node("Identity", [value.name], [result]) for value, result in zip(branch.output, results)]
        return [*branch.node, *moves]
    is_it, number = f"{INDEX}.is{first}", weights.add_array(f"{INDEX}.{first}", np.array(first, np.int64))
    inner = f".after{first}"
    rest = _select(branches, outputs, weights, first + 1, inner)
    otherwise = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in outputs]
    for value in otherwise:
        value.name += inner
    return [
        helper.make_node("Equal", [SELECTED, number], [is_it]),
        helper.make_node("If", [is_it], results, then_branch=branch,
                         else_branch=helper.make_graph(rest, f"{INDEX}.after{first}", [], otherwise)),
    ]
