"""From a PyTorch function to a Sluice executable. Needs torch 2.13 or later, onnx and onnxscript.

    traced = sluice.torch.trace(model, example_inputs)
    traced.save("model.sluice")     # sluice.load("model.sluice") needs no torch

docs/torch.md is a tour.
"""

from __future__ import annotations

from .analyze import analyze
from .batching import dynamic_batch
from .bucket_sizes import Buckets
from .buckets import BucketModelConfig, bucket_model_trace
from .partition import PartitionerConfig
from .trace import trace
from .traced import TracedModel, load
from .weights import replace_weights

__all__ = [
    "BucketModelConfig",
    "Buckets",
    "PartitionerConfig",
    "TracedModel",
    "analyze",
    "bucket_model_trace",
    "dynamic_batch",
    "load",
    "replace_weights",
    "trace",
]
