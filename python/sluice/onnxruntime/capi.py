"""Errors by onnxruntime's names."""

from __future__ import annotations

from ..errors import (
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    Unimplemented,
)
from .options import RunOptions, SessionOptions
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

__all__ = ["EPFail", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "ModelLoaded",
           "NoModel", "NoSuchFile", "NotImplemented", "OrtDevice", "OrtValue", "OrtValueVector", "RunOptions",
           "RuntimeException", "SessionIOBinding", "SessionOptions"]
