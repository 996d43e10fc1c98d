"""Sequences and optionals: built, modified and decomposed by nodes that are evaluated together.

The reference evaluator loses axes of size 1, and types that numpy lacks: it is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper

from random_graphs.bodies import unique
from random_graphs.case import Case, Value
from random_graphs.evaluate import element_type
from random_graphs.values import FLOATS, I32, I64, Shape


@dataclass
class Chain:
    """Nodes that work on one sequence, and the shapes of its items."""

    case: Case
    dtype: np.dtype
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    name: str = ""

    def add(self, kind: str, inputs: list[str], **attributes: object) -> str:
        output = self.case.fresh(kind.lower())
        self.nodes.append(helper.make_node(kind, inputs, [output], **{
            name: value for name, value in attributes.items() if value is not None}))
        return output

    def item(self) -> Value:
        value = self.case.value((self.dtype,), ranks=(0, 4))
        self.inputs.append(value)
        return value

    def position(self, size: int) -> list[str]:
        """No position, or a position from -size to size - 1."""
        if size == 0 or self.case.chance(0.3):
            return []
        at = self.case.ints(self.case.between(-size, size - 1), self.case.pick([I32, I64]))
        self.inputs.append(at)
        return [at.name]

    def insert(self) -> None:
        value, size = self.item(), len(self.shapes)
        position = self.position(size)
        self.name = self.add("SequenceInsert", [self.name, value.name, *position])
        at = int(self.inputs[-1].data) if position else size
        self.shapes.insert(at % size if at < 0 else at, value.shape)

    def erase(self) -> None:
        if not self.shapes:
            return
        position = self.position(len(self.shapes))
        self.name = self.add("SequenceErase", [self.name, *position])
        del self.shapes[int(self.inputs[-1].data) if position else -1]

    def take(self) -> str:
        self.case.require(bool(self.shapes))
        at = self.case.ints(self.case.between(-len(self.shapes), len(self.shapes) - 1))
        self.inputs.append(at)
        return self.add("SequenceAt", [self.name, at.name])

    def join(self) -> str:
        rank = len(self.shapes[0]) if self.shapes else 0
        axis = self.case.between(0, max(0, rank - 1))

        def is_alike(shape: Shape) -> bool:
            return len(shape) == rank and all(
                a == b for k, (a, b) in enumerate(zip(shape, self.shapes[0])) if k != axis)

        self.case.require(rank > 0 and all(map(is_alike, self.shapes)))
        stack = 1 if len(set(self.shapes)) == 1 and self.case.chance(0.4) else None
        return self.add("ConcatFromSequence", [self.name], axis=axis, new_axis=stack)

    def end(self) -> list[Value]:
        """Ends the chain with one item, all items joined, or the number of items."""
        outputs = [self.add("SequenceLength", [self.name])] if self.case.chance(0.4) else []
        self.case.require(bool(self.shapes or outputs))
        if self.shapes:
            outputs.append(self.join() if self.case.chance(0.5) else self.take())
        return self.case.fragment(self.nodes, unique(self.inputs), outputs, only_onnxruntime=True)


def start(case: Case, types: Sequence[np.dtype] | None = None) -> Chain:
    chain = Chain(case, case.value(types, ranks=(0, 4)).dtype)
    if case.chance(0.15):
        chain.name = chain.add("SequenceEmpty", [], dtype=element_type(np.empty(0, chain.dtype)))
        return chain
    items = [chain.item() for _ in range(case.between(1, 3))]
    chain.name = chain.add("SequenceConstruct", [value.name for value in items])
    chain.shapes = [value.shape for value in items]
    return chain


def change(chain: Chain) -> Chain:
    for _ in range(chain.case.between(0, 3)):
        chain.insert() if chain.case.chance(0.65) else chain.erase()
    return chain


def changed(case: Case) -> list[Value]:
    case.require(case.since(11))
    return change(start(case)).end()


def split(case: Case) -> list[Value]:
    """Into ones, into equal parts with a rest, or into parts of given sizes."""
    case.require(case.since(11))
    x = case.value(ranks=(1, 4), where=lambda v: 0 < v.data.size)
    axis = case.between(0, x.rank - 1)
    size = x.shape[axis]
    chain = Chain(case, x.dtype, inputs=[x])
    told, keep = [], case.pick([None, 1, 0])
    sizes = [1] * size
    if case.chance(0.6):
        keep = None
        cut = case.between(0, size) if case.chance(0.5) else None
        step = case.between(1, size)
        sizes = [cut, size - cut] if cut is not None else [
            min(step, size - at) for at in range(0, size, step)]
        told = [case.ints(sizes if cut is not None else step, case.pick([I32, I64]))]
        chain.inputs += told
    chain.name = chain.add("SplitToSequence", [x.name, *(value.name for value in told)],
                           axis=axis - (x.rank if case.chance(0.3) else 0), keepdims=keep)
    rest = x.shape[axis + 1 :]
    chain.shapes = [x.shape[:axis] + (() if keep == 0 else (part,)) + rest for part in sizes]
    return change(chain).end()


def carried(case: Case) -> list[Value]:
    """A loop that adds to a sequence, and reads what it added."""
    case.require(case.since(13))
    chain = start(case, FLOATS)
    case.require(bool(chain.shapes))
    scale = case.scalar(0.5, chain.dtype)
    trip = case.ints(case.between(0, 3))
    chain.inputs += [scale, trip]
    seq_in, seq_out, last, half, number, on, still, minus = (case.fresh("seq") for _ in range(8))
    kind = element_type(np.empty(0, chain.dtype))
    body = helper.make_graph(
        [helper.make_node("Identity", [on], [still]),
         helper.make_node("Constant", [], [minus], value_int=-1),
         helper.make_node("SequenceAt", [seq_in, minus], [last]),
         helper.make_node("Mul", [last, scale.name], [half]),
         helper.make_node("SequenceInsert", [seq_in, half], [seq_out])],
        case.fresh("adds"),
        [helper.make_tensor_value_info(number, onnx.TensorProto.INT64, []),
         helper.make_tensor_value_info(on, onnx.TensorProto.BOOL, []),
         helper.make_tensor_sequence_value_info(seq_in, kind, None)],
        [helper.make_tensor_value_info(still, onnx.TensorProto.BOOL, []),
         helper.make_tensor_sequence_value_info(seq_out, kind, None)])
    chain.name = chain.add("Loop", [trip.name, "", chain.name], body=body)
    chain.shapes += [chain.shapes[-1]] * int(trip.data)
    return change(chain).end()


def mapped(case: Case) -> list[Value]:
    """SequenceMap with a tensor that all iterations read."""
    case.require(case.since(17))
    chain = start(case, FLOATS)
    each, offset, shifted, done = (case.fresh("each") for _ in range(4))
    by = case.scalar(0.75, chain.dtype)
    chain.inputs.append(by)
    kind = element_type(np.empty(0, chain.dtype))
    body = helper.make_graph(
        [helper.make_node("Add", [each, offset], [shifted]),
         helper.make_node("Tanh", [shifted], [done])], case.fresh("mapping"),
        [helper.make_tensor_value_info(each, kind, None),
         helper.make_tensor_value_info(offset, kind, None)],
        [helper.make_tensor_value_info(done, kind, None)])
    chain.name = chain.add("SequenceMap", [chain.name, by.name], body=body)
    return change(chain).end()


def optional(case: Case) -> list[Value]:
    """An optional with an element, or an empty one that is only tested for emptiness."""
    case.require(case.since(15))
    x = case.value(ranks=(0, 4))
    chain = Chain(case, x.dtype, inputs=[x])
    held = chain.add("Optional", [x.name])
    outputs = [chain.add("OptionalGetElement", [held])]
    if case.chance(0.5):
        outputs.append(chain.add("OptionalHasElement", [held]))
    return case.fragment(chain.nodes, [x], outputs, only_onnxruntime=True)


RECIPES = [changed, changed, split, split, carried, mapped, optional]
