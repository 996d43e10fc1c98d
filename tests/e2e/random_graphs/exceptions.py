"""Where onnxruntime is not asked, and why: the table.

What onnxruntime refuses by itself (a type without a kernel, a newer opset) needs no line here: the
reference evaluator of the onnx package is asked instead.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx


class Opinion(enum.Enum):
    ONNXRUNTIME = "onnxruntime"
    REFERENCE = "the reference of ONNX"
    NONE = "nobody"


@dataclass(frozen=True)
class Query:
    """A node, and what it is given."""

    node: onnx.NodeProto
    inputs: list[np.ndarray]
    opset: int

    def attribute(self, name: str, default: object = None) -> object:
        for attribute in self.node.attribute:
            if attribute.name == name:
                return onnx.helper.get_attribute_value(attribute)
        return default


@dataclass(frozen=True)
class Exception_:
    kinds: tuple[str, ...]
    applies: Callable[[Query], bool]
    ask: Opinion
    reason: str


def always(_: Query) -> bool:
    return True


def is_empty(query: Query) -> bool:
    return query.inputs[0].size == 0


def is_before(opset: int) -> Callable[[Query], bool]:
    return lambda query: query.opset < opset


REDUCTIONS = tuple(f"Reduce{name}" for name in (
    "Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "Prod", "LogSum", "LogSumExp"))

TABLE = [
    Exception_(REDUCTIONS, is_empty, Opinion.REFERENCE,
               "onnxruntime leaves 0 in place of a reduced dimension that was empty"),
    Exception_(("Hardmax",), lambda q: q.opset < 13 and q.inputs[0].dtype != np.float32,
               Opinion.NONE, "onnxruntime has f32 only, and the reference evaluator reduces one "
               "axis where the standard then joined all from there on"),
    Exception_(("Unique",), lambda q: q.attribute("sorted", 1) == 0
               and q.inputs[0].dtype not in (np.float32, np.float64, np.int64, np.int8),
               Opinion.NONE, "onnxruntime has few types, and the reference evaluator loses the "
               "axis when it need not sort"),
]


def opinion_on(nodes: Sequence[onnx.NodeProto], inputs: dict[str, np.ndarray],
               opset: int) -> Opinion:
    for node in nodes:
        known = [inputs[name] for name in node.input if name in inputs]
        query = Query(node, known, opset)
        for line in TABLE:
            if node.op_type in line.kinds and line.applies(query):
                return line.ask
    return Opinion.ONNXRUNTIME


# What Sluice refuses, and says so: part of its message, and the reason.
REFUSALS = {
    "is no tensor of known rank": "the number of dimensions is known in the run only",
}


def refusal(message: str) -> str:
    """The reason why nothing was compared; "" if the message is no such refusal."""
    return next((reason for part, reason in REFUSALS.items() if part in message), "")
