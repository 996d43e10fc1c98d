"""What a line of the table is made of, and the cases that it becomes: models with inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edges import values
from operator_coverage.recipe import Recipe

Function = Callable[..., object]
ALL = ("f32", "f64", "f16", "bf16")


@dataclass
class Case:
    model: onnx.ModelProto
    inputs: list[np.ndarray]
    outputs: list[np.ndarray] | None  # None: the backends must agree


@dataclass(frozen=True)
class Told:
    """Inputs, and a function that says the outputs in f64 by the text of the standard."""

    want: Function
    inputs: str = "flat"  # "flat", "pairs", "rows", "images": see `arrays`
    attributes: dict = field(default_factory=dict)
    constants: tuple = ()  # further inputs, as the type's numbers; int arrays stay
    result: object = None  # NumPy's type of the outputs, where it is another one
    types: tuple[str, ...] = ALL

    def cases(self, operator: str, _recipes: list[Recipe]) -> Iterator[tuple[str, Case]]:
        for kind, name in [(k, n) for n in names_of(self.inputs) for k in self.types]:
            dtype = values.TYPES[kind][1]
            arrays = [*arrays_of(self.inputs, kind, name),
                      *(c if c.dtype.kind == "i" else c.astype(dtype) for c in map(np.asarray, self.constants))]
            with np.errstate(all="ignore"):
                told = self.want(*(a if a.dtype.kind == "i" else values.exact(a) for a in arrays))
                outputs = [np.asarray(t) for t in (told if isinstance(told, tuple) else (told,))]
                outputs = [o if o.dtype.kind in "ib" else o.astype(self.result or dtype) for o in outputs]
            count = len(arrays) - len(self.constants)
            yield kind + name, Case(model_of(operator, self.attributes, arrays, outputs, count), arrays[:count], outputs)


@dataclass(frozen=True)
class Recipes:
    """The onnx package's own cases with edges among their floats."""

    is_moved: bool = False  # elements are moved alone: onnx's evaluator says where to
    reason: str = ""  # why no text says the results; the backends must agree
    most: int = 3  # recipes of the operator

    def cases(self, operator: str, recipes: list[Recipe]) -> Iterator[tuple[str, Case]]:
        usable = [r for r in recipes if any(is_float(v) for v in r.values.values())]
        for number, recipe in enumerate(usable[:self.most]):
            for name, edge in (("nan", values.NAN), ("inf", values.INF), ("ninf", -values.INF), ("big", 1e15)):
                changed = recipe.copy()
                for key, value in changed.values.items():
                    if is_float(value) and value.size > 1:
                        changed.values[key] = with_edge(value, edge)
                model = changed.model(onnx.defs.onnx_opset_version())
                inputs = [changed.values[i.name] for i in model.graph.input]
                yield f"{number}-{name}", Case(model, inputs, moved(model, inputs) if self.is_moved else None)


@dataclass(frozen=True)
class Exempt:
    """No case, for this reason."""

    reason: str

    def cases(self, _operator: str, _recipes: list[Recipe]) -> Iterator[tuple[str, Case]]:
        return iter(())


def is_float(array: np.ndarray) -> bool:
    return array.dtype in (np.float32, np.float64, np.float16)


def with_edge(array: np.ndarray, edge: float) -> np.ndarray:
    """The edge at the beginning and in the middle."""
    changed = np.array(array)
    with np.errstate(all="ignore"):
        changed.reshape(-1)[[0, changed.size // 2]] = np.array(edge).astype(array.dtype)
    return changed


def moved(model: onnx.ModelProto, inputs: list[np.ndarray]) -> list[np.ndarray]:
    from onnx.reference import ReferenceEvaluator
    names = [i.name for i in model.graph.input]
    return [np.asarray(o) for o in ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))]


TINY = "-tiny"  # cases with subnormal numbers


def names_of(shape: str) -> tuple[str, ...]:
    return ("", TINY) if shape in ("flat", "pairs") else ("",)


def arrays_of(shape: str, kind: str, name: str) -> list[np.ndarray]:
    if shape == "flat":
        return [values.flat(kind, name == TINY)]
    if shape == "pairs":
        return list(values.pairs(kind, name == TINY))
    rows = values.rows(kind, is_level=shape in ("deviations", "images"))
    if shape == "columns":
        return [np.ascontiguousarray(rows.T)]
    if shape == "images":  # [1, rows, 6, 6]
        return [np.ascontiguousarray(rows[None, :, :36]).reshape(1, -1, 6, 6)]
    return [rows]


def model_of(operator: str, attributes: dict, arrays: list[np.ndarray], outputs: list[np.ndarray],
             num_inputs: int) -> onnx.ModelProto:
    """The first arrays are inputs, the others initializers."""
    names = [f"x{i}" for i in range(len(arrays))]
    results = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(operator, names, results, **attributes)

    def infos(keys: list[str], tensors: list[np.ndarray]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(t.dtype), t.shape)
                for k, t in zip(keys, tensors)]

    graph = helper.make_graph(
        [node], "edges", infos(names[:num_inputs], arrays), infos(results, outputs),
        [numpy_helper.from_array(a, n) for n, a in list(zip(names, arrays))[num_inputs:]])
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid("", onnx.defs.onnx_opset_version())])
