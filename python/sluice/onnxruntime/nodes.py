"""Inputs and outputs as onnxruntime names their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..dtypes import BY_NUMBER, element_type_within
from ..signature import TensorSpec
from .facts import Dimension
from .maps import Keys

_WHOLE_NAMES = {"f32": "float", "f64": "double"}
_KINDS = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "c": "complex"}


def type_name(element_type: int) -> str:
    """onnxruntime's text: "tensor(float)", "tensor(uint8)", "tensor(float8e5m2)"."""
    name = BY_NUMBER[element_type].name
    parts = re.match(r"(bf|[fiuc])(\d.*)", name)
    return f"tensor({_WHOLE_NAMES.get(name) or (_KINDS[parts[1]] + parts[2] if parts else name)})"


def _type_text(spec: TensorSpec) -> str:
    """The same of sequences and optionals: "seq(tensor(int64))"."""
    if spec.is_tensor:
        return type_name(spec.element_type)
    kinds = spec.type.split("(")[:-1] if "[" in spec.type.rpartition("(")[2] else []
    text = type_name(element_type_within(spec.type))
    for kind in reversed(kinds):
        text = f"{kind}({text})"
    return text


class DimNames:
    """The free dimensions of a model as its file has them. A compiled model has symbols, and names all of them."""

    def __init__(self, inputs: Sequence[TensorSpec], input_dims: Mapping[str, Sequence[Dimension]],
                 output_dims: Mapping[str, Sequence[Dimension]]) -> None:
        self._declared = {**output_dims, **input_dims}
        self._names: dict[str, str] = {}  # by symbol
        for spec in inputs:
            for dim, symbol in zip(input_dims.get(spec.name, ()), _symbols(spec)):
                if isinstance(symbol, str) and dim.name:
                    self._names[symbol] = dim.name

    def shape(self, spec: TensorSpec) -> list[int | str | None]:
        """What the file declares of an axis, or what the compiler found for it, if that has a name in the file."""
        found = _symbols(spec)
        declared = self._declared.get(spec.name, ())
        if len(declared) != len(found):
            return [self._name_of(dim) for dim in found]
        return [dim if isinstance(dim, int) else known.size if known.size is not None else known.name or self._name_of(dim)
                for dim, known in zip(found, declared)]

    def _name_of(self, dim: int | str | None) -> int | str | None:
        return self._names.get(dim) if isinstance(dim, str) else dim


class NodeArg:
    """An input or output: `shape` has numbers, names of free dimensions, or None."""

    def __init__(self, spec: TensorSpec, names: DimNames | None = None, keys: Keys | None = None) -> None:
        self.name = spec.name
        self.type = _type_text(spec) if keys is None else keys.type_name(_type_text(spec))
        self.shape = [] if keys is not None else _symbols(spec) if names is None else names.shape(spec)

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


def _symbols(spec: TensorSpec) -> list[int | str | None]:
    """Names of free dimensions come from the type's text: f32[N,3,?,224]."""
    if spec.shape is None:
        return []
    names = spec.type[spec.type.find("[") + 1 : spec.type.rfind("]")].split(",")
    if len(names) != len(spec.shape):
        names = ["?"] * len(spec.shape)
    return [
        dim if dim is not None else (None if name == "?" else name)
        for dim, name in zip(spec.shape, names)
    ]
