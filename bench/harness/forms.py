"""Files as users have them: the benchmark networks in 16, 8 and 4 bits. Each is written once, beside the f32 file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import quantized

BLOCK = 32


def halves(model: Path, element: int, suffix: str) -> Path:
    """All floats in 16 bits, but for inputs and results, which Casts turn."""
    target = model.with_suffix(f".{suffix}.onnx")
    if target.exists():
        return target
    proto = onnx.load(model)
    graph = proto.graph

    def turned(tensor: TensorProto) -> TensorProto:
        values = np.clip(numpy_helper.to_array(tensor), -65504, 65504)
        return helper.make_tensor(tensor.name, element, values.shape, values.ravel())

    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(turned(tensor))
    del graph.value_info[:]
    casts = {value.name: f"{value.name}_half" for value in [*graph.input, *graph.output]
             if value.type.tensor_type.elem_type == TensorProto.FLOAT}
    for node in graph.node:
        node.input[:] = [casts.get(name, name) for name in node.input]
        node.output[:] = [casts.get(name, name) for name in node.output]
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.i = element
            if attribute.t.data_type == TensorProto.FLOAT:
                attribute.t.CopyFrom(turned(attribute.t))
    nodes = list(graph.node)
    first = [helper.make_node("Cast", [value.name], [casts[value.name]], to=element)
             for value in graph.input if value.name in casts]
    last = [helper.make_node("Cast", [casts[value.name]], [value.name], to=TensorProto.FLOAT)
            for value in graph.output if value.name in casts]
    del graph.node[:]
    graph.node.extend([*first, *nodes, *last])
    onnx.save(proto, target)
    return target


def four_bits(model: Path) -> Path:
    """Products with constant matrices as com.microsoft's MatMulNBits, without zero points."""
    target = model.with_suffix(".int4.onnx")
    if target.exists():
        return target
    proto = onnx.load(model)
    graph = proto.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        tensor = constants.get(node.input[1]) if node.op_type in ("MatMul", "Gemm") else None
        if tensor is None or len(tensor.dims) != 2:
            continue
        weights = numpy_helper.to_array(tensor)
        if any(attribute.name == "transB" and attribute.i for attribute in node.attribute):
            weights = weights.T
        k, n = weights.shape
        if k % BLOCK != 0:
            continue
        blocks = weights.T.reshape(n, k // BLOCK, BLOCK)
        scales = np.abs(blocks).max(axis=2) / 7 + 1e-9
        numbers = (np.clip(np.rint(blocks / scales[..., None]), -8, 7) + 8).astype(np.uint8)
        packed = numbers[..., 0::2] | numbers[..., 1::2] << 4
        for name, values in (("bits", packed), ("scales", scales.astype(np.float32))):
            graph.initializer.append(numpy_helper.from_array(values, f"{tensor.name}_{name}"))
        node.op_type, node.domain = "MatMulNBits", "com.microsoft"
        bias = ["", "", node.input[2]] if len(node.input) > 2 else []
        node.input[:] = [node.input[0], f"{tensor.name}_bits", f"{tensor.name}_scales", *bias]
        del node.attribute[:]
        node.attribute.extend(helper.make_attribute(key, value) for key, value in
                              {"K": k, "N": n, "bits": 4, "block_size": BLOCK}.items())
    used = {name for node in graph.node for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(proto, target)
    return target


def static_operators(model: Path, samples: list[dict]) -> Path:
    """onnxruntime's static quantisation in QOperator form."""
    return quantized.static_model(model, samples, "qoperator")


#: By name: from the f32 file, and inputs to calibrate with, to the file of that form.
FORMS: dict[str, Callable[[Path, list[dict]], Path]] = {
    "f16": lambda model, _: halves(model, TensorProto.FLOAT16, "f16"),
    "bf16": lambda model, _: halves(model, TensorProto.BFLOAT16, "bf16"),
    "int4": lambda model, _: four_bits(model),
    "dynamic": lambda model, _: quantized.onnxruntime_model(model),
    "dynamic-conv": lambda model, _: quantized.dynamic_model(model),
    "qoperator": static_operators,
}
