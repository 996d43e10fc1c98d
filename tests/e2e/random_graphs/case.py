"""A small random graph under construction, with the shape of every value known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from graph_writer import GraphWriter

T = TypeVar("T")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    name: str
    shape: Shape


class Case:
    """Wraps a GraphWriter; inputs are made and remembered as they are asked for."""

    def __init__(self, name: str, seed: int) -> None:
        self.writer = GraphWriter(name, seed)
        self.rng = self.writer.rng
        self.feeds: dict[str, np.ndarray] = {}
        self._is_symbolic = False

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def between(self, low: int, high: int) -> int:
        """Inclusive at both ends."""
        return int(self.rng.integers(low, high + 1))

    def input(self, shape: Shape, symbols: dict[int, str] | None = None) -> Value:
        """`symbols` names the dimensions that the model leaves open."""
        name = f"x{len(self.feeds)}"
        symbols = symbols or {}
        self._is_symbolic |= bool(symbols)
        self.writer.input(name, [symbols.get(k, size) for k, size in enumerate(shape)])
        self.feeds[name] = self.rng.standard_normal(shape, dtype=np.float32)
        return Value(name, shape)

    def weight(self, shape: Shape, std: float | None = None, mean: float = 0.0) -> str:
        """Normal values; scaled to keep a product over all but the first dimension near one."""
        if std is None:
            std = math.sqrt(1 / max(1, math.prod(shape[1:])))
        return self.writer.normal(f"w{self.rng.integers(1 << 40)}", shape, std, mean)

    def positive_weight(self, shape: Shape) -> str:
        return self.writer.uniform(f"w{self.rng.integers(1 << 40)}", shape, 0.5, 1.5)

    def ints(self, values: Sequence[int] | int) -> str:
        return self.writer.constant(values, "int64")

    def float(self, value: float) -> str:
        return self.writer.constant(value, "float32")

    def op(self, kind: str, shape: Shape, *inputs: Value | str, **attributes: object) -> Value:
        names = [item.name if isinstance(item, Value) else item for item in inputs]
        return Value(self.writer.op(kind, *names, **attributes), tuple(shape))

    def output(self, value: Value) -> None:
        """Makes `value` an output, through an Identity so that it may be an input or one twice."""
        count = len(self.writer.model().graph.output)
        self.writer.op("Identity", value.name, name=f"y{count}")
        self.writer.output(f"y{count}", None if self._is_symbolic else value.shape)

    def activation(self, x: Value) -> Value:
        kind = self.pick(["Relu", "Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish",
                          "HardSigmoid", "Elu", "Softplus", "SiLU", "GELU"])
        if kind == "Clip":
            return self.op("Clip", x.shape, x, self.float(-0.5), self.float(0.75))
        if kind == "SiLU":
            return self.op("Mul", x.shape, x, self.op("Sigmoid", x.shape, x))
        if kind == "GELU":
            erf = self.op("Erf", x.shape, self.op("Div", x.shape, x, self.float(math.sqrt(2))))
            gate = self.op("Add", x.shape, erf, self.float(1.0))
            return self.op("Mul", x.shape, self.op("Mul", x.shape, x, gate), self.float(0.5))
        return self.op(kind, x.shape, x)
