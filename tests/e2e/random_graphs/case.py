"""A random graph under construction. The case evaluates each node when it adds the node, so recipes
choose the next node by actual shapes and numbers."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import onnx
from onnx import helper

from random_graphs import evaluate, tolerance
from random_graphs.evaluate import Refused
from random_graphs.values import (ALL, F32, I64, NUMBERS, STRING, Shape, a_shape,
                                  broadcastable, choose_type, exists, numbers, types_of_input)

T = TypeVar("T")
LARGEST = 40_000  # elements of a value
MOVERS = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather",
          "GatherElements", "GatherND", "Concat", "Split", "Expand", "Tile", "Pad", "Dropout",
          "DepthToSpace", "SpaceToDepth", "ReverseSequence", "Trilu", "Compress", "Where"}
ADDERS = {"MatMul", "Gemm", "Conv", "ConvTranspose", "DeformConv", "Einsum", "ReduceSum", "CumSum",
          "ReduceMean", "GlobalAveragePool", "DFT", "STFT", "Det", "LSTM", "GRU", "RNN", "Sum",
          "ReduceLogSum", "ReduceLogSumExp", "Attention", "LayerNormalization", "Resize", "Sub",
          "Add", "AveragePool", "Col2Im", "GridSample", "BatchNormalization", "Mean",
          "InstanceNormalization", "GroupNormalization", "RoiAlign", "MeanVarianceNormalization",
          "HannWindow", "HammingWindow", "BlackmanWindow"}
SPECTRA = {"DFT", "STFT"}  # onnxruntime adds their many terms one by one
UNDERFLOWERS = {"Mul", "Div", "Pow", "Exp", "Reciprocal", "ReduceProd", "CumProd", "Sigmoid",
                "Softmax", "Softplus"}
WINDOWS = {"HannWindow", "HammingWindow", "BlackmanWindow"}  # sums of terms near one, whose last sum is near zero
CANCELLERS = {"Gelu"}  # what is left of 1 + tanh(x) below -4 differs by runtime, in any type
ROUNDERS = {"QLinearMatMul", "QLinearConv"}  # each runtime multiplies their scales in its own order


@dataclass(frozen=True)
class Value:
    """`twins` are what the value becomes under noise of one sign and of the other."""

    name: str
    data: np.ndarray
    twins: tuple[np.ndarray, np.ndarray]

    @property
    def shape(self) -> Shape:
        return self.data.shape

    @property
    def rank(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype


@dataclass
class Fragment:
    """Nodes that are evaluated together."""

    nodes: list[onnx.NodeProto]
    inputs: list[str]
    outputs: list[str]
    run: evaluate.Run


def disturbed(kinds: set[str], noisy: list[np.ndarray], results: list[np.ndarray],
              signs: list[np.ndarray]) -> list[np.ndarray]:
    """Moves `results` of operators of these kinds by the noise of their types, outward of `noisy`. `signs`: directions."""
    if kinds <= MOVERS:
        return noisy
    of_largest = 1.0 if kinds & SPECTRA else 0.1 if kinds & ADDERS else 0.0
    vanishing = tolerance.FLOATS if kinds & CANCELLERS else {np.dtype(np.float16)} if kinds & UNDERFLOWERS else set()
    made = []
    for twin, clean, sign in zip(noisy, results, signs):
        twin = tolerance.underflowed(twin, sign, vanishing)
        twin = tolerance.disturb(twin, tolerance.outward(twin, clean, sign), of_largest, 1.0 if kinds & WINDOWS else 0.0)
        made.append(tolerance.flushed(twin) if sign.size and sign.flat[0] < 0 else twin)
    return made


class Case:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.opset = int(self.rng.choice([*range(8, 29), 13, 17, 18, 20, 21, 22, 23, 24]))
        self.is_dynamic = self.chance(0.35)
        self.favourite = choose_type(self.rng, ALL)
        self.fragments: list[Fragment] = []
        self.values: list[Value] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.types = ALL  # element types of new values, unless a recipe chooses them
        self.depth = 0  # number of enclosing bodies
        self._count = itertools.count(1)

    def inside(self, formals: Sequence[Value]) -> Case:
        """A body within this graph: it reads the values around it, and its own inputs."""
        body = copy.copy(self)
        body.fragments, body.feeds, body.weights = [], {}, {}
        body.values = [*self.values, *formals]
        body.depth += 1
        return body

    # Choices.

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def between(self, low: int, high: int) -> int:
        """Inclusive at both ends."""
        return int(self.rng.integers(low, high + 1))

    def require(self, condition: bool) -> None:
        if not condition:
            raise Refused

    def since(self, opset: int) -> bool:
        return self.opset >= opset

    # Values without a node.

    def given(self, data: np.ndarray, constant: float = 0.5) -> Value:
        """A weight with probability `constant`, else an input of the graph."""
        data = np.asarray(data)
        kept = self.weights if self.chance(constant) else self.feeds
        name = self.fresh("w" if kept is self.weights else "x")
        kept[name] = data
        value = Value(name, data, (data, data))
        self.values.append(value)
        return value

    def ints(self, values: Sequence[int] | int, dtype: np.dtype = I64) -> Value:
        """Shapes, axes, indices: mostly weights, as exporters write them."""
        return self.given(np.array(values, dtype), constant=0.85)

    def scalar(self, value: float, dtype: np.dtype = F32) -> Value:
        return self.given(np.array(value).astype(dtype), constant=0.9)

    def new(self, dtype: np.dtype, shape: Shape, constant: float = 0.4) -> Value:
        return self.given(numbers(self.rng, dtype, shape), constant)

    # Values to go on from.

    def value(self, types: Sequence[np.dtype] | None = None, ranks: tuple[int, int] = (0, 6),
              where: Callable[[Value], bool] = lambda value: True) -> Value:
        """An existing value, the latest most likely; a new value if none fits."""
        types = self.types if types is None else types
        fits = [item for item in self.values
                if item.dtype in types and ranks[0] <= item.rank <= ranks[1] and where(item)]
        if not fits or self.chance(0.08):
            dtype = self.favourite if self.favourite in types and self.chance(
                0.7) else choose_type(self.rng, tuple(types))
            fresh = self.new(dtype, a_shape(self.rng, ranks[0], min(5, ranks[1])), 0.15)
            self.require(where(fresh))
            return fresh
        return fits[-1] if self.chance(0.6) else self.pick(fits)

    def value_for(self, kind: str, index: int = 0, types: Sequence[np.dtype] | None = None,
                  **wanted: object) -> Value:
        """A value of a type that input `index` of the operator accepts."""
        self.require(exists(kind, self.opset))
        types = self.types if types is None else types
        allowed = types_of_input(kind, self.opset, index)
        both = tuple(dtype for dtype in types if dtype in allowed)
        self.require(bool(both))
        return self.value(both, **wanted)  # type: ignore[arg-type]

    def partner(self, value: Value) -> Value:
        """A value of the same type, broadcastable with `value`."""

        def fits(other: Value) -> bool:
            try:
                shape = np.broadcast_shapes(value.shape, other.shape)
            except ValueError:
                return False
            return other.dtype == value.dtype and np.prod(shape) <= LARGEST

        fitting = [item for item in self.values if fits(item)]
        if fitting and self.chance(0.6):
            return self.pick(fitting)
        return self.new(value.dtype, broadcastable(self.rng, value.shape))

    # Nodes.

    def op(self, kind: str, *inputs: Value | None, **attributes: object) -> Value:
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def ops(self, kind: str, *inputs: Value | None, outputs: int, **attributes: object
            ) -> list[Value]:
        """A node with several outputs. Inputs and attributes that are None are omitted."""
        self.require(exists(kind, self.opset))
        names = ["" if item is None else item.name for item in inputs]
        results = [self.fresh(kind.lower()) for _ in range(outputs)]
        node = helper.make_node(kind, names, results,
                                **{k: v for k, v in attributes.items() if v is not None})
        return self.fragment([node], [item for item in inputs if item is not None], results)

    def fragment(self, nodes: list[onnx.NodeProto], inputs: Sequence[Value],
                 outputs: list[str], only_onnxruntime: bool = False) -> list[Value]:
        """Adds nodes that are evaluated together; their intermediate values stay unknown."""
        given = {item.name: item.data for item in inputs}
        run, results = evaluate.runner(nodes, given, outputs, self.opset,
                                       only_onnxruntime or self.depth > 0)
        for result in results:
            self._require_tame(result)
        made = self._with_twins(nodes, dict((v.name, v) for v in inputs), outputs, run, results)
        self.fragments.append(Fragment(nodes, list(given), outputs, run))
        self.values += made
        return made

    def _require_tame(self, data: np.ndarray) -> None:
        self.require(data.size <= LARGEST)
        self.require(data.dtype in ALL or data.dtype == STRING)
        if data.dtype in NUMBERS and data.size:
            wide = data.astype(np.float64)
            limit = 300 if data.dtype.itemsize < 4 and tolerance.is_float(data.dtype) else 1e4
            may_overflow = data.dtype != np.float16  # runtimes keep f32's range between operations
            self.require(bool(np.isfinite(wide).all()) or (may_overflow and self.chance(0.05)))
            self.require(bool((np.abs(wide[np.isfinite(wide)]) <= limit).all())
                         or self.chance(0.02))

    def _with_twins(self, nodes: list[onnx.NodeProto], inputs: dict[str, Value],
                    outputs: list[str], run: evaluate.Run, results: list[np.ndarray]
                    ) -> list[Value]:
        kinds = {node.op_type for node in evaluate.walk(nodes)}
        floats = [v.dtype for v in inputs.values()] + [r.dtype for r in results]
        if not any(map(tolerance.is_float, floats)):
            return [Value(n, r, (r, r)) for n, r in zip(outputs, results)]
        # Signs of many sizes: noise of one size would leave equal elements equal.
        signs = [self.rng.choice([-1.0, 1.0], r.shape) * self.rng.uniform(0.25, 1, r.shape)
                 for r in results]
        twins = []
        for side, sign in enumerate((1, -1)):
            given = [item.twins[side] for item in inputs.values()]
            if kinds & ROUNDERS:
                given = [tolerance.disturb(twin, np.full(twin.shape, sign), 0.0) for twin in given]
            noisy = run(given)
            for clean, twin in zip(results, noisy):
                self.require(tolerance.agree(np.asarray(twin), clean, share=0.5))
            twins.append(disturbed(kinds, noisy, results, [sign * s for s in signs]))
        return [Value(n, r, (a, b)) for n, r, a, b in zip(outputs, results, *twins)]

    def moved_by_noise(self, tries: int = 64) -> set[str]:
        """The values that change by more than half the tolerance under some noise. A graph is made with two noises, which
        may both miss a tie: who finds a difference asks with more."""
        clean = {value.name: value.data for value in self.values}
        moved: set[str] = set()
        for attempt in range(tries):
            rng = np.random.default_rng(attempt)
            noisy = {**self.weights, **self.feeds}
            for item in self.fragments:
                kinds = {node.op_type for node in evaluate.walk(item.nodes)}
                known = [clean[name] for name in item.outputs]
                given = [noisy[name] for name in item.inputs]
                if len(list(evaluate.walk(item.nodes))) > len(item.nodes):  # a body has noise of its own
                    given = [tolerance.disturb(array, rng.choice([-1.0, 1.0], array.shape), 0.0) for array in given]
                try:
                    results = [np.asarray(result) for result in item.run(given)]
                except Exception:  # any exception: noise made the inputs invalid, and what follows is not known
                    results = known
                    moved.update(item.outputs)
                moved.update(name for name, result, data in zip(item.outputs, results, known)
                             if not tolerance.agree(result, data, share=0.5))
                signs = [rng.choice([-1.0, 1.0], r.shape) * rng.uniform(0.25, 1, r.shape) for r in results]
                noisy.update(zip(item.outputs, disturbed(kinds, results, known, signs)))
        return moved

    def attempt(self, recipe: Callable[[Case], object]) -> bool:
        """Lets `recipe` add nodes; removes all of these if one is refused."""
        before = (len(self.fragments), len(self.values), dict(self.feeds), dict(self.weights))
        try:
            recipe(self)
        except Refused:
            del self.fragments[before[0] :]
            del self.values[before[1] :]
            self.feeds, self.weights = before[2], before[3]
            return False
        return True

    def fresh(self, stem: str) -> str:
        return f"{stem}_{next(self._count)}"
