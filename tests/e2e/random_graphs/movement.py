"""Chains of operators that move elements without computing."""

from __future__ import annotations

import math

from random_graphs.case import Case, Value


def transpose(case: Case, x: Value) -> Value:
    perm = [int(k) for k in case.rng.permutation(len(x.shape))]
    return case.op("Transpose", tuple(x.shape[k] for k in perm), x, perm=perm)


def reshape(case: Case, x: Value) -> Value:
    """Joins two neighbouring dimensions, or splits one."""
    shape = list(x.shape)
    k = case.between(0, len(shape) - 1)
    divisors = [d for d in range(2, shape[k]) if shape[k] % d == 0]
    if divisors and len(shape) < 6:
        divisor = case.pick(divisors)
        shape[k : k + 1] = [divisor, shape[k] // divisor]
    elif k + 1 < len(shape):
        shape[k : k + 2] = [shape[k] * shape[k + 1]]
    target = list(shape)
    if case.chance(0.3):
        target[case.between(0, len(shape) - 1)] = -1
    return case.op("Reshape", tuple(shape), x, case.ints(target))


def slice_(case: Case, x: Value) -> Value:
    axis = case.between(0, len(x.shape) - 1)
    size = x.shape[axis]
    step = case.pick([1, 1, 2, -1])
    start, end = sorted((case.between(0, size - 1), case.between(0, size - 1)))
    end += 1
    count = math.ceil((end - start) / abs(step))
    if step < 0:
        start, end = end - 1, (start - 1 if start > 0 else -size - 1)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    bounds = (case.ints([value]) for value in (start, end, axis, step))
    return case.op("Slice", shape, x, *bounds)


def concat(case: Case, x: Value) -> Value:
    axis = case.between(-len(x.shape), len(x.shape) - 1)
    parts = [x, case.op("Neg", x.shape, x), x][: case.between(2, 3)]
    shape = list(x.shape)
    shape[axis] *= len(parts)
    return case.op("Concat", tuple(shape), *parts, axis=axis)


def split(case: Case, x: Value) -> Value:
    axis = case.between(0, len(x.shape) - 1)
    size = x.shape[axis]
    if size < 2:
        return x
    first = case.between(1, size - 1)
    names = [f"split{case.rng.integers(1 << 40)}_{k}" for k in range(2)]
    case.writer.multi_op("Split", x.name, case.ints([first, size - first]), names=names, axis=axis)
    kept = case.between(0, 1)
    shape = (*x.shape[:axis], [first, size - first][kept], *x.shape[axis + 1 :])
    return Value(names[kept], shape)


def gather(case: Case, x: Value) -> Value:
    axis = case.between(0, len(x.shape) - 1)
    size = x.shape[axis]
    indices = [case.between(-size, size - 1) for _ in range(case.between(1, 5))]
    shape = (*x.shape[:axis], len(indices), *x.shape[axis + 1 :])
    return case.op("Gather", shape, x, case.ints(indices), axis=axis)


def pad(case: Case, x: Value) -> Value:
    mode = case.pick(["constant", "edge", "reflect"])
    limits = [size - 1 if mode == "reflect" else 3 for size in x.shape]
    before = [case.between(0, min(2, limit)) for limit in limits]
    after = [case.between(0, min(2, limit)) for limit in limits]
    shape = tuple(b + size + a for b, size, a in zip(before, x.shape, after))
    value = [case.float(0.25)] if mode == "constant" else []
    return case.op("Pad", shape, x, case.ints(before + after), *value, mode=mode)


def expand(case: Case, x: Value) -> Value:
    shape = (case.between(1, 3), *x.shape)
    return case.op("Expand", shape, x, case.ints(list(shape)))


def tile(case: Case, x: Value) -> Value:
    repeats = [case.pick([1, 1, 2]) for _ in x.shape]
    shape = tuple(size * count for size, count in zip(x.shape, repeats))
    return case.op("Tile", shape, x, case.ints(repeats))


def squeeze(case: Case, x: Value) -> Value:
    """A new dimension of 1, and gone again, with something between."""
    axis = case.between(0, len(x.shape))
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    y = case.op("Unsqueeze", shape, x, case.ints([axis]))
    y = case.op("Abs", shape, y)
    return case.op("Squeeze", x.shape, y, case.ints([axis]))


LAYERS = [transpose, transpose, reshape, reshape, slice_, concat, split, gather, pad, expand, tile,
          squeeze]
LARGEST = 100_000


def build(case: Case) -> None:
    x = case.input(tuple(case.between(1, 9) for _ in range(case.between(1, 4))))
    for _ in range(case.between(2, 8)):
        layer = case.pick(LAYERS)
        if math.prod(x.shape) < LARGEST and len(x.shape) < 6:
            x = layer(case, x)
    case.output(x)
