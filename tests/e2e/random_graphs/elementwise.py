"""Element-wise operators over broadcast shapes, in every element type they have."""

from __future__ import annotations

import numpy as np

from random_graphs.case import Case, Value
from random_graphs.evaluate import element_type
from random_graphs.values import ALL, BOOL, FLOATS, INTEGERS, NUMBERS, UNSIGNED

UNARY = ["Abs", "Neg", "Sign", "Relu", "Ceil", "Floor", "Round", "Sigmoid", "Tanh", "Erf", "Sin",
         "Cos", "Atan", "Softsign", "Softplus", "Exp", "Asinh", "HardSwish", "Mish", "Sinh", "Cosh",
         "IsNaN", "IsInf", "Not", "BitwiseNot", "Identity"]
OF_ALPHA = {"LeakyRelu": 0.1, "Elu": 0.8, "Celu": 1.5, "ThresholdedRelu": 0.4, "Swish": 1.2,
            "HardSigmoid": 0.3, "Selu": 1.5}
BOUNDED = ["Acos", "Asin", "Atanh", "Tan"]  # applied after Tanh, whose range avoids their poles
POSITIVE = ["Sqrt", "Log", "Reciprocal", "Acosh"]
BINARY = ["Add", "Sub", "Mul", "Add", "Sub", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr",
          "BitwiseXor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "PRelu"]
MANY = ["Max", "Min", "Sum", "Mean"]


def unary(case: Case) -> Value:
    kind = case.pick(UNARY)
    return case.op(kind, case.value_for(kind))


def activation(case: Case) -> Value:
    kind = case.pick(list(OF_ALPHA))
    alpha = OF_ALPHA[kind] if case.chance(0.6) else None
    return case.op(kind, case.value_for(kind), alpha=alpha)


def other_activations(case: Case) -> Value:
    kind = case.pick(["Shrink", "Gelu", "Clip"])
    x = case.value_for(kind)
    if kind == "Shrink":
        return case.op(kind, x, lambd=case.pick([0.5, 2.0]), bias=case.pick([0.0, 0.25]))
    if kind == "Gelu":
        return case.op(kind, x, approximate=case.pick([None, "none", "tanh"]))
    if not case.since(11):
        return case.op(kind, x, min=-0.5, max=case.pick([None, 0.75]))
    low = case.scalar(0 if x.dtype in UNSIGNED else -1, x.dtype) if case.chance(0.7) else None
    high = case.scalar(case.pick([1, 3]), x.dtype) if case.chance(0.7) else None
    return case.op(kind, x, low, high)


def bounded(case: Case) -> Value:
    kind = case.pick(BOUNDED)
    return case.op(kind, case.op("Tanh", case.value_for(kind)))


def away_from_zero(case: Case, x: Value) -> Value:
    """|x| + 1, which every numeric type can represent."""
    one = case.scalar(1.25 if x.dtype in FLOATS else 1, x.dtype)
    away = case.op("Add", x if x.dtype in UNSIGNED else case.op("Abs", x), one)
    case.require(bool((away.data != 0).all()))  # the sum of a largest integer wraps
    return away


def positive(case: Case) -> Value:
    kind = case.pick(POSITIVE)
    return case.op(kind, away_from_zero(case, case.value_for(kind)))


def binary(case: Case) -> Value:
    kind = case.pick(BINARY)
    a = case.value_for(kind)
    b = case.partner(a)
    if kind == "PRelu":  # its slope broadcasts one way
        case.require(np.broadcast_shapes(a.shape, b.shape) == a.shape)
        return case.op(kind, a, b)
    return case.op(kind, *((a, b) if case.chance(0.5) else (b, a)))


def many(case: Case) -> Value:
    kind = case.pick(MANY)
    values = [case.value_for(kind)]
    for _ in range(case.between(0, 3)):
        values.append(case.partner(values[0]))
    return case.op(kind, *values)


def division(case: Case) -> Value:
    kind = case.pick(["Div", "Div", "Mod", "Pow"])
    a = case.value_for(kind)
    case.require(case.depth == 0 or a.dtype in FLOATS)  # a later iteration may divide by zero
    b = case.partner(a)
    if kind == "Pow":
        base = away_from_zero(case, a) if a.dtype in FLOATS else a
        small = case.given(case.rng.integers(0, 3, b.shape).astype(
            case.pick([a.dtype, np.dtype(np.float32), np.dtype(np.int64)])))
        return case.op(kind, base, small)
    fmod = 1 if kind == "Mod" and (a.dtype in FLOATS or case.chance(0.3)) else None
    return case.op(kind, a, away_from_zero(case, b), fmod=fmod)


def shift(case: Case) -> Value:
    x = case.value_for("BitShift", types=UNSIGNED)
    by = case.given(case.rng.integers(0, 4, x.shape).astype(x.dtype))
    return case.op("BitShift", x, by, direction=case.pick(["LEFT", "RIGHT"]))


def where(case: Case) -> Value:
    a = case.value_for("Where", 1)
    b = case.partner(a)
    bools = [item for item in case.values if item.dtype == BOOL and item.rank <= 3]
    shape = np.broadcast_shapes(a.shape, b.shape)
    fitting = [item for item in bools if item.shape == shape]
    condition = case.pick(fitting) if fitting else case.new(BOOL, shape, 0.3)
    return case.op("Where", condition, a, b)


def spelled_gelu(case: Case) -> Value:
    """Gelu as exporters wrote it before ONNX had the operator."""
    x = case.value(FLOATS)
    erf = case.op("Erf", case.op("Div", x, case.scalar(2**0.5, x.dtype)))
    gate = case.op("Add", erf, case.scalar(1, x.dtype))
    return case.op("Mul", case.op("Mul", x, gate), case.scalar(0.5, x.dtype))


def silu(case: Case) -> Value:
    x = case.value(FLOATS)
    return case.op("Mul", x, case.op("Sigmoid", x))


def cast(case: Case) -> Value:
    """A cast to a type that can hold the values; floats become integers only if all are in range."""
    x = case.value(ALL)
    to = case.pick([t for t in ALL if t != x.dtype or case.chance(0.1)])
    if to in INTEGERS and x.data.size and x.dtype in NUMBERS:
        info, wide = np.iinfo(to), x.data.astype(np.float64)
        case.require(bool(np.isfinite(wide).all()))
        if x.dtype in FLOATS:
            case.require(wide.min() >= info.min + 1 and wide.max() <= min(info.max - 1, 1e6))
    if case.since(15) and case.chance(0.2):
        return case.op("CastLike", x, case.new(to, (case.between(0, 2),)))
    return case.op("Cast", x, to=element_type(np.empty(0, to)))


RECIPES = [unary, unary, unary, unary, activation, other_activations, bounded, positive, binary,
           binary, binary, binary, many, division, shift, where, spelled_gelu, silu, cast, cast]
