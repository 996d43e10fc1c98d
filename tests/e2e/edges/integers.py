"""The ends of integer types, and numbers that an f32 or f64 rounds, in every operator that takes integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from edges.cases import Case, model_of
from operator_coverage.recipe import Recipe

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
ALL = SIGNED + UNSIGNED
WIDE = ("int32", "int64", "uint32", "uint64")
SOME = [0, 1, 2, 3, 5, 7, 100, 127, 128, 255, 2**15, 2**16 + 1, 2**24 + 1, 2**31, 2**32 + 1, 2**53 + 1, 2**62 + 1]


def flat(kind: str) -> np.ndarray:
    """One vector, longer than the widest registers and no multiple of them."""
    ends = np.iinfo(kind)
    values = [*SOME, *(-value for value in SOME), ends.max, ends.max - 1, ends.min, ends.min + 1]
    some = [value for value in values if ends.min <= value <= ends.max]
    return np.array((some * 8)[:77], kind)


def pairs(kind: str, has_zero: bool = True) -> list[np.ndarray]:
    """Every edge with every other."""
    some = sorted(set(flat(kind).tolist()))
    a, b = zip(*itertools.product(some, [value for value in some if value or has_zero]))
    return [np.array(a, kind), np.array(b, kind)]


def quotients(kind: str) -> list[np.ndarray]:
    """The standard leaves 0 as a divisor undefined, and the least number by -1 has no quotient in the type."""
    a, b = pairs(kind, has_zero=False)
    fits = ~((a == np.iinfo(kind).min) & (b.astype(object) == -1))
    return [a[fits], b[fits]]


def rows(kind: str) -> list[np.ndarray]:
    return [np.concatenate([flat(kind), flat(kind)[::-1]]).reshape(7, 22)]


def shifts(kind: str) -> list[np.ndarray]:
    x = flat(kind)
    return [x, (np.arange(x.size) % np.iinfo(kind).bits).astype(kind)]


def powers(kind: str) -> list[np.ndarray]:
    """Powers whose results fit the type."""
    ends = np.iinfo(kind)
    fits = [(x, e) for x in (0, 1, 2, 3, 7, 10, -1, -2, -3, -7) for e in range(64) if ends.min <= x**e <= ends.max]
    bases, exponents = zip(*[(x, e) for x, e in fits if x >= ends.min])
    return [np.array(bases, kind), np.array(exponents, kind)]


def factors(kind: str) -> list[np.ndarray]:
    """[5, 7] x [7, 6], with partial sums that wrap."""
    return [np.resize(flat(kind), (5, 7)), np.resize(flat(kind)[::-1], (7, 6))]


@dataclass(frozen=True)
class Integers:
    """Inputs, and a function that says the output in the type's own arithmetic, which wraps."""

    want: Callable
    inputs: Callable[[str], object] = flat
    types: tuple[str, ...] = ALL
    attributes: dict = field(default_factory=dict)
    constants: Callable[[str], list] = lambda kind: []

    def cases(self, operator: str, _recipes: list[Recipe]) -> Iterator[tuple[str, Case]]:
        for kind in self.types:
            made = self.inputs(kind)
            inputs = made if isinstance(made, list) else [made]
            constants = [np.asarray(c) for c in self.constants(kind)]
            with np.errstate(all="ignore"):
                told = self.want(*inputs, *constants)
            outputs = [np.asarray(t) for t in (told if isinstance(told, tuple) else (told,))]
            outputs = [o if o.dtype.kind == "b" or o.dtype == np.int64 else o.astype(kind) for o in outputs]
            yield kind, Case(model_of(operator, self.attributes, [*inputs, *constants], outputs, len(inputs)),
                             inputs, outputs)


def truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    quotient = [abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b)]
    return np.array(quotient, a.dtype)


def with_sign_of_dividend(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rest = [abs(int(x)) % abs(int(y)) * (1 if x >= 0 else -1) for x, y in zip(a, b)]
    return np.array(rest, a.dtype)


def wrapped(function: Callable, x: np.ndarray) -> np.ndarray:
    """Along the last axis, in whole numbers of any size, then into the type."""
    bits, values = np.iinfo(x.dtype).bits, function(x.astype(object))
    wrap = np.vectorize(lambda value: int(value) & (2**bits - 1), otypes=[object])
    return wrap(values).astype(f"uint{bits}").astype(x.dtype)


def reduced(function: Callable) -> Integers:
    return Integers(lambda x, _: wrapped(lambda v: function(v).reshape(-1, 1), x), rows, WIDE[:2],
                    constants=lambda kind: [np.array([1])])


def ends(best: Callable, **attributes) -> Integers:
    return Integers(lambda x: best(x, -1)[:, None].astype(np.int64), rows, ("int8", "int32", "int64", "uint8"),
                    {"axis": 1, **attributes})


def top(x: np.ndarray, sign: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.array([sorted(range(row.size), key=lambda i: (sign * int(row[i]), i))[:5] for row in x])
    return np.take_along_axis(x, order, 1), order.astype(np.int64)


PAIR = {"inputs": pairs}
BOUNDS = {"constants": lambda kind: [np.array(-5 if kind[0] == "i" else 3, kind), np.array(np.iinfo(kind).max - 1, kind)]}

TABLE: dict[str, list[Integers]] = {
    "Abs": [Integers(np.abs)], "Neg": [Integers(np.negative, types=SIGNED)], "Sign": [Integers(np.sign)],
    "Relu": [Integers(lambda x: np.maximum(x, 0), types=SIGNED)], "BitwiseNot": [Integers(np.invert)],
    "Clip": [Integers(np.clip, **BOUNDS)], "Identity": [Integers(lambda x: x)],
    "Add": [Integers(np.add, **PAIR)], "Sub": [Integers(np.subtract, **PAIR)], "Mul": [Integers(np.multiply, **PAIR)],
    "Div": [Integers(truncated, quotients)],
    "Mod": [Integers(np.mod, quotients), Integers(with_sign_of_dividend, quotients, attributes={"fmod": 1})],
    "Max": [Integers(np.maximum, **PAIR)], "Min": [Integers(np.minimum, **PAIR)],
    "Pow": [Integers(np.power, powers, ("int32", "int64"))],
    "PRelu": [Integers(lambda x, slope: np.where(x < 0, slope * x, x), pairs, WIDE)],
    "Equal": [Integers(np.equal, **PAIR)], "Greater": [Integers(np.greater, **PAIR)],
    "GreaterOrEqual": [Integers(np.greater_equal, **PAIR)], "Less": [Integers(np.less, **PAIR)],
    "LessOrEqual": [Integers(np.less_equal, **PAIR)],
    "BitwiseAnd": [Integers(np.bitwise_and, **PAIR)], "BitwiseOr": [Integers(np.bitwise_or, **PAIR)],
    "BitwiseXor": [Integers(np.bitwise_xor, **PAIR)],
    "BitShift": [Integers(np.left_shift, shifts, UNSIGNED, {"direction": "LEFT"}),
                 Integers(np.right_shift, shifts, UNSIGNED, {"direction": "RIGHT"})],
    "MatMul": [Integers(np.matmul, factors, WIDE)], "Gemm": [Integers(np.matmul, factors, WIDE)],
    "CumSum": [Integers(lambda x, _: wrapped(lambda v: v.cumsum(-1), x), rows, WIDE,
                        constants=lambda kind: [np.array(1)])],
    "ReduceSum": [reduced(lambda v: v.sum(-1))], "ReduceProd": [reduced(lambda v: v.prod(-1))],
    "ReduceSumSquare": [reduced(lambda v: (v * v).sum(-1))], "ReduceMax": [reduced(lambda v: v.max(-1))],
    "ReduceMin": [reduced(lambda v: v.min(-1))], "ReduceL1": [reduced(lambda v: abs(v).sum(-1))],
    "ArgMax": [ends(np.argmax)], "ArgMin": [ends(np.argmin)],
    "TopK": [Integers(lambda x, _: top(x, -1), rows, ALL, constants=lambda kind: [np.array([5])]),
             Integers(lambda x, _: top(x, 1), rows, ALL, {"largest": 0}, lambda kind: [np.array([5])])],
    "Transpose": [Integers(np.transpose, rows)], "Trilu": [Integers(np.triu, rows)],
    "Concat": [Integers(lambda a, b: np.concatenate([a, b]), pairs, ALL, {"axis": 0})],
}
