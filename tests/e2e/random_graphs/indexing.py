"""Elements by their index, and shapes that depend on numbers."""

from __future__ import annotations

import numpy as np

from random_graphs.case import Case, Value
from random_graphs.reduction import an_axis
from random_graphs.values import BOOL, F32, I32, I64, INTEGERS, NUMBERS, Shape


def not_empty(value: Value) -> bool:
    return value.data.size > 0


def indices(case: Case, size: int, shape: Shape, can_be_negative: bool = True) -> Value:
    low = -size if can_be_negative and case.since(11) else 0
    return case.given(case.rng.integers(low, size, shape).astype(case.pick([I64, I64, I32])), 0.6)


def gather(case: Case) -> Value:
    x = case.value(ranks=(1, 5), where=not_empty)
    axis = an_axis(case, x)
    shape = tuple(case.between(1, 4) for _ in range(case.between(0, 2)))
    return case.op("Gather", x, indices(case, x.shape[axis], shape), axis=axis)


def gather_elements(case: Case) -> Value:
    x = case.value_for("GatherElements", ranks=(1, 5), where=not_empty)
    axis = an_axis(case, x)
    shape = [case.between(1, size) for size in x.shape]
    shape[axis] = case.between(0 if case.chance(0.1) else 1, 6)
    return case.op("GatherElements", x, indices(case, x.shape[axis], tuple(shape)), axis=axis)


def coordinates(case: Case, shape: Shape, count: Shape, depth: int) -> Value:
    columns = [case.rng.integers(-size if case.chance(0.3) else 0, size, count)
               for size in shape[:depth]]
    return case.given(np.stack(columns, -1).astype(I64), 0.6)


def gather_nd(case: Case) -> Value:
    x = case.value_for("GatherND", ranks=(1, 4), where=not_empty)
    batch = case.between(0, x.rank - 1) if case.since(12) and case.chance(0.3) else 0
    depth = case.between(1, x.rank - batch)
    count = (*x.shape[:batch], case.between(1, 5))
    at = coordinates(case, x.shape[batch:], count, depth)
    return case.op("GatherND", x, at, batch_dims=batch or None)


def reduction_of_scatter(case: Case) -> str | None:
    modes = [None] + (["add", "mul"] if case.since(16) else []) + (
        ["max", "min"] if case.since(18) else [])
    return case.pick(modes)


def scatter_elements(case: Case) -> Value:
    kind = "ScatterElements" if case.since(11) else "Scatter"
    x = case.value_for(kind, ranks=(1, 4), where=not_empty)
    axis = an_axis(case, x)
    reduction = reduction_of_scatter(case)
    shape = [case.between(1, size) for size in x.shape]
    rows = np.argsort(case.rng.random(x.shape), axis=axis)  # distinct along the axis
    at = case.given(rows[tuple(slice(size) for size in shape)].astype(I64), 0.6)
    return case.op(kind, x, at, case.new(x.dtype, tuple(shape)), axis=axis, reduction=reduction)


def scatter_nd(case: Case) -> Value:
    x = case.value_for("ScatterND", ranks=(1, 4), where=not_empty)
    depth = case.between(1, x.rank)
    places = int(np.prod(x.shape[:depth]))
    chosen = case.rng.permutation(places)[: case.between(1, min(5, places))]
    at = np.stack(np.unravel_index(chosen, x.shape[:depth]), -1).astype(I64)
    updates = case.new(x.dtype, (len(chosen), *x.shape[depth:]))
    return case.op("ScatterND", x, case.given(at, 0.6), updates,
                   reduction=reduction_of_scatter(case))


def compress(case: Case) -> Value:
    x = case.value_for("Compress", ranks=(1, 4), where=not_empty)
    axis = an_axis(case, x) if case.chance(0.7) else None
    size = x.data.size if axis is None else x.shape[axis]
    bools = case.rng.random(case.between(1, size)) < 0.5
    return case.op("Compress", x, case.given(bools, 0.3), axis=axis)


def non_zero(case: Case) -> Value:
    return case.op("NonZero", case.value_for("NonZero", ranks=(1, 4)))


def unique(case: Case) -> list[Value]:
    x = case.value_for("Unique", types=(*INTEGERS, F32, BOOL), ranks=(1, 3), where=not_empty)
    axis = an_axis(case, x) if case.chance(0.4) else None
    return case.ops("Unique", x, outputs=case.between(1, 4), axis=axis,
                    sorted=case.pick([None, 0, 1]))


def top_k(case: Case) -> list[Value]:
    x = case.value_for("TopK", ranks=(1, 4), where=not_empty)
    axis = an_axis(case, x)
    count = case.between(0 if case.chance(0.1) else 1, x.shape[axis])
    if not case.since(10):
        return case.ops("TopK", x, outputs=2, axis=axis, k=count)
    largest = case.pick([None, 0, 1]) if case.since(11) else None
    return case.ops("TopK", x, case.ints([count]), outputs=2, axis=axis, largest=largest)


def one_hot(case: Case) -> Value:
    at = case.value_for("OneHot", types=(I64, I32, F32), ranks=(0, 3))
    low = -3 if case.since(11) else 0
    at = case.given(case.rng.integers(low, 6, at.shape).astype(at.dtype), 0.3)
    values = case.given(np.array([0, 1]).astype(case.pick([F32, I64, I32])))
    depth = case.given(np.array(4, case.pick([I64, I32])), 0.8)
    return case.op("OneHot", at, depth, values, axis=case.pick([None, 0, -1]))


def boxes(case: Case) -> Value:
    """Corners of partly overlapping boxes, and scores."""
    batches, classes, count = case.between(1, 2), case.between(1, 3), case.between(1, 12)
    corner = case.rng.random((batches, count, 2)) * 4
    size = case.rng.random((batches, count, 2)) + 0.5
    ends = (corner, size) if (centred := case.chance(0.4)) else (corner, corner + size)
    data = case.given(np.concatenate(ends, -1).astype(F32), 0.2)
    scores = case.given(case.rng.random((batches, classes, count)).astype(F32), 0.2)
    limits = [case.ints([case.between(0 if case.chance(0.1) else 1, 6)]),
              case.given(np.array([case.pick([0.3, 0.5])], F32), 0.8),
              case.given(np.array([case.pick([0.0, 0.4])], F32), 0.8)][: case.between(1, 3)]
    return case.op("NonMaxSuppression", data, scores, *limits, center_point_box=int(centred))


def tensor_scatter(case: Case) -> Value:
    batch, longest, width = case.between(1, 3), case.between(2, 6), case.between(1, 5)
    x = case.value_for("TensorScatter", types=NUMBERS)
    cache = case.new(x.dtype, (batch, case.between(1, 2), longest, width), 0.1)
    rows = case.between(1, longest)
    update = case.new(x.dtype, (*cache.shape[:2], rows, width), 0.1)
    mode = case.pick(["linear", "circular"])
    last = longest - rows if mode == "linear" else longest - 1
    at = case.ints([case.between(0, last) for _ in range(batch)])
    return case.op("TensorScatter", cache, update, at, mode=mode)


def by_condition(case: Case) -> Value:
    """NonZero of a comparison, used as indices: a shape that only the run knows."""
    x = case.value(NUMBERS, ranks=(1, 1), where=not_empty)
    case.require(case.since(9))
    flag = case.op("Greater", x, case.scalar(0, x.dtype))
    found = case.op("Transpose", case.op("NonZero", flag), perm=[1, 0])
    return case.op("GatherND", x, found)


RECIPES = [gather, gather, gather_elements, gather_nd, scatter_elements, scatter_nd, compress,
           non_zero, unique, top_k, top_k, one_hot, boxes, tensor_scatter, by_condition]
