"""Names of the values in an ONNX graph. Inner values are renamed where they collide with names of inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import onnx

Rename = Callable[[str], str]


def placeholders(kind: str, count: int) -> list[str]:
    """Names that no exporter gives to a value of its own, for inputs or outputs to be named later."""
    return [f"{kind}@{i}" for i in range(count)]


def name_values(graph: onnx.GraphProto, given: Sequence[str], wanted: Sequence[str]) -> None:
    """Gives the values `given` the names `wanted`. Other values of such a name get another one.

    The exporters of torch name inputs and outputs without a look at what is inside: an input `add` would
    also be the sum that the graph computes, and a constant of an input's name its default value.
    """
    names = dict(zip(given, wanted))
    taken = {*all_names(graph), *wanted}
    for name in wanted:
        if name in names or name not in taken:
            continue
        other = name
        while other in taken:
            other += "_"
        taken.add(other)
        names[name] = other
    rename_values(graph, lambda name: names.get(name, name))


def rename_values(graph: onnx.GraphProto, rename: Rename) -> None:
    """Renames all values, in graphs nested in it too. The empty name, an absent input, stays."""
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        value.name = rename(value.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = rename(sparse.values.name)
    for node in graph.node:
        rename_node(node, rename)


def rename_node(node: onnx.NodeProto, rename: Rename) -> None:
    """Renames what a node reads and writes, in its subgraphs too."""
    for values in (node.input, node.output):
        renamed = [name and rename(name) for name in values]
        del values[:]
        values.extend(renamed)
    for graph in subgraphs(node):
        rename_values(graph, rename)


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def all_names(graph: onnx.GraphProto) -> Iterator[str]:
    """Names of all values, with repetitions."""
    for value in (*graph.input, *graph.initializer):
        yield value.name
    for node in graph.node:
        yield from node.output
        for inner in subgraphs(node):
            yield from all_names(inner)
