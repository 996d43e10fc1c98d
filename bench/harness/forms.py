"""Files as users have them: the benchmark networks in 16, 8 and 4 bits. Each is written once, beside the f32 file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import quantized
from harness.halves import halves

BLOCK = 32


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
