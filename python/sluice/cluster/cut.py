"""One ONNX model as several, for a Pipeline. Needs the package `onnx`."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence

import onnx

from ..errors import InvalidArgument


def cut(model: onnx.ModelProto | str | os.PathLike[str], tensors: Sequence[str]) -> list[onnx.ModelProto]:
    """Parts of `model`, one more than `tensors`: the first gives tensors[0], which the second takes, and so on.

    The last part gives the model's outputs. What leads to a later part around a tensor is computed there again; the
    tensor of a cut should be one that everything goes through.

    Raises: InvalidArgument for a name that no node's output has, and for tensors that do not follow each other.
    """
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load(pathlib.Path(model))
    known = {name for node in model.graph.node for name in node.output}
    for name in tensors:
        if name not in known:
            raise InvalidArgument(f'no node of the model gives "{name}"; a cut is the name of a node\'s output')
    graph = onnx.shape_inference.infer_shapes(model).graph
    types = {value.name: value for value in [*graph.value_info, *graph.output, *graph.input]}
    ends = [*([name] for name in tensors), [value.name for value in graph.output]]
    parts = []
    for number, outputs in enumerate(ends):
        part = _part(model, types, tensors[:number], outputs)
        if not part.graph.node:
            raise InvalidArgument(f'no node lies behind the cut at "{tensors[number - 1]}"')
        if number > 0 and tensors[number - 1] not in {value.name for value in part.graph.input}:
            raise InvalidArgument(f'"{outputs[0]}" does not depend on "{tensors[number - 1]}", after which it is cut')
        parts.append(part)
    return parts


def _part(model: onnx.ModelProto, types: Mapping[str, onnx.ValueInfoProto], given: Sequence[str], outputs: Sequence[str]
          ) -> onnx.ModelProto:
    """What leads to `outputs` from the tensors `given` and the model's inputs."""
    graph = model.graph
    makers = {name: number for number, node in enumerate(graph.node) for name in node.output}
    needed: set[str] = set()
    nodes: set[int] = set()
    left = list(outputs)
    while left:
        name = left.pop()
        if name in needed:
            continue
        needed.add(name)
        if name in makers and name not in given and makers[name] not in nodes:
            nodes.add(makers[name])
            left += _read_by(graph.node[makers[name]])
    inputs = [value.name for value in graph.input if value.name in needed]
    inputs += [name for name in given if name in needed]
    for name in [*inputs, *outputs]:
        if name not in types:
            raise InvalidArgument(f'the type of "{name}" is not known; cut at another tensor')
    part = onnx.ModelProto()
    part.CopyFrom(model)
    part.graph.ClearField("node")
    part.graph.node.extend(graph.node[number] for number in sorted(nodes))
    inside = needed.union(*(node.output for node in part.graph.node))
    for field in ("initializer", "value_info", "quantization_annotation"):
        kept = [one for one in getattr(graph, field)
                if (one.tensor_name if field == "quantization_annotation" else one.name) in inside]
        part.graph.ClearField(field)
        getattr(part.graph, field).extend(kept)
    sparse = [one for one in graph.sparse_initializer if one.values.name in inside]
    part.graph.ClearField("sparse_initializer")
    part.graph.sparse_initializer.extend(sparse)
    for field, names in (("input", inputs), ("output", outputs)):
        part.graph.ClearField(field)
        getattr(part.graph, field).extend(types[name] for name in names)
    return part


def _read_by(node: onnx.NodeProto) -> Iterator[str]:
    """Names that a node reads, its branches and bodies too: of what is outside of them."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for body in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            own = {value.name for value in [*body.input, *body.initializer]}
            own |= {one.values.name for one in body.sparse_initializer}
            own |= {name for inner in body.node for name in inner.output}
            read = [name for inner in body.node for name in _read_by(inner)] + [value.name for value in body.output]
            yield from (name for name in read if name not in own)
