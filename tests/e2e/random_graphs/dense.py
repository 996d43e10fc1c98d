"""Matrix products, normalisations and attention, in odd sizes."""

from __future__ import annotations

import math

import numpy as np

from random_graphs.case import Case, Value
from random_graphs.images import weight
from random_graphs.values import F32, FLOATS, INTEGERS, I32, Shape


def rows(case: Case, ranks: tuple[int, int] = (2, 4)) -> Value:
    """Something to multiply: mostly [batch, tokens, width]."""
    fits = [v for v in case.values if ranks[0] <= v.rank <= ranks[1] and v.dtype in FLOATS
            and v.data.size and v.data.size < 6000]
    if not fits or case.chance(0.25):
        shape = (case.between(1, 2), case.between(1, 40), case.between(1, 60))[3 - min(3, ranks[1]):]
        return case.new(case.pick([F32, F32, F32, *FLOATS]), shape, 0.1)
    return case.pick(fits[-3:])


def project(case: Case, x: Value, outs: int) -> Value:
    data = case.rng.standard_normal((x.shape[-1], outs)) / math.sqrt(max(1, x.shape[-1]))
    return case.op("MatMul", x, case.given(data.astype(x.dtype), 0.9))


def matmul(case: Case) -> Value:
    x = rows(case)
    y = project(case, x, case.between(1, 70))
    if case.chance(0.7):
        bias = weight(case, x, y.shape[-1:], spread=0.3)
        y = case.op("Add", *((y, bias) if case.chance(0.5) else (bias, y)))
    return case.op(case.pick(["Relu", "Tanh", "Sigmoid"]), y) if case.chance(0.3) else y


def matmul_of_two(case: Case) -> Value:
    """Batches that broadcast, vectors, integers."""
    x = case.value_for("MatMul", ranks=(1, 4), where=lambda v: v.data.size < 4000)
    lead: Shape = tuple(1 if case.chance(0.4) else size for size in x.shape[:-2])
    shape = (*lead[case.between(0, len(lead)):], x.shape[-1], case.between(1, 9))
    other = case.new(x.dtype, shape[-1 if case.chance(0.15) else 0 :][: len(shape)])
    if other.rank == 1:
        other = case.new(x.dtype, (x.shape[-1],))
    return case.op("MatMul", x, other)


def gemm(case: Case) -> Value:
    x = rows(case, (2, 2)) if case.chance(0.5) else case.op("Flatten", rows(case))
    if x.dtype in INTEGERS or case.chance(0.1):
        x = case.new(I32, (case.between(1, 9), case.between(1, 9)))
    turned_x, turned = case.chance(0.2), case.chance(0.5)
    count, inner = x.shape[::-1] if turned_x else x.shape
    outs = case.between(1, 70)
    spread = math.sqrt(1 / max(1, inner)) if x.dtype in FLOATS else 3
    filters = weight(case, x, (outs, inner) if turned else (inner, outs), spread=spread)
    bias_shape = case.pick([(outs,), (1, outs), (count, outs), (count, 1), (1,), ()])
    bias = [weight(case, x, bias_shape, spread=1.0)] if case.chance(0.8) or not case.since(11) else []
    floats = x.dtype in FLOATS
    return case.op("Gemm", x, filters, *bias, transA=int(turned_x), transB=int(turned),
                   alpha=case.pick([None, 0.5]) if floats else None,
                   beta=case.pick([None, 2.0]) if floats else None)


def einsum(case: Case) -> Value:
    size = {letter: case.between(1, 6) for letter in "bijkh"}
    equation = case.pick(["bij,bjk->bik", "ij,jk->ik", "ij->ji", "bij->b", "i,j->ij", "bhij,bhjk->bhik",
                          "bij,bij->bij", "ij,ij", "ii->i", "b...,b...->b...", "bijk->bkij"])
    parts = equation.replace("...", "ij").split("->")[0].split(",")
    dtype = case.pick([F32, F32, F32, *FLOATS])
    given = [case.new(dtype, tuple(size[letter] for letter in part), 0.2) for part in parts]
    return case.op("Einsum", *given, equation=equation)


def integer_product(case: Case) -> Value:
    rng, types = case.rng, [np.dtype(np.uint8), np.dtype(np.int8)]
    shape = (case.between(1, 6), case.between(1, 9))
    a = case.given(rng.integers(0, 60, shape).astype(case.pick(types)), 0.1)
    b = case.given(rng.integers(0, 60, (shape[1], case.between(1, 7))).astype(case.pick(types)))
    zeros = [case.given(np.array(case.between(0, 9)).astype(v.dtype), 0.9) for v in (a, b)]
    if case.chance(0.5):
        return case.op("MatMulInteger", a, b, *zeros[: case.between(0, 2)])
    scales = [case.given(np.array(s, F32), 0.9) for s in (0.02, 0.03, 0.05)]
    if case.chance(0.4):  # of b, one per column
        columns = b.shape[1:]
        scales[1] = case.given((rng.random(columns) * 0.03 + 0.01).astype(F32), 0.9)
        zeros[1] = case.given(rng.integers(0, 9, columns).astype(b.dtype), 0.9)
    last = case.given(np.array(5).astype(case.pick([a.dtype, b.dtype])), 0.9)
    return case.op("QLinearMatMul", a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], last)


def layer_norm(case: Case) -> Value:
    x = rows(case)
    case.require(x.shape[-1] > 1)
    kind = case.pick(["LayerNormalization", "LayerNormalization", "RMSNormalization"])
    axis = case.pick([-1, -1, -2, x.rank - 1])
    scale = weight(case, x, x.shape[axis:], 1.0, 0.2)
    bias = [weight(case, x, x.shape[axis:], 0.0, 0.2)] if kind[0] == "L" and case.chance(0.7) else []
    return case.op(kind, x, scale, *bias, axis=axis, epsilon=case.pick([None, 1e-2]))


def mean_of_rows(case: Case, x: Value) -> Value:
    if case.since(18):
        return case.op("ReduceMean", x, case.ints([-1]))
    return case.op("ReduceMean", x, axes=[-1])


def spelled_layer_norm(case: Case) -> Value:
    x = rows(case)
    case.require(x.shape[-1] > 1)
    centred = case.op("Sub", x, mean_of_rows(case, x))
    square = case.op("Pow", centred, case.scalar(2.0, x.dtype))
    steady = case.op("Add", mean_of_rows(case, square), case.scalar(1e-3, x.dtype))
    normal = case.op("Div", centred, case.op("Sqrt", steady))
    scaled = case.op("Mul", normal, weight(case, x, x.shape[-1:], 1.0, 0.2))
    return case.op("Add", scaled, weight(case, x, x.shape[-1:], 0.0, 0.2))


def spelled_softmax(case: Case) -> Value:
    x = rows(case)
    axes = [case.ints([-1])] if case.since(18) else []
    named = {} if case.since(18) else {"axes": [-1]}
    power = case.op("Exp", case.op("Sub", x, case.op("ReduceMax", x, *axes, **named)))
    axes = [case.ints([-1])] if case.since(13) else []
    named = {} if case.since(13) else {"axes": [-1]}
    return case.op("Div", power, case.op("ReduceSum", power, *axes, **named))


def heads_of(case: Case, x: Value, heads: int, perm: list[int]) -> Value:
    """[batch, tokens, width] projected and permuted from [batch, tokens, heads, width / heads]."""
    batch, tokens, width = x.shape
    y = project(case, x, width)
    if case.chance(0.7):
        y = case.op("Add", y, weight(case, x, (width,), spread=0.2))
    y = case.op("Reshape", y, case.ints([batch, tokens, heads, width // heads]))
    return case.op("Transpose", y, perm=perm)


def replaced(case: Case, scores: Value, mask: Shape) -> Value:
    """Some scores are a number, in whole rows now and then."""
    shown = case.rng.random(mask) < 0.6
    if len(mask) > 1 and case.chance(0.4):
        shown[..., 0, :] = False
    number = case.scalar(case.pick([0.0, -1.0, -5.0, 3.0, -1e4]))
    if case.chance(0.5):
        return case.op("Where", case.given(shown, 0.4), scores, number)
    return case.op("Where", case.given(~shown, 0.4), number, scores)


def guarded(case: Case, weights: Value) -> Value:
    """torch's guard of rows that see nothing."""
    zero = case.scalar(0.0, weights.dtype)
    return case.op("Where", case.op("IsNaN", weights), zero, weights)


def spelled_attention(case: Case) -> Value:
    """Self-attention as exporters spell it: scale before or after, key turned once or twice."""
    heads, size = case.pick([1, 2, 3, 5]), case.pick([4, 8, 16, 20, 32])
    x = project(case, case.value((F32,), ranks=(3, 3), where=lambda v: v.data.size > 0),
                heads * size)
    batch, tokens, width = x.shape
    query, value = (heads_of(case, x, heads, [0, 2, 1, 3]) for _ in range(2))
    if case.chance(0.5):
        key = heads_of(case, x, heads, [0, 2, 3, 1])
    else:
        key = case.op("Transpose", heads_of(case, x, heads, [0, 2, 1, 3]), perm=[0, 1, 3, 2])
    early = case.chance(0.3)
    if early:
        query = case.op("Mul", query, case.scalar(size**-0.5))
    scores = case.op("MatMul", query, key)
    if not early:
        kind = case.pick(["Mul", "Div"])
        scores = case.op(kind, scores, case.scalar(size ** (-0.5 if kind == "Mul" else 0.5)))
    for _ in range(case.pick([0, 1, 1, 2])):
        mask = case.pick([(1, 1, tokens, tokens), (batch, 1, 1, tokens), (tokens,)])
        if case.since(9) and case.chance(0.5):
            scores = replaced(case, scores, mask)
        else:
            scores = case.op("Add", scores, weight(case, x, mask, spread=1.0))
    weights = case.op("Softmax", scores, axis=-1 if case.since(13) else 3)
    if case.since(9) and case.chance(0.3):
        weights = guarded(case, weights)
    mixed = case.op("MatMul", weights, value)
    turned = case.op("Transpose", mixed, perm=[0, 2, 1, 3])
    return case.op("Reshape", turned, case.ints([batch, tokens, width]))


def attention(case: Case) -> Value:
    """The operator: grouped heads, masks, a causal one, a past."""
    batch, groups, repeat = case.between(1, 2), case.between(1, 2), case.between(1, 2)
    queries, keys, size = case.between(1, 6), case.between(1, 7), case.pick([2, 4, 8])
    dtype = case.pick([F32, F32, F32, *FLOATS])
    q = case.new(dtype, (batch, groups * repeat, queries, size), 0.1)
    k, v = (case.new(dtype, (batch, groups, keys, size), 0.1) for _ in range(2))
    mask = case.new(dtype, (queries, keys), 0.3) if case.chance(0.5) else None
    return case.op("Attention", q, k, v, *([mask] if mask else []),
                   is_causal=case.pick([None, 1]), scale=case.pick([None, 0.5]),
                   softcap=case.pick([None, 2.0]))


def rotary(case: Case) -> Value:
    batch, heads, tokens, size = (case.between(1, 2), case.between(1, 3), case.between(1, 5),
                                  case.pick([2, 4, 8]))
    x = case.new(case.pick([F32, F32, *FLOATS]), (batch, heads, tokens, size), 0.1)
    cos, sin = (case.new(x.dtype, (9, size // 2), 0.5) for _ in range(2))
    at = case.ints([[case.between(0, 8) for _ in range(tokens)] for _ in range(batch)])
    return case.op("RotaryEmbedding", x, cos, sin, at, interleaved=case.pick([None, 1]))


def det(case: Case) -> Value:
    size = case.between(1, 4)
    lead = tuple(case.between(1, 3) for _ in range(case.between(0, 2)))
    return case.op("Det", case.new(case.pick([F32, *FLOATS]), (*lead, size, size), 0.1))


def skip(case: Case) -> Value:
    """A two-layer block added to its input."""
    x = rows(case)
    inner = case.op(case.pick(["Relu", "Tanh"]), project(case, x, case.between(1, 60)))
    return case.op("Add", x, project(case, inner, x.shape[-1]))


RECIPES = [matmul, matmul, matmul_of_two, gemm, gemm, einsum, integer_product, layer_norm,
           spelled_layer_norm, spelled_softmax, spelled_attention, attention, rotary, det, skip]
