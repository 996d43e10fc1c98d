"""dynamic_shapes: which dimensions vary, in torch.export's form, flattened to the traced tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import torch

from ..errors import InvalidArgument
from ..tracing.size_buckets import Axes, dim_name


def flatten_shapes(args: tuple[Any, ...], names: Sequence[str], shapes: Any) -> list[Any] | None:
    """One entry per tensor of `args`. `shapes` is by parameter name or by position; a dimension is a
    torch.export.Dim, a name or None."""
    if shapes is None:
        return None
    if isinstance(shapes, Mapping):
        unknown = [name for name in shapes if name not in names]
        if unknown:
            raise InvalidArgument(f'dynamic_shapes names "{unknown[0]}"; the parameters are {list(names)}')
        by_position = [shapes.get(name) for name in names[:len(args)]]
        shapes = by_position + [None] * (len(args) - len(by_position))
    if len(shapes) != len(args):
        raise InvalidArgument(f"dynamic_shapes has {len(shapes)} entries for {len(args)} example inputs")
    return [entry for value, shape in zip(args, shapes) for entry in _walk(value, shape)]


def as_dims(entries: Sequence[Any], bounds: Mapping[str, tuple[int | None, int | None]]) -> tuple[Any, ...]:
    """Entries for torch.export: names become Dims, with the smallest and largest size of `bounds`."""
    dims: dict[str, Any] = {}

    def as_dim(dim: Any) -> Any:
        if not isinstance(dim, str):
            return dim
        low, high = bounds.get(dim, (None, None))
        return dims.setdefault(dim, torch.export.Dim(dim, min=low, max=high))

    return tuple(entry and {axis: as_dim(dim) for axis, dim in entry.items()} for entry in entries)


def suggested_bounds(text: str, entries: Sequence[Any]) -> dict[str, tuple[int | None, int | None]]:
    """Bounds that torch proposes in an error, for dimensions given by name: H = Dim('H', min=3)."""
    named = {dim for entry in entries for dim in (entry or {}).values() if isinstance(dim, str)}
    bounds: dict[str, tuple[int | None, int | None]] = {}
    for name, low, high in re.findall(r"(\w+) = Dim\('\w+'(?:, min=(\d+))?(?:, max=(\d+))?\)", text):
        if name in named and (low or high):
            bounds[name] = (int(low) if low else None, int(high) if high else None)
    return bounds


def _walk(value: Any, shape: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [_entry(value, shape)]
    if isinstance(value, Mapping):
        return [entry for key, item in value.items()
                for entry in _walk(item, None if shape is None else shape.get(key))]
    if isinstance(value, (tuple, list)):
        return [entry for i, item in enumerate(value)
                for entry in _walk(item, None if shape is None else shape[i])]
    return []


def _entry(tensor: torch.Tensor, shape: Any) -> dict[int, Any] | None:
    if not shape:
        return None
    pairs = shape.items() if isinstance(shape, Mapping) else enumerate(shape)
    entry: dict[int, Any] = {}
    for axis, dim in pairs:
        if not -tensor.dim() <= axis < tensor.dim():
            raise InvalidArgument(f"dynamic_shapes: a tensor of {tensor.dim()} dimensions has no dimension {axis}")
        if dim is None or isinstance(dim, int):
            continue
        if tensor.shape[axis] < 2:
            raise InvalidArgument(f"dynamic_shapes: dimension {axis} of an example is {tensor.shape[axis]}; torch "
                                  "takes 0 and 1 for fixed, so give an example of 2 or more")
        entry[axis % tensor.dim()] = dim
    return entry or None


def rename_symbols(model: onnx.ModelProto, inputs: Sequence[str], shapes: Sequence[Any] | None) -> None:
    """Gives the symbols of an exported model ("s77") the names of dynamic_shapes."""
    names: dict[str, str] = {}
    graph_inputs = {value.name: value for value in model.graph.input}
    for name, entry in zip(inputs, shapes or []):
        for axis, dim in (entry or {}).items():
            symbol = graph_inputs[name].type.tensor_type.shape.dim[axis].dim_param
            if symbol and (wanted := dim_name(dim)) is not None:
                names[symbol] = wanted
    if not names:
        return
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    graph = model.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = pattern.sub(lambda found: names[found[1]], dim.dim_param)


def check_kept(model: onnx.ModelProto, inputs: Sequence[str], shapes: Sequence[Any] | None) -> None:
    """Raises InvalidArgument if the exporter fixed a dimension that should vary."""
    graph_inputs = {value.name: value for value in model.graph.input}
    for name, entry in zip(inputs, shapes or []):
        for axis in entry or {}:
            dim = graph_inputs[name].type.tensor_type.shape.dim[axis]
            if not dim.dim_param:
                raise InvalidArgument(f'dynamic_shapes: dimension {axis} of "{name}" became {dim.dim_value}: the '
                                      "model works for this size only")


def dynamic_axes(names: Sequence[str], shapes: Sequence[Any] | None) -> dict[str, dict[int, str]]:
    """The form of the TorchScript exporter."""
    return {name: {axis: dim_name(dim) or f"{name}_{axis}" for axis, dim in entry.items()}
            for name, entry in zip(names, shapes or []) if entry}


def resized(tensors: Sequence[torch.Tensor], axes: Axes, sizes: Mapping[str, int]) -> list[torch.Tensor]:
    """Examples of other sizes: elements repeat or are left out."""
    result = []
    for tensor, entry in zip(tensors, axes):
        for axis, name in entry:
            tensor = tensor.index_select(axis, torch.arange(sizes[name]) % tensor.shape[axis])
        result.append(tensor)
    return result
