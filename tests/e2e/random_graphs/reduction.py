"""What runs along axes: reductions, sums, softmax, norms, the index of the largest."""

from __future__ import annotations

import numpy as np

from random_graphs.case import Case, Value
from random_graphs.elementwise import away_from_zero
from random_graphs.values import FLOATS, I32, I64

REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
              "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp", "ReduceLogSum"]


def an_axis(case: Case, x: Value) -> int:
    return case.between(-x.rank, x.rank - 1)


def some_axes(case: Case, x: Value) -> list[int]:
    """Distinct, in any order, some counted from the end."""
    axes = case.rng.permutation(x.rank)[: case.between(1, x.rank)]
    return [int(axis) - (x.rank if case.chance(0.3) else 0) for axis in axes]


def reduction(case: Case) -> Value:
    kind = case.pick(REDUCTIONS)
    since = 13 if kind == "ReduceSum" else 18
    x = case.value_for(kind, ranks=(0, 5))
    if kind == "ReduceLogSum":
        x = away_from_zero(case, x)
    axes = some_axes(case, x) if x.rank and case.chance(0.85) else None
    keep = case.pick([None, 0, 1])
    if not case.since(since):
        return case.op(kind, x, axes=axes, keepdims=keep)
    noop = 1 if axes is None and case.chance(0.3) else None
    has_list = axes is not None or noop is None and case.chance(0.3)  # an empty one means all axes, too
    given = [case.ints(axes or [])] if has_list else []
    return case.op(kind, x, *given, keepdims=keep, noop_with_empty_axes=noop)


def is_decided(x: Value, axis: int) -> bool:
    """Whether rounding noise cannot change the largest and smallest elements along the axis: the
    runners-up are equal to them or far away."""
    if x.dtype not in FLOATS or x.shape[axis] < 2:
        return True
    for data in (x.data, *x.twins):
        rows = np.sort(data.astype(np.float64), axis)
        gaps = np.take(np.diff(rows, axis=axis), [0, -1], axis)
        if ((gaps != 0) & ~(gaps > 1e-3)).any():
            return False
    return True


def arg(case: Case) -> Value:
    kind = case.pick(["ArgMax", "ArgMin"])
    x = case.value_for(kind, ranks=(1, 5), where=lambda v: v.data.size > 0)
    axis = an_axis(case, x)
    case.require(is_decided(x, axis))
    last = case.pick([None, 0, 1]) if case.since(12) else None
    return case.op(kind, x, axis=axis, keepdims=case.pick([None, 0, 1]), select_last_index=last)


def cumulative(case: Case) -> Value:
    kind = case.pick(["CumSum", "CumSum", "CumProd"])
    x = case.value_for(kind, ranks=(1, 4))
    axis = case.ints(an_axis(case, x), case.pick([I32, I64]))
    return case.op(kind, x, axis, exclusive=case.pick([None, 1]), reverse=case.pick([None, 1]))


def softmax(case: Case) -> Value:
    kind = case.pick(["Softmax", "Softmax", "LogSoftmax", "Hardmax"])
    lowest = 1 if case.since(13) else 2  # the default axis was 1
    x = case.value_for(kind, ranks=(lowest, 4), where=lambda v: v.data.size > 0)
    return case.op(kind, x, axis=an_axis(case, x) if case.chance(0.8) else None)


def lp_normalization(case: Case) -> Value:
    x = case.value_for("LpNormalization", ranks=(1, 4))
    return case.op("LpNormalization", x, axis=an_axis(case, x), p=case.pick([None, 1, 2]))


def variance(case: Case) -> Value:
    x = case.value_for("MeanVarianceNormalization", ranks=(2, 4))
    axes = sorted(a % x.rank for a in some_axes(case, x))
    wide = x.data.astype(np.float64)
    with np.errstate(all="ignore"):  # the rounding of the mean is a large part of a small deviation, and no noise shows it
        mean, deviation = np.abs(wide.mean(tuple(axes))), wide.std(tuple(axes))
    case.require(not bool((deviation < 1e-2 * mean).any()))
    return case.op("MeanVarianceNormalization", x, axes=axes)


def centred(case: Case) -> Value:
    """x less its mean: a fan-out that joins again."""
    x = case.value(FLOATS, ranks=(1, 4))
    axis = an_axis(case, x)
    if case.since(18):
        return case.op("Sub", x, case.op("ReduceMean", x, case.ints([axis])))
    return case.op("Sub", x, case.op("ReduceMean", x, axes=[axis]))


RECIPES = [reduction, reduction, reduction, arg, cumulative, softmax, softmax, lp_normalization,
           variance, centred]
