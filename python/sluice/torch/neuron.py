"""The names of PyTorch NeuronX over sluice.torch, for programs written for them.

    import sluice.torch.neuron as torch_neuronx

Names that both modules have, such as `analyze`, are the same objects. docs/torch.md names what sluice.torch has
instead of the others.
"""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from ..model import Path
from .analyze import analyze
from .batching import dynamic_batch
from .buckets import BucketModelConfig, bucket_model_trace
from .data_parallel import DataParallel
from .partition import PartitionerConfig
from .pending import async_load, lazy_load
from .placement import ALL, cores_context, set_cores
from .trace import trace as _trace
from .traced import TracedModel, load
from .weights import replace_weights

__all__ = [
    "BucketModelConfig",
    "DataParallel",
    "PartitionerConfig",
    "analyze",
    "async_load",
    "bucket_model_trace",
    "dynamic_batch",
    "lazy_load",
    "load",
    "move_trace_to_device",
    "multicore_context",
    "replace_weights",
    "save",
    "set_multicore",
    "trace",
]


def trace(
    func: nn.Module | Callable[..., Any],
    example_inputs: Any,
    *,
    input_output_aliases: Mapping[torch.Tensor, int] | None = None,
    compiler_workdir: str | pathlib.Path | None = None,
    compiler_args: str | Sequence[str] | None = None,
    partitioner_config: PartitionerConfig | None = None,
    inline_weights_to_neff: bool = True,
) -> TracedModel:
    """As sluice.torch.trace, whose `inline_weights` is `inline_weights_to_neff` here."""
    return _trace(func, example_inputs, input_output_aliases=input_output_aliases, compiler_workdir=compiler_workdir,
                  compiler_args=compiler_args, partitioner_config=partitioner_config,
                  inline_weights=inline_weights_to_neff)


def save(traced: TracedModel, path: Path) -> None:
    """As TracedModel.save: stands for torch.jit.save, as `load` stands for torch.jit.load."""
    traced.save(path)


def move_trace_to_device(traced: TracedModel, device_id: int) -> None:
    """Moves a traced model and its weights to one core, counted from 0: sluice.torch.set_cores without a result."""
    set_cores(traced, device_id, 1)


def set_multicore(traced: TracedModel) -> TracedModel:
    """As sluice.torch.set_cores on all cores."""
    return set_cores(traced, 0, ALL)


def multicore_context() -> contextlib.AbstractContextManager[None]:
    """As sluice.torch.cores_context on all cores."""
    return cores_context(0, ALL)
