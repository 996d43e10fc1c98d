"""Weights apart: a package that keeps the names of its weights, and sluice.torch.replace_weights.

Such a package carries its ONNX graph without weights. Replacement fills the graph and compiles it again, so what the
compiler computes from weights alone (folded normalisation, packed matrices, rounding to bf16) is computed anew, and
runs are as fast as with inlined weights.
"""

from __future__ import annotations

import base64
import json
import pathlib
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import torch
from torch import nn

from .. import arrays, dtypes
from ..errors import FailedPrecondition, InvalidArgument
from . import record
from .compiling import compile_model
from .functional import Call
from .placement import placed_like
from .traced import TracedModel

KEY = "sluice.torch.weights"
_PREFIX = "model."  # of names in the module that is exported


def keep_apart(model: onnx.ModelProto, call: Call, options: Sequence[str]) -> None:
    """Gives the model's weights the names of the state dict, and the model a record to replace them by."""
    state = call.module.state_dict(keep_vars=True)
    known = {tensor.data_ptr(): name for name, tensor in state.items() if tensor.numel() > 0}
    by_name = {tensor.name: tensor for tensor in model.graph.initializer}
    weights = {}
    for name, tensor in by_name.items():
        original = name.removeprefix(_PREFIX)
        if name != original and original in state:
            weights[original] = [tensor.data_type, list(tensor.dims), name]
    tied = {name: known[tensor.data_ptr()] for name, tensor in state.items()
            if name not in weights and known.get(tensor.data_ptr(), name) in weights}
    graph = _without_data(model, {entry[2] for entry in weights.values()})
    record.write(model, KEY, json.dumps({
        "weights": weights, "tied": tied, "unused": sorted(set(state) - set(weights) - set(tied)),
        "options": list(options), "graph": base64.b64encode(zlib.compress(graph.SerializeToString())).decode()}))


def _without_data(model: onnx.ModelProto, names: set[str]) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    for field, value in model.ListFields():
        if field.name != "graph":
            part = onnx.ModelProto(**{field.name: value})
            copy.MergeFrom(part)
    for field, value in model.graph.ListFields():
        if field.name != "initializer":
            copy.graph.MergeFrom(onnx.GraphProto(**{field.name: value}))
    for node in copy.graph.node:
        del node.metadata_props[:]
    for tensor in model.graph.initializer:
        kept = copy.graph.initializer.add()
        if tensor.name in names:
            kept.name, kept.data_type = tensor.name, tensor.data_type
            kept.dims.extend(tensor.dims)
        else:
            kept.CopyFrom(tensor)
    return copy


def replace_weights(traced: TracedModel, weights: nn.Module | Mapping[str, torch.Tensor] | str | pathlib.Path) -> None:
    """Replaces all weights of a model traced with inline_weights=False.

    `weights`: a module, its state dict, or a path of a .safetensors file with the traced module's names. Calls
    under way finish with the old weights and later ones see the new; none sees a mixture. States keep their
    values. Sessions made before keep the old weights.
    Raises InvalidArgument naming every weight that is missing, unknown or of another shape or type;
    FailedPrecondition if the weights are inlined.
    """
    text = traced.metadata.get("metadata." + KEY)
    if text is None:
        raise FailedPrecondition("the package has its weights inlined; trace with inline_weights=False to replace them")
    kept = json.loads(text)
    given = _tensors_of(weights)
    _check(kept, given)
    model = onnx.ModelProto.FromString(zlib.decompress(base64.b64decode(kept["graph"])))
    by_name = {tensor.name: tensor for tensor in model.graph.initializer}
    for name, (_, _, initializer) in kept["weights"].items():
        by_name[initializer].raw_data = _raw(given[name])
    record.write(model, KEY, text)
    traced.replace(lambda old: placed_like(old, compile_model(model, kept["options"], None)))


def _tensors_of(weights: Any) -> Mapping[str, torch.Tensor]:
    if isinstance(weights, nn.Module):
        return weights.state_dict()
    if isinstance(weights, Mapping):
        return weights
    if isinstance(weights, (str, pathlib.Path)):
        from safetensors.torch import load_file  # a package of its own, needed for files only

        loaded: Mapping[str, torch.Tensor] = load_file(weights)
        return loaded
    raise TypeError(f"weights are a {type(weights).__name__}, not a module, a state dict or a path")


def _check(kept: Mapping[str, Any], given: Mapping[str, torch.Tensor]) -> None:
    expected: dict[str, list[Any]] = kept["weights"]
    problems = [f'"{name}" is missing' for name in expected if name not in given]
    allowed = {*expected, *kept["tied"], *kept["unused"]}
    problems += [f'"{name}" is no weight of the model' for name in given if name not in allowed]
    for name, (number, dims, _) in expected.items():
        if name not in given:
            continue
        want = f"{_dtype_name(number)}{dims}"
        got = f"{str(given[name].dtype).removeprefix('torch.')}{list(given[name].shape)}"
        if got != want:
            problems.append(f'"{name}" is {got}, the model takes {want}')
    for name, main in kept["tied"].items():
        if name in given and main in given and not torch.equal(given[name], given[main]):
            problems.append(f'"{name}" and "{main}" are one weight of the model, but differ')
    if problems:
        raise InvalidArgument("the weights do not fit: " + "; ".join(problems))


def _dtype_name(number: int) -> str:
    return dtypes.BY_NUMBER[number].numpy.lstrip(".")


def _raw(tensor: torch.Tensor) -> bytes:
    return arrays.from_torch(tensor.contiguous()).tobytes()
