"""From a PyTorch function to a Sluice executable. Needs torch 2.13 or later, onnx and onnxscript.

    traced = sluice.torch.trace(model, example_inputs)
    traced.save("model.sluice")     # sluice.load("model.sluice") needs no torch

docs/torch.md is a tour. sluice.torch.neuron has the names of PyTorch NeuronX.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

# Before the modules below: their own error would not say what to install.
_missing = [name for name in ("torch", "onnx", "onnxscript") if importlib.util.find_spec(name) is None]
if _missing:
    raise ModuleNotFoundError(f"sluice.torch needs {', '.join(_missing)}: pip install {' '.join(_missing)}",
                              name=_missing[0])

from ..tracing.size_buckets import Buckets
from . import dynamo, neuron
from .analyze import analyze
from .batching import dynamic_batch
from .data_parallel import DataParallel
from .partition import PartitionerConfig
from .pending import PendingModel, async_load, lazy_load
from .placement import cores_context, load_in_turn, num_cores, set_cores
from .trace import trace
from .traced import TracedModel, load
from .weights import replace_weights

dynamo.register()

__all__ = [
    "Buckets",
    "DataParallel",
    "PartitionerConfig",
    "PendingModel",
    "TracedModel",
    "analyze",
    "async_load",
    "cores_context",
    "dynamic_batch",
    "lazy_load",
    "load",
    "load_in_turn",
    "neuron",
    "num_cores",
    "replace_weights",
    "set_cores",
    "trace",
]

if not TYPE_CHECKING:  # a type checker knows by itself which names are missing

    def __getattr__(name):
        """Raises the error of a missing name; for a name of PyTorch NeuronX it adds the place."""
        place = f"; it is sluice.torch.neuron.{name}" if name in neuron.__all__ else ""
        raise AttributeError(f"module {__name__!r} has no name {name!r}{place}", name=name)
