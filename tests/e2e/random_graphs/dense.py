"""Matrix products, normalisations, softmax and attention, in odd sizes."""

from __future__ import annotations

import math

from random_graphs.case import Case, Value


def matmul(case: Case, x: Value) -> Value:
    outs = case.between(1, 90)
    y = case.op("MatMul", (*x.shape[:-1], outs), x, case.weight((outs, x.shape[-1])[::-1],
                math.sqrt(1 / x.shape[-1])))
    if case.chance(0.7):
        bias = case.weight((outs,), 0.3)
        y = case.op("Add", y.shape, *((y, bias) if case.chance(0.5) else (bias, y)))
    return y


def gemm(case: Case, x: Value) -> Value:
    rows, inner = math.prod(x.shape[:-1]), x.shape[-1]
    flat = case.op("Reshape", (rows, inner), x, case.ints([rows, inner]))
    outs = case.between(1, 90)
    transposed = case.chance(0.5)
    shape = (outs, inner) if transposed else (inner, outs)
    weight = case.weight(shape, math.sqrt(1 / inner))
    bias_shape = case.pick([(outs,), (1, outs), (rows, outs), (rows, 1), (1,)])
    bias = [case.weight(bias_shape, 0.3)] if case.chance(0.8) else []
    y = case.op("Gemm", (rows, outs), flat, weight, *bias, transB=int(transposed),
                alpha=case.pick([1.0, 0.5]), beta=case.pick([1.0, 2.0]))
    return case.op("Reshape", (*x.shape[:-1], outs), y, case.ints([*x.shape[:-1], outs]))


def layer_norm(case: Case, x: Value) -> Value:
    width = x.shape[-1:]
    scale, bias = case.weight(width, 0.2, 1.0), case.weight(width, 0.2)
    return case.op("LayerNormalization", x.shape, x, scale, bias, axis=-1,
                   epsilon=case.pick([1e-5, 1e-2]))


def spelled_layer_norm(case: Case, x: Value) -> Value:
    reduced = (*x.shape[:-1], 1)
    centred = case.op("Sub", x.shape, x, case.op("ReduceMean", reduced, x, axes=[-1]))
    square = case.op("Pow", x.shape, centred, case.float(2.0))
    variance = case.op("ReduceMean", reduced, square, axes=[-1])
    deviation = case.op("Sqrt", reduced, case.op("Add", reduced, variance, case.float(1e-5)))
    normal = case.op("Div", x.shape, centred, deviation)
    scaled = case.op("Mul", x.shape, normal, case.weight(x.shape[-1:], 0.2, 1.0))
    return case.op("Add", x.shape, scaled, case.weight(x.shape[-1:], 0.2))


def softmax(case: Case, x: Value) -> Value:
    axis = case.between(-len(x.shape), len(x.shape) - 1)
    return case.op(case.pick(["Softmax", "LogSoftmax"]), x.shape, x, axis=axis)


def reduction(case: Case, x: Value) -> Value:
    kind = case.pick(["ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp"])
    axis = case.between(0, len(x.shape) - 1)
    shape = tuple(1 if k == axis else size for k, size in enumerate(x.shape))
    return case.op("Sub", x.shape, x, case.op(kind, shape, x, axes=[axis], keepdims=1))


def heads_of(case: Case, x: Value, heads: int, perm: list[int]) -> Value:
    """[batch, tokens, width] projected and permuted from [batch, tokens, heads, width / heads]."""
    batch, tokens, width = x.shape
    weight = case.weight((width, width), math.sqrt(1 / width))
    y = case.op("MatMul", x.shape, x, weight)
    if case.chance(0.7):
        y = case.op("Add", x.shape, y, case.weight((width,), 0.2))
    split = (batch, tokens, heads, width // heads)
    y = case.op("Reshape", split, y, case.ints(list(split)))
    return case.op("Transpose", tuple(split[k] for k in perm), y, perm=perm)


def attention(case: Case, x: Value) -> Value:
    """Self-attention as exporters spell it: scale before or after, key turned once or twice."""
    heads, size = case.pick([1, 2, 3, 5]), case.pick([4, 8, 16, 20, 32, 64])
    x = matmul_to(case, x, heads * size)
    batch, tokens, width = x.shape
    query, value = (heads_of(case, x, heads, [0, 2, 1, 3]) for _ in range(2))
    key_shape = (batch, heads, size, tokens)
    if case.chance(0.5):
        key = heads_of(case, x, heads, [0, 2, 3, 1])
    else:
        key = case.op("Transpose", key_shape, heads_of(case, x, heads, [0, 2, 1, 3]),
                      perm=[0, 1, 3, 2])
    early = case.chance(0.3)
    if early:
        query = case.op("Mul", query.shape, query, case.float(size**-0.5))
    scores = case.op("MatMul", (batch, heads, tokens, tokens), query, key)
    if not early:
        kind = case.pick(["Mul", "Div"])
        factor = size**-0.5 if kind == "Mul" else size**0.5
        scores = case.op(kind, scores.shape, scores, case.float(factor))
    if case.chance(0.5):
        mask = case.pick([(1, 1, tokens, tokens), (batch, 1, 1, tokens), (tokens,)])
        scores = case.op("Add", scores.shape, scores, case.weight(mask, 1.0))
    weights = case.op("Softmax", scores.shape, scores, axis=-1)
    mixed = case.op("MatMul", query.shape, weights, value)
    turned = case.op("Transpose", (batch, tokens, heads, size), mixed, perm=[0, 2, 1, 3])
    return case.op("Reshape", x.shape, turned, case.ints([batch, tokens, width]))


def matmul_to(case: Case, x: Value, outs: int) -> Value:
    weight = case.weight((x.shape[-1], outs), math.sqrt(1 / x.shape[-1]))
    return case.op("MatMul", (*x.shape[:-1], outs), x, weight)


def skip(case: Case, x: Value) -> Value:
    """A two-layer block added to its input."""
    inner = case.activation(matmul_to(case, x, case.between(1, 100)))
    return case.op("Add", x.shape, x, matmul_to(case, inner, x.shape[-1]))


def activate(case: Case, x: Value) -> Value:
    return case.activation(x)


LAYERS = [matmul, matmul, gemm, gemm, layer_norm, spelled_layer_norm, softmax, reduction,
          attention, attention, skip, activate, activate]


def build(case: Case) -> None:
    x = case.input((case.between(1, 2), case.between(1, 40), case.between(1, 80)))
    for _ in range(case.between(2, 6)):
        x = case.pick(LAYERS)(case, x)
    case.output(x)
