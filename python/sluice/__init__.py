"""Sluice compiles neural networks and runs them.

    import sluice
    model = sluice.compile("digits.onnx")
    probabilities = model(pixels)

docs/python.md is a tour.
"""

from __future__ import annotations

import atexit

from . import _native
from ._native import Cancellation, allow_operators
from .arrays import empty
from .commands import bench, doctor, explain, inspect, quantize, tune
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
from .exchange import ExchangedTensor, Offer
from .language import Generation, TokenLogprobs, Tokenizer
from .loaded_model import LoadedModel
from .loading import compile, load
from .log import set_log
from .model import Context, Model
from .profile import Profile
from .queues import Queues
from .requests import Request
from .runtime import Client, CoreGroup, Runtime, close_all
from .session import ProgramTensor, Session
from .signature import TensorSpec
from .stateful import StatefulModel

atexit.register(set_log, None)  # last: it hears how all else ends
# A thread inside a run cannot take the GIL of an interpreter that has ended.
atexit.register(_native.end_calls)
atexit.register(close_all)  # before it

__version__ = _native.version()
__all__ = [
    "Cancellation",
    "Cancelled",
    "Client",
    "Context",
    "CoreGroup",
    "DataLoss",
    "DeadlineExceeded",
    "Error",
    "ExchangedTensor",
    "FailedPrecondition",
    "Generation",
    "Internal",
    "InvalidArgument",
    "LoadedModel",
    "Model",
    "NotFound",
    "Offer",
    "OutOfRange",
    "PermissionDenied",
    "Profile",
    "ProgramTensor",
    "Queues",
    "Request",
    "ResourceExhausted",
    "Runtime",
    "Session",
    "StatefulModel",
    "TensorSpec",
    "TokenLogprobs",
    "Tokenizer",
    "Unavailable",
    "Unimplemented",
    "allow_operators",
    "bench",
    "compile",
    "doctor",
    "empty",
    "explain",
    "inspect",
    "load",
    "quantize",
    "set_log",
    "tune",
]
