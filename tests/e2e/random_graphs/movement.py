"""What moves elements about: reshapes, transposes, slices, joins, borders, copies."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from random_graphs.case import Case, Value
from random_graphs.reduction import an_axis
from random_graphs.values import ALL, BOOL, F32, FLOATS, I32, I64, Shape


def transpose(case: Case) -> Value:
    x = case.value()
    perm = [int(k) for k in case.rng.permutation(x.rank)]
    return case.op("Transpose", x, perm=perm if x.rank and case.chance(0.8) else None)


def a_factoring(case: Case, size: int) -> Shape:
    """A shape of `size` elements: its primes dealt out."""
    shape = [1] * case.between(1, 4)
    prime = 2
    while size > 1:
        if size % prime:
            prime += 1
            continue
        size //= prime
        shape[case.between(0, len(shape) - 1)] *= prime
    return tuple(shape)


def reshape(case: Case) -> Value:
    x = case.value()
    if x.data.size == 0:
        target = [0 if case.chance(0.5) else size for size in x.shape]
        return case.op("Reshape", x, case.ints(target))
    target = list(a_factoring(case, x.data.size))
    if case.chance(0.3):
        target[case.between(0, len(target) - 1)] = -1
    same = [k for k, size in enumerate(target) if k < x.rank and size == x.shape[k]]
    if same and case.chance(0.5):
        target[case.pick(same)] = 0
    return case.op("Reshape", x, case.ints(target))


def flatten(case: Case) -> Value:
    x = case.value_for("Flatten", ranks=(1, 5))
    low = -x.rank if case.since(11) else 0
    return case.op("Flatten", x, axis=case.between(low, x.rank))


def with_axes(case: Case, kind: str, x: Value, axes: list[int] | None, since: int = 13) -> Value:
    if axes is None:
        return case.op(kind, x)
    return case.op(kind, x, case.ints(axes)) if case.since(since) else case.op(kind, x, axes=axes)


def unsqueeze(case: Case) -> Value:
    x = case.value(ranks=(0, 4))
    count = case.between(1, 2)
    axes = [int(k) for k in case.rng.permutation(x.rank + count)[:count]]
    return with_axes(case, "Unsqueeze", x, axes)


def squeeze(case: Case) -> Value:
    x = case.value(where=lambda v: 1 in v.shape)
    ones = [k for k, size in enumerate(x.shape) if size == 1]
    chosen = [k for k in ones if case.chance(0.6)] or ones[:1]
    return with_axes(case, "Squeeze", x, chosen if case.chance(0.8) else None)


def slice_(case: Case) -> Value:
    x = case.value(ranks=(1, 5))
    axes = sorted(int(k) for k in case.rng.permutation(x.rank)[: case.between(1, x.rank)])
    rows = []
    for axis in axes:
        size = x.shape[axis]
        step = case.pick([1, 1, 1, 2, 3, -1, -2]) if case.since(10) else 1
        start, end = case.between(-size - 1, size), case.between(-size - 1, size + 2)
        if case.chance(0.3):
            start, end = (0, 2**31) if step > 0 else (-1, -(2**31))
        rows.append((start, end, step))
    starts, ends, steps = (list(column) for column in zip(*rows))
    if not case.since(10):
        return case.op("Slice", x, starts=starts, ends=ends, axes=axes)
    index = case.pick([I32, I64]) if max(map(abs, ends)) < 2**31 else I64
    parts = [case.ints(starts, index), case.ints(ends, index), case.ints(axes, index)]
    return case.op("Slice", x, *parts, *([case.ints(steps, index)] if set(steps) != {1} else []))


def concat(case: Case) -> Value:
    x = case.value(ranks=(1, 5))
    axis = an_axis(case, x)
    dropped = axis % x.rank

    def fits(v: Value) -> bool:
        return v.dtype == x.dtype and v.rank == x.rank and all(
            a == b for k, (a, b) in enumerate(zip(v.shape, x.shape)) if k != dropped)

    others = [v for v in case.values if fits(v)]
    parts = [x]
    for _ in range(case.between(0, 3)):
        shape = list(x.shape)
        shape[dropped] = case.between(0, 4)
        parts.append(case.pick(others) if case.chance(0.6) else case.new(x.dtype, tuple(shape)))
    return case.op("Concat", *[parts[int(k)] for k in case.rng.permutation(len(parts))], axis=axis)


def is_splittable(size: int, count: int, case: Case) -> bool:
    """Into equal parts; since opset 18 the last may be smaller, and no other."""
    return size % count == 0 or (case.since(18) and -(-size // count) * (count - 1) <= size)


def split(case: Case) -> list[Value]:
    x = case.value_for("Split", ranks=(1, 5))
    axis = an_axis(case, x)
    size = x.shape[axis]
    if case.chance(0.3) and size > 1:
        count = case.pick([k for k in range(1, size + 1) if is_splittable(size, k, case)][:5])
        return case.ops("Split", x, outputs=count, axis=axis,
                        num_outputs=count if case.since(18) else None)
    cuts = sorted(case.between(0, size) for _ in range(case.between(0, 3)))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size])]
    if case.since(13):
        return case.ops("Split", x, case.ints(sizes), outputs=len(sizes), axis=axis)
    return case.ops("Split", x, outputs=len(sizes), axis=axis, split=sizes)


def expand(case: Case) -> Value:
    x = case.value()
    shape = [case.between(1, 4) if size == 1 and case.chance(0.6) else size for size in x.shape]
    target = [1 if case.chance(0.2) else size for size in shape]
    lead = [case.between(1, 3) for _ in range(case.between(0, 2))]
    return case.op("Expand", x, case.ints(lead + target))


def tile(case: Case) -> Value:
    x = case.value(ranks=(1, 5))
    return case.op("Tile", x, case.ints([case.pick([1, 1, 2, 3, 0 if case.chance(0.1) else 1])
                                         for _ in x.shape]))


def pad(case: Case) -> Value:
    x = case.value_for("Pad", ranks=(1, 5))
    modes = ["constant", "constant", "edge", "reflect"] + (["wrap"] if case.since(19) else [])
    mode = case.pick(modes)
    case.require(mode == "constant" or 0 not in x.shape)
    limit = {"constant": lambda n: 3, "edge": lambda n: 3, "reflect": lambda n: n - 1,
             "wrap": lambda n: n}[mode]
    low = -1 if mode == "constant" and case.chance(0.2) else 0
    pads = [case.between(min(low, 0), min(2, limit(size))) for size in x.shape * 2]
    if not case.since(11):
        return case.op("Pad", x, pads=pads, mode=mode, value=0.25 if mode == "constant" else None)
    value = case.scalar(1, x.dtype) if mode == "constant" and case.chance(0.6) else None
    if case.since(18) and case.chance(0.3):
        axis = an_axis(case, x)
        pair = case.ints([pads[axis % x.rank], pads[axis % x.rank + x.rank]])
        return case.op("Pad", x, pair, value, case.ints([axis]), mode=mode)
    return case.op("Pad", x, case.ints(pads), *([value] if value else []), mode=mode)


def blocks(case: Case) -> Value:
    kind = case.pick(["DepthToSpace", "SpaceToDepth"])
    block = case.pick([1, 2, 3])
    shape = (case.between(1, 2), case.between(1, 3), case.between(1, 4), case.between(1, 4))
    if kind == "DepthToSpace":
        shape = (shape[0], shape[1] * block * block, *shape[2:])
    else:
        shape = (*shape[:2], shape[2] * block, shape[3] * block)
    x = case.value_for(kind, ranks=(4, 4))
    if x.shape[1] % (block * block) or kind == "SpaceToDepth":
        x = case.new(x.dtype, shape, 0.2)
    mode = case.pick(["DCR", "CRD"]) if kind == "DepthToSpace" and case.since(11) else None
    return case.op(kind, x, blocksize=block, mode=mode)


def centre(case: Case) -> Value:
    x = case.value_for("CenterCropPad", ranks=(1, 4))
    axes = sorted(int(k) for k in case.rng.permutation(x.rank)[: case.between(1, x.rank)])
    target = case.ints([max(1, x.shape[k] + case.between(-3, 3)) for k in axes])
    return case.op("CenterCropPad", x, target, axes=axes)


def reverse_sequence(case: Case) -> Value:
    x = case.value_for("ReverseSequence", ranks=(2, 4), where=lambda v: 0 not in v.shape[:2])
    batch = case.between(0, 1)
    lengths = case.ints([case.between(1, x.shape[1 - batch]) for _ in range(x.shape[batch])])
    return case.op("ReverseSequence", x, lengths, batch_axis=batch, time_axis=1 - batch)


def trilu(case: Case) -> Value:
    x = case.value_for("Trilu", ranks=(2, 4))
    offset = [case.ints(case.between(-3, 3))] if case.chance(0.6) else []
    return case.op("Trilu", x, *offset, upper=case.pick([None, 0, 1]))


def shape_of(case: Case) -> Value:
    x = case.value()
    if case.chance(0.3):
        return case.op("Size", x)
    start = case.between(-x.rank, x.rank) if case.since(15) and case.chance(0.5) else None
    return case.op("Shape", x, start=start)


def reshape_by_shape(case: Case) -> Value:
    """As exporters flatten: dimensions taken from Shape, joined, and used."""
    x = case.value(ranks=(2, 5), where=lambda v: v.data.size > 0)
    dims = case.op("Shape", x)
    first = case.op("Gather", dims, case.ints([0]))
    return case.op("Reshape", x, case.op("Concat", first, case.ints([-1]), axis=0))


def made_of_shape(case: Case) -> Value:
    sizes = [case.between(0 if case.chance(0.1) else 1, 4) for _ in range(case.between(0, 3))]
    if case.chance(0.3):
        x = case.value(ranks=(2, 2), types=tuple(t for t in ALL if t != BOOL))
        return case.op("EyeLike", x, k=case.between(-2, 2))
    value = numpy_helper.from_array(np.array([case.between(0, 3)]).astype(case.pick(
        [F32, I64, I32, BOOL])))
    return case.op("ConstantOfShape", case.ints(sizes), value=value)


def range_(case: Case) -> Value:
    dtype = case.pick([F32, I64, I32])
    start, count, step = case.between(-3, 3), case.between(0, 9), case.pick([1, 2, -1])
    ends = (start, start + count * step, step)
    return case.op("Range", *(case.scalar(value, dtype) for value in ends))


def dropout(case: Case) -> list[Value]:
    """Until opset 12 the standard left open what the mask holds when nothing is dropped."""
    x = case.value_for("Dropout", types=FLOATS)
    return case.ops("Dropout", x, outputs=case.between(1, 2) if case.since(12) else 1)


RECIPES = [transpose, transpose, reshape, reshape, flatten, unsqueeze, squeeze, slice_, slice_,
           concat, concat, split, expand, tile, pad, pad, blocks, centre, reverse_sequence, trilu,
           shape_of, reshape_by_shape, made_of_shape, range_, dropout]
