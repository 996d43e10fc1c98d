"""Traces for a GPU: the trace itself happens on the processor."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ..errors import InvalidArgument
from ..model import Model

DEVICES = ("cpu", "cuda")


def check_device(device: str | None, others: dict[str, object]) -> None:
    """`others`: the options of the trace that a GPU has no support for, by name; None or False: not given."""
    if device not in (None, *DEVICES):
        raise InvalidArgument(f"device must be one of {DEVICES}, not {device!r}")
    given = [name for name, value in others.items() if value]
    if device == "cuda" and given:
        raise InvalidArgument(f'device="cuda" cannot be combined with {", ".join(given)}')


def options_for(device: str | None, options: Sequence[str]) -> list[str]:
    """The compiler's options, with the backend of the device if they name none."""
    named = any(option == "--backend" or option.startswith("--backend=") for option in options)
    return list(options) if device != "cuda" or named else ["--backend", "cuda", *options]


def to_processor(func: nn.Module | Callable[..., Any], example_inputs: Any) -> tuple[Any, Any]:
    """Both with tensors in memory of the processor; copies of those that are elsewhere."""
    if isinstance(func, nn.Module):
        tensors = [*func.parameters(), *func.buffers()]
        if any(tensor.device.type == "cuda" for tensor in tensors):
            func = copy.deepcopy(func).cpu()

    def moved(value: Any) -> Any:
        return value.cpu() if isinstance(value, torch.Tensor) else value

    return func, pytree.tree_map(moved, example_inputs)


def checked(model: Any, device: str | None) -> Any:
    """The compiled model, if it can take and give tensors of the device."""
    if device == "cuda" and type(model) is not Model:
        raise InvalidArgument('device="cuda": the model has state, which a traced model keeps in memory of the processor')
    return model
