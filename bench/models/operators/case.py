"""A row of the survey: one node, its operands, and the ONNX file that holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

MICROSOFT = "com.microsoft"
IR_VERSION = 10


@dataclass
class Operand:
    """Values made from a seed; a constant is part of the file, others are inputs of each run."""

    make: Callable[[np.random.Generator], np.ndarray]
    is_constant: bool = False

    def const(self) -> Operand:
        return Operand(self.make, True)


@dataclass
class Case:
    op: str
    label: str
    operands: list[Operand | None]
    attributes: dict[str, object] = field(default_factory=dict)
    domain: str = ""
    outputs: tuple[bool, ...] = (True,)  # False: a node's output that the file leaves out
    opset: int = 20
    tolerance: float = 2e-3  # rounding of long sums differs; integers and copies agree exactly

    def name(self) -> str:
        return f"{self.op} {self.label}"

    def values(self) -> list[np.ndarray | None]:
        rng = np.random.default_rng(1)
        return [operand and operand.make(rng) for operand in self.operands]

    def feeds(self) -> dict[str, np.ndarray]:
        return {f"x{i}": value for i, (operand, value) in enumerate(zip(self.operands, self.values()))
                if operand is not None and not operand.is_constant}

    def write(self, path: Path, is_symbolic: bool) -> None:
        """Symbolic: no input has a fixed dimension, and all that are equal have one name."""
        names, inputs, constants = [], [], []
        for i, (operand, value) in enumerate(zip(self.operands, self.values())):
            names.append("" if operand is None else f"x{i}")
            if operand is None:
                continue
            if operand.is_constant:
                constants.append(numpy_helper.from_array(value, f"x{i}"))
                continue
            shape = [f"d{dim}" if is_symbolic and dim > 1 else dim for dim in value.shape]
            inputs.append(helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(value.dtype), shape))
        outputs = [f"y{i}" if is_kept else "" for i, is_kept in enumerate(self.outputs)]
        node = helper.make_node(self.op, names, outputs, domain=self.domain, **self.attributes)
        infos = [onnx.ValueInfoProto(name=name) for name in outputs if name]
        imports = [helper.make_opsetid("", self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, 1))
        graph = helper.make_graph([node], "operator", inputs, infos, constants)
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION), path)


def floats(*shape: int, dtype: str = "float32", low: float = -1, high: float = 1) -> Operand:
    return Operand(lambda rng: rng.uniform(low, high, shape).astype(dtype))


def integers(*shape: int, dtype: str = "int64", low: int = 0, high: int = 100) -> Operand:
    return Operand(lambda rng: rng.integers(low, high, shape).astype(dtype))


def booleans(*shape: int) -> Operand:
    return Operand(lambda rng: rng.random(shape) < 0.5)


def exactly(values: object, dtype: str = "int64") -> Operand:
    return Operand(lambda _: np.array(values, dtype), True)


def weights(*shape: int, dtype: str = "float32", low: float = -0.1, high: float = 0.1) -> Operand:
    return floats(*shape, dtype=dtype, low=low, high=high).const()
