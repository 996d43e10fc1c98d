"""Chains and diamonds of element-wise operators over broadcast shapes."""

from __future__ import annotations

import numpy as np

from random_graphs.case import Case, Shape, Value

UNARY = ["Abs", "Neg", "Sigmoid", "Tanh", "Erf", "Relu", "Softsign", "Sin", "Cos", "Floor", "Sign"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]


def broadcastable(case: Case, shape: Shape) -> Shape:
    """`shape` with some dimensions made 1 and maybe the first ones dropped."""
    thinned = tuple(1 if case.chance(0.3) else size for size in shape)
    return thinned[case.between(0, len(shape) - 1) if case.chance(0.3) else 0 :]


def unary(case: Case, values: list[Value]) -> Value:
    x = case.pick(values)
    return case.op(case.pick(UNARY), x.shape, x)


def positive(case: Case, values: list[Value]) -> Value:
    """Operators of a restricted domain, on a shifted magnitude."""
    x = case.pick(values)
    shifted = case.op("Add", x.shape, case.op("Abs", x.shape, x), case.float(0.5))
    return case.op(case.pick(["Sqrt", "Log", "Reciprocal"]), x.shape, shifted)


def binary(case: Case, values: list[Value]) -> Value:
    a, b = case.pick(values), case.pick(values)
    return case.op(case.pick(BINARY), np.broadcast_shapes(a.shape, b.shape), a, b)


def select(case: Case, values: list[Value]) -> Value:
    a, b = case.pick(values), case.pick(values)
    shape = np.broadcast_shapes(a.shape, b.shape)
    larger = case.op(case.pick(["Greater", "Less", "GreaterOrEqual"]), shape, a, b)
    return case.op("Where", shape, larger, a, b)


def build(case: Case) -> None:
    shape = tuple(case.between(1, 12) for _ in range(case.between(1, 4)))
    values = [case.input(shape, {0: "N"} if case.chance(0.3) else None)]
    values += [case.input(broadcastable(case, shape)) for _ in range(case.between(0, 2))]
    constant = broadcastable(case, shape)
    values.append(Value(case.weight(constant, 1.0), constant))
    for _ in range(case.between(2, 12)):
        values.append(case.pick([unary, unary, positive, binary, binary, select])(case, values))
    for value in {values[-1], values[-1 - case.between(0, 2)]}:
        case.output(value)
