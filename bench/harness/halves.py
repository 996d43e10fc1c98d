"""Networks in 16 bits, as users have them. Inputs and results stay f32. So do operands that ONNX does not
take in f16, such as the scales of Resize and the thresholds of NonMaxSuppression."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def halves(model: Path, element: int, suffix: str) -> Path:
    """Writes `model` in FLOAT16 or BFLOAT16, the `element`, beside itself, once; returns the path."""
    target = model.with_suffix(f".{suffix}.onnx")
    if not target.exists():
        proto = onnx.load(model)
        _Narrower(proto, element).run(proto.graph)
        onnx.save(proto, target)
    return target


class _Narrower:
    def __init__(self, proto: onnx.ModelProto, element: int) -> None:
        graph = proto.graph
        self._element = element
        self._versions = {opset.domain: opset.version for opset in proto.opset_import}
        self._floats = _float_names(proto)
        self._inputs = [value.name for value in graph.input if value.name in self._floats]
        #: The 16-bit value that a Cast makes of an input, or a result of.
        self._halves = {value.name: f"{value.name}_half" for value in [*graph.input, *graph.output]
                        if value.name in self._floats}
        self._constants = {tensor.name: tensor for tensor in graph.initializer} | {
            node.output[0]: attribute.t for node in graph.node if node.op_type == "Constant"
            for attribute in node.attribute if attribute.name == "value"}
        self._kept: dict[str, TensorProto] = {}
        self._widened: set[str] = set()

    def run(self, graph: GraphProto) -> None:
        results = [value.name for value in graph.output if value.name in self._halves]
        nodes = [_cast(name, self._halves[name], self._element) for name in self._inputs]
        for node in graph.node:
            nodes += self._narrowed(node)
        nodes += [_cast(self._halves[name], name, FLOAT) for name in results]
        used = {name for node in nodes for name in node.input}
        constants = [self._turned(tensor) for tensor in graph.initializer if tensor.name in used]
        for field, values in ((graph.node, nodes), (graph.value_info, []),
                              (graph.initializer, [*constants, *self._kept.values()])):
            del field[:]
            field.extend(values)

    def _narrowed(self, original: NodeProto) -> Iterator[NodeProto]:
        """The node in 16 bits, between the Casts of the operands that stay f32."""
        node = NodeProto()
        node.CopyFrom(original)
        wide_inputs, wide_outputs = self._wide_operands(original)
        for index, name in enumerate(original.input):
            node.input[index] = self._halves.get(name, name)
            if index in wide_inputs:
                yield from self._widened_input(node, index, name)
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.i == FLOAT:
                attribute.i = self._element
            if attribute.t.data_type == FLOAT:
                attribute.t.CopyFrom(self._turned(attribute.t))
        casts = []
        for index, name in enumerate(original.output):
            half = self._halves.get(name, name)
            node.output[index] = f"{name}_f32" if index in wide_outputs else half
            if index in wide_outputs:
                casts.append(_cast(node.output[index], half, self._element))
        yield node
        yield from casts

    def _widened_input(self, node: NodeProto, index: int, name: str) -> Iterator[NodeProto]:
        if name in self._inputs:
            node.input[index] = name
            return
        half, node.input[index] = node.input[index], f"{name}_f32"
        if name in self._constants:
            self._kept[name] = TensorProto()
            self._kept[name].CopyFrom(self._constants[name])
            self._kept[name].name = f"{name}_f32"
        elif name not in self._widened:
            self._widened.add(name)
            yield _cast(half, f"{name}_f32", FLOAT)

    def _wide_operands(self, node: NodeProto) -> tuple[set[int], set[int]]:
        """The f32 inputs and outputs whose type in ONNX may be f32, but not f16."""
        try:
            schema = onnx.defs.get_schema(node.op_type, self._versions[node.domain], node.domain)
        except onnx.defs.SchemaError:
            return set(), set()

        def wide(names: list[str], formals: list[onnx.defs.OpSchema.FormalParameter]) -> set[int]:
            return {index for index, name in enumerate(names) if name in self._floats
                    and "tensor(float16)" not in formals[min(index, len(formals) - 1)].types}

        return wide(node.input, schema.inputs), wide(node.output, schema.outputs)

    def _turned(self, tensor: TensorProto) -> TensorProto:
        if tensor.data_type != FLOAT:
            return tensor
        values = np.clip(numpy_helper.to_array(tensor), -65504, 65504)
        return helper.make_tensor(tensor.name, self._element, values.shape, values.ravel())


def _float_names(proto: onnx.ModelProto) -> set[str]:
    graph = onnx.shape_inference.infer_shapes(proto).graph
    values = [*graph.input, *graph.output, *graph.value_info]
    return {value.name for value in values if value.type.tensor_type.elem_type == FLOAT} | {
        tensor.name for tensor in graph.initializer if tensor.data_type == FLOAT}


def _cast(source: str, target: str, element: int) -> NodeProto:
    return helper.make_node("Cast", [source], [target], to=element)
