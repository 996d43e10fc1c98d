"""From a PyTorch function to a Sluice executable. Needs torch 2.13 or later, onnx and onnxscript.

    traced = sluice.torch.trace(model, example_inputs)
    traced.save("model.sluice")     # sluice.load("model.sluice") needs no torch

docs/torch.md is a tour.
"""

from __future__ import annotations

from ..tracing.size_buckets import Buckets
from . import dynamo
from .analyze import analyze
from .batching import dynamic_batch
from .buckets import BucketModelConfig, bucket_model_trace
from .data_parallel import DataParallel
from .partition import PartitionerConfig
from .pending import PendingModel, async_load, lazy_load
from .placement import (
    cores_context,
    load_in_turn,
    move_trace_to_device,
    multicore_context,
    num_cores,
    set_cores,
    set_multicore,
)
from .trace import trace
from .traced import TracedModel, load, save
from .weights import replace_weights

dynamo.register()

__all__ = [
    "BucketModelConfig",
    "Buckets",
    "DataParallel",
    "PartitionerConfig",
    "PendingModel",
    "TracedModel",
    "analyze",
    "async_load",
    "bucket_model_trace",
    "cores_context",
    "dynamic_batch",
    "lazy_load",
    "load",
    "load_in_turn",
    "move_trace_to_device",
    "multicore_context",
    "num_cores",
    "replace_weights",
    "save",
    "set_cores",
    "set_multicore",
    "trace",
]
