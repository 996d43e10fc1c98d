"""Errors by onnxruntime's names."""

from __future__ import annotations

import sys

from ..errors import (
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    Unimplemented,
)
from .options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from .providers import get_available_providers
from .values import OrtDevice, OrtValue, OrtValueVector, SessionIOBinding


class Fail(Error, RuntimeError):
    """onnxruntime's name for a failure of any other kind."""


class NoSuchFile(NotFound):
    """onnxruntime's name for a missing file."""


class InvalidProtobuf(InvalidArgument):
    """onnxruntime's name for a damaged model."""


class InvalidGraph(InvalidArgument):
    """onnxruntime's name for a model that is no valid graph."""


NotImplemented = Unimplemented  # noqa: A001  onnxruntime's name
EPFail = RuntimeException = Internal
ModelLoaded = NoModel = FailedPrecondition

#: onnxruntime's modules of compiled code, whose names are here.
_pybind_state = onnxruntime_pybind11_state = sys.modules[__name__]

__all__ = ["EPFail", "ExecutionMode", "Fail", "GraphOptimizationLevel", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "ModelLoaded",
           "NoModel", "NoSuchFile", "NotImplemented", "OrtDevice", "OrtValue", "OrtValueVector", "RunOptions",
           "RuntimeException", "SessionIOBinding", "SessionOptions", "get_available_providers", "onnxruntime_pybind11_state"]
