"""Linear quantization, and casts through types that numpy does not have: two nodes, seen as one."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from random_graphs.case import Case, Value
from random_graphs.evaluate import element_type
from random_graphs.values import F16, F32, I8, I16, I32, U8, U16

SMALL = {TensorProto.FLOAT8E4M3FN: 19, TensorProto.FLOAT8E4M3FNUZ: 19, TensorProto.FLOAT8E5M2: 19,
         TensorProto.FLOAT8E5M2FNUZ: 19, TensorProto.UINT4: 21, TensorProto.INT4: 21,
         TensorProto.FLOAT4E2M1: 23, TensorProto.BFLOAT16: 13}

HALF_BYTES = (TensorProto.UINT4, TensorProto.INT4, TensorProto.FLOAT4E2M1)  # nothing moves those


def scales(case: Case, x: Value, axis: int | None) -> tuple[Value, Value]:
    """A scale and a zero point, or one per element of an axis."""
    shape = () if axis is None else (x.shape[axis],)
    wanted = case.pick([U8, I8, U8, I8, U16, I16]) if case.since(21) else case.pick([U8, I8])
    zero = case.rng.integers(0, 9, shape).astype(wanted)
    scale = (case.rng.random(shape) * 0.05 + 0.01).astype(F32)
    return case.given(scale, 0.9), case.given(zero, 0.9)


def quantize(case: Case) -> Value:
    x = case.value((F32,), ranks=(1, 4), where=lambda v: v.data.size > 0)
    axis = case.between(0, x.rank - 1) if case.since(13) and case.chance(0.4) else None
    scale, zero = scales(case, x, axis)
    y = case.op("QuantizeLinear", x, scale, zero, axis=axis)
    return case.op("DequantizeLinear", y, scale, zero, axis=axis) if case.chance(0.7) else y


def dequantize(case: Case) -> Value:
    x = case.value((U8, I8, I32), ranks=(1, 4))
    scale = case.given(np.array(0.125, F32), 0.9)
    zero = [case.given(np.array(3).astype(x.dtype), 0.9)] if x.dtype != I32 else []
    return case.op("DequantizeLinear", x, scale, *(zero if case.chance(0.7) else []))


def dynamic(case: Case) -> list[Value]:
    x = case.value((F32,), ranks=(1, 4), where=lambda v: v.data.size > 0)
    return case.ops("DynamicQuantizeLinear", x, outputs=3)


def blocked(case: Case) -> Value:
    """A scale per block of an axis."""
    case.require(case.since(21))
    block, count, width = case.between(2, 4), case.between(1, 3), case.between(1, 5)
    x = case.given(case.rng.integers(0, 99, (block * count, width)).astype(case.pick([U8, I8])), 0.3)
    scale = case.given((case.rng.random((count, width)) * 0.1 + 0.01).astype(F32), 0.9)
    zero = case.given(case.rng.integers(0, 9, (count, width)).astype(x.dtype), 0.9)
    return case.op("DequantizeLinear", x, scale, zero, axis=0, block_size=block)


def through(case: Case) -> Value:
    """Cast to a small type and back, maybe moved about between."""
    x = case.value((F32, F16), where=lambda v: v.data.size > 0 and v.rank < 4)
    small = case.pick([kind for kind, since in SMALL.items() if case.since(since)] or [0])
    case.require(small != 0)
    if small in HALF_BYTES[:2]:
        x = case.op("Cast", case.op("Clip", x, case.scalar(0, x.dtype), case.scalar(7, x.dtype)),
                    to=element_type(np.empty(0, F32)))
    names = [case.fresh("small") for _ in range(3)]
    middle = ["Identity"] if small in HALF_BYTES else ["Identity", "Transpose"]
    saturate = {"saturate": 0} if 17 <= small <= 20 and case.chance(0.3) else {}
    nodes = [helper.make_node("Cast", [x.name], names[:1], to=small, **saturate),
             helper.make_node(case.pick(middle), names[:1], names[1:2]),
             helper.make_node("Cast", names[1:2], names[2:], to=element_type(np.empty(0, F32)))]
    return case.fragment(nodes, [x], names[2:])[0]


def bits(case: Case) -> Value:
    x = case.value_for("BitCast", types=(F32, I32, np.dtype(np.uint32)))
    to = case.pick([dtype for dtype in (F32, I32, np.dtype(np.uint32)) if dtype != x.dtype])
    return case.op("BitCast", x, to=element_type(np.empty(0, to)))


RECIPES = [quantize, quantize, dequantize, dynamic, blocked, through, through, through, bits]
