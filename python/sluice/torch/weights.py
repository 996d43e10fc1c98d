"""Weights apart: a package that keeps the names of its weights, and sluice.torch.replace_weights.

Such a package carries its ONNX graph without weights. Replacement fills the graph and compiles it again, so what the
compiler computes from weights alone (folded normalisation, packed matrices, rounding to bf16) is computed anew, and
runs are as fast as with inlined weights.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import torch
from torch import nn

from .. import arrays
from ..tracing import weights as apart
from ..tracing.compiling import compile_model
from .functional import Call
from .placement import placed_like
from .traced import TracedModel

_PREFIX = "model."  # of names in the module that is exported


def keep_apart(model: onnx.ModelProto, call: Call, options: Sequence[str]) -> None:
    """Gives the model's weights the names of the state dict, and the model a record to replace them by."""
    state = call.module.state_dict(keep_vars=True)
    known = {tensor.data_ptr(): name for name, tensor in state.items() if tensor.numel() > 0}
    names = {}
    for tensor in model.graph.initializer:
        original = tensor.name.removeprefix(_PREFIX)
        if tensor.name != original and original in state:
            names[original] = tensor.name
    tied = {name: known[tensor.data_ptr()] for name, tensor in state.items()
            if name not in names and known.get(tensor.data_ptr(), name) in names}
    apart.keep(model, names, tied, set(state) - set(names) - set(tied), options)


def replace_weights(traced: TracedModel, weights: nn.Module | Mapping[str, torch.Tensor] | str | pathlib.Path) -> None:
    """Replaces all weights of a model traced with inline_weights=False.

    `weights`: a module, its state dict, or a path of a .safetensors file with the traced module's names. Calls
    under way finish with the old weights and later ones see the new; none sees a mixture. States keep their
    values. Sessions made before keep the old weights.
    Raises InvalidArgument naming every weight that is missing, unknown or of another shape or type;
    FailedPrecondition if the weights are inlined.
    """
    kept = apart.Apart(traced.metadata)
    tensors = _tensors_of(weights)
    given = {name: apart.Weight(str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
             for name, tensor in tensors.items()}
    model = kept.filled(given, lambda name: _raw(tensors[name]),
                        lambda name, other: torch.equal(tensors[name], tensors[other]))
    traced.replace(lambda old: placed_like(old, compile_model(model, kept.options, None)))


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


def _raw(tensor: torch.Tensor) -> bytes:
    return arrays.from_torch(tensor.contiguous()).tobytes()
