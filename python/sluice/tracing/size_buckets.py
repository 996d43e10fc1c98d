"""Buckets by size: the package itself pads its inputs to the next size and cuts its outputs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ..errors import InvalidArgument
from . import bucket_graph, metadata

KEY = "sluice.torch.sizes"

Axes = Sequence[Sequence[tuple[int, str]]]  # per tensor: (axis, name of its size)


def dim_name(dim: Any) -> str | None:
    """The name of a torch.export.Dim; None for Dim.DYNAMIC, Dim.AUTO and expressions."""
    name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
    return name if isinstance(name, str) and name.isidentifier() else None


class Buckets:
    """Sizes at which a model is traced: Buckets({"seq": [128, 256, 512]}, pad={"mask": 0}).

    `sizes`: by the names that `dynamic_shapes` gives to dimensions. A call takes the next size for each.
    `pad`: by input, the value behind the given elements; 0 by default. `unpad`: whether outputs are cut to
    the sizes that were given. The model must not let padding change its other elements: give it a mask.
    """

    def __init__(self, sizes: Mapping[str, Sequence[int]], *, pad: Mapping[str, float] | None = None,
                 unpad: bool = True) -> None:
        if not sizes:
            raise InvalidArgument('Buckets needs sizes, such as {"seq": [128, 256]}')
        for name, values in sizes.items():
            if not values or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in values):
                raise InvalidArgument(f'Buckets: the sizes of "{name}" must be numbers of at least 1, not {values!r}')
        self.sizes = {name: sorted(set(values)) for name, values in sizes.items()}
        self.pad = dict(pad or {})
        self.unpad = unpad

    def combinations(self) -> Iterator[dict[str, int]]:
        """The sizes of each bucket, by name. The last name varies fastest."""
        for sizes in itertools.product(*self.sizes.values()):
            yield dict(zip(self.sizes, sizes))

    def axes_of(self, flat_shapes: Sequence[Any] | None) -> list[list[tuple[int, str]]]:
        axes = [[(axis, str(dim_name(dim))) for axis, dim in (entry or {}).items()] for entry in flat_shapes or []]
        named = {name for entry in axes for _, name in entry}
        if named != set(self.sizes):
            raise InvalidArgument(f"Buckets has sizes for {sorted(self.sizes)}, dynamic_shapes names {sorted(named)}")
        return axes


class Observed(NamedTuple):
    """Shapes of a call's outputs, and the sizes that it was given."""

    sizes: Mapping[str, int]
    shapes: Mapping[str, Sequence[int]]


def merge_sizes(models: Sequence[onnx.ModelProto], observed: Sequence[Observed], axes: Axes,
                buckets: Buckets) -> onnx.ModelProto:
    """One model that selects by the sizes of its inputs. `observed` shows which outputs vary with the sizes."""
    prologue = _Prologue(models[0].graph, axes, buckets)
    merged = bucket_graph.merge(models, before=prologue.nodes, constants=prologue.constants, sources=prologue.padded)
    for value, entry in zip(merged.graph.input, axes):
        for axis, name in entry:
            value.type.tensor_type.shape.dim[axis].dim_param = name
    if buckets.unpad:
        _unpad(merged.graph, _output_axes(observed, buckets))
    names = [value.name for value in models[0].graph.input]
    metadata.write(merged, KEY, json.dumps({"sizes": buckets.sizes, "axes": list(axes), "names": names}))
    return merged


class _Prologue:
    """Nodes that find the bucket and pad the inputs."""

    def __init__(self, graph: onnx.GraphProto, axes: Axes, buckets: Buckets) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.padded: list[str] = []
        first = {name: (i, axis) for i, entry in reversed(list(enumerate(axes))) for axis, name in entry}
        for name, sizes in buckets.sizes.items():
            self._find(name, sizes, graph.input[first[name][0]].name, first[name][1])
        self._combine(buckets)
        self._constant("sizes.none", np.zeros(1, np.int64))
        entries = [*axes, *[[]] * (len(graph.input) - len(axes))]
        for value, entry in zip(graph.input, entries):
            self._pad(value, dict(entry), buckets.pad.get(value.name, 0))
        if unknown := set(buckets.pad) - {value.name for value in graph.input}:
            raise InvalidArgument(f'Buckets: pad names "{unknown.pop()}", which is no input')

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def _constant(self, name: str, value: np.ndarray[Any, Any]) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def _find(self, name: str, sizes: Sequence[int], tensor: str, axis: int) -> None:
        """sizes.NAME: what was given, [1]; sizes.NAME.next: the bucket's size; sizes.NAME.index: its number."""
        table = self._constant(f"sizes.{name}.table", np.array(sizes, np.int64))
        given = self._node("Shape", [tensor], f"sizes.{name}", start=axis, end=axis + 1)
        smaller = self._node("Less", [table, given], f"sizes.{name}.smaller")
        numbers = self._node("Cast", [smaller], f"sizes.{name}.numbers", to=TensorProto.INT64)
        self._node("ReduceSum", [numbers], f"sizes.{name}.index", keepdims=1)
        self._node("Gather", [table, f"sizes.{name}.index"], f"sizes.{name}.next")
        self._node("Sub", [f"sizes.{name}.next", given], f"sizes.{name}.missing")

    def _combine(self, buckets: Buckets) -> None:
        number = self._constant("sizes.start", np.zeros(1, np.int64))
        for name, sizes in buckets.sizes.items():
            count = self._constant(f"sizes.{name}.count", np.array([len(sizes)], np.int64))
            scaled = self._node("Mul", [number, count], f"sizes.{name}.scaled")
            number = self._node("Add", [scaled, f"sizes.{name}.index"], f"sizes.{name}.number")
        scalar = self._constant("sizes.scalar", np.zeros(0, np.int64))
        self._node("Reshape", [number, scalar], bucket_graph.SELECTED)

    def _pad(self, value: onnx.ValueInfoProto, names: Mapping[int, str], fill: float) -> None:
        if not names:
            self.padded.append(value.name)
            return
        tensor_type = value.type.tensor_type
        ends = [f"sizes.{names[axis]}.missing" if axis in names else "sizes.none"
                for axis in range(len(tensor_type.shape.dim))]
        pads = self._node("Concat", [*["sizes.none"] * len(ends), *ends], f"{value.name}.pads", axis=0)
        dtype = helper.tensor_dtype_to_np_dtype(tensor_type.elem_type)
        fill_name = self._constant(f"{value.name}.fill", np.array(fill).astype(dtype))
        self.padded.append(self._node("Pad", [value.name, pads, fill_name], f"{value.name}.padded"))


def _output_axes(observed: Sequence[Observed], buckets: Buckets) -> dict[str, dict[int, str]]:
    """Dimensions of outputs that equal a size in every call."""
    found: dict[str, dict[int, str]] = {}
    for output, shape in observed[0].shapes.items():
        for axis in range(len(shape)):
            for name in buckets.sizes:
                if all(each.shapes[output][axis] == each.sizes[name] for each in observed) and \
                        len({each.sizes[name] for each in observed}) > 1:
                    found.setdefault(output, {})[axis] = name
    return found


def _unpad(graph: onnx.GraphProto, outputs: Mapping[str, Mapping[int, str]]) -> None:
    for name, axes in outputs.items():
        for node in graph.node:
            for i, output in enumerate(node.output):
                if output == name:
                    node.output[i] = f"{name}.padded"
        for axis, size in axes.items():
            value = next(value for value in graph.output if value.name == name)
            value.type.tensor_type.shape.dim[axis].dim_param = size
        ends = f"{name}.ends"
        graph.initializer.append(numpy_helper.from_array(np.array(list(axes), np.int64), f"{name}.axes"))
        graph.initializer.append(numpy_helper.from_array(np.zeros(len(axes), np.int64), f"{name}.starts"))
        graph.node.append(helper.make_node("Concat", [f"sizes.{size}" for size in axes.values()], [ends], axis=0))
        graph.node.append(helper.make_node("Slice", [f"{name}.padded", f"{name}.starts", ends, f"{name}.axes"], [name]))


class SizeCheck(NamedTuple):
    """Finds inputs that no bucket takes before the package does, whose message would name no bucket."""

    sizes: dict[str, list[int]]
    axes: list[list[tuple[int, str]]]
    names: list[str]

    @staticmethod
    def of(metadata: Mapping[str, str]) -> SizeCheck | None:
        text = metadata.get("metadata." + KEY)
        return None if text is None else SizeCheck(**json.loads(text))

    def check(self, tensors: Sequence[Any]) -> None:
        seen: dict[str, int] = {}
        for tensor, entry, name in zip(tensors, self.axes, self.names):
            for axis, size in entry:
                given = tensor.shape[axis] if axis < len(tensor.shape) else 0
                largest = self.sizes[size][-1]
                if given > largest:
                    raise InvalidArgument(f'input "{name}": dimension {axis} ({size}) is {given}; the largest bucket '
                                          f"takes {largest}")
                if seen.setdefault(size, given) != given:
                    raise InvalidArgument(f'input "{name}": dimension {axis} ({size}) is {given}, that of another '
                                          f"input {seen[size]}")
