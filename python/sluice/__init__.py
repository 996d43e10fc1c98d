"""Sluice compiles neural networks and runs them.

    import sluice
    model = sluice.compile("digits.onnx")
    probabilities = model(pixels)

docs/python.md is a tour.
"""

from __future__ import annotations

import atexit

from . import _native
from .arrays import empty
from .doctor import doctor
from .errors import (
    Cancelled,
    DataLoss,
    DeadlineExceeded,
    Error,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
    Unimplemented,
)
from .loading import compile, load
from .model import Context, Model, TensorSpec
from .stateful import StatefulModel

# A thread inside a run cannot take the GIL of an interpreter that has ended.
atexit.register(_native.end_calls)

__version__ = _native.version()
__all__ = [
    "Cancelled",
    "Context",
    "DataLoss",
    "DeadlineExceeded",
    "Error",
    "FailedPrecondition",
    "Internal",
    "InvalidArgument",
    "Model",
    "NotFound",
    "OutOfRange",
    "PermissionDenied",
    "ResourceExhausted",
    "StatefulModel",
    "TensorSpec",
    "Unavailable",
    "Unimplemented",
    "compile",
    "doctor",
    "empty",
    "load",
]
