"""Bodies of control flow: nodes within a node, which read what is around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper

from random_graphs.case import Case, Value
from random_graphs.evaluate import element_type

Recipe = Callable[[Case], object]


def tensor_of(array: np.ndarray, name: str) -> onnx.TensorProto:
    if array.dtype == object:
        return helper.make_tensor(name, onnx.TensorProto.STRING, array.shape,
                                  [text.encode() for text in array.ravel()])
    return onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def typed(value: Value, has_shape: bool) -> onnx.ValueInfoProto:
    """The type of a body's input or output. A shape must hold in every iteration."""
    return helper.make_tensor_value_info(value.name, element_type(value.data),
                                         value.shape if has_shape else None)


@dataclass
class Body:
    """Under construction. `outer` is the graph, or the body, that the node will stand in."""

    outer: Case
    formals: list[Value] = field(default_factory=list)
    num_shaped: int = 0  # of the formals, the first ones, which say their shape

    def __post_init__(self) -> None:
        self.case = self.outer.inside(self.formals)

    @property
    def made(self) -> list[Value]:
        names = {name for fragment in self.case.fragments for name in fragment.outputs}
        return [value for value in self.case.values if value.name in names]

    def grow(self, recipes: Sequence[Recipe], count: int) -> None:
        for _ in range(3 * count + 3):
            if len(self.case.fragments) < count:
                self.case.attempt(self.case.pick(recipes))

    def result_like(self, value: Value, same_shape: float = 0.9) -> Value:
        """Something made here that has the element type of `value`, and mostly its shape."""
        strict = self.case.chance(same_shape)
        fits = [item for item in self.made if item.dtype == value.dtype
                and (item.shape == value.shape if strict else item.rank == value.rank)]
        if fits:
            return self.case.pick(fits)
        around = [item for item in self.case.values
                  if item.dtype == value.dtype and item.shape == value.shape]
        return self.case.op("Identity", self.case.pick(around) if around else
                            self.case.new(value.dtype, value.shape, 0.8))

    def close(self, name: str, results: Sequence[Value], num_shaped: int = 0
              ) -> tuple[onnx.GraphProto, list[Value]]:
        """The body as a graph, and the values around it that it reads. Weights are its own or
        those of the graph around it. The first `num_shaped` results say their shape."""
        read = {name for fragment in self.case.fragments for name in fragment.inputs}
        made = {value.name for value in [*self.made, *self.formals]}
        own, captures = [], []
        for value in self.case.values:
            if value.name not in read - made:
                continue
            if value.name in self.case.weights and self.case.chance(0.5):
                own.append(tensor_of(value.data, value.name))
                continue
            captures.append(value)
            self._hand_out(value)
        nodes = [node for fragment in self.case.fragments for node in fragment.nodes]
        graph = helper.make_graph(
            nodes, name, [typed(v, k < self.num_shaped) for k, v in enumerate(self.formals)],
            [typed(v, k < num_shaped) for k, v in enumerate(results)], own)
        return graph, captures

    def _hand_out(self, value: Value) -> None:
        """What was made up in here becomes a weight or an input of the graph around."""
        if value.name in self.case.weights:
            self.outer.weights[value.name] = value.data
        elif value.name in self.case.feeds:
            self.outer.feeds[value.name] = value.data
        else:
            return
        self.outer.values.append(value)


def unique(values: Sequence[Value]) -> list[Value]:
    return list({value.name: value for value in values}.values())
