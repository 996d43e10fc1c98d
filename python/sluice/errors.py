"""Errors of Sluice: one class per gRPC status code, each also a built-in exception of Python."""

from __future__ import annotations


class Error(Exception):
    """A failure. `code` is a gRPC status code; the text says what was wrong and what to do."""

    code = 2

    def __init__(self, message: str = "", code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return self.message


class Cancelled(Error, RuntimeError):
    """The caller or the runtime gave the request up."""

    code = 1


class InvalidArgument(Error, ValueError):
    """An argument or a file is wrong: a type, a shape, a name, a damaged model."""

    code = 3


class DeadlineExceeded(Error, TimeoutError):
    """The time given for a request passed."""

    code = 4


class NotFound(Error, KeyError, FileNotFoundError):
    """A file, a backend, an input or an output of that name does not exist."""

    code = 5


class PermissionDenied(Error, PermissionError):
    """The process may not read or write a file."""

    code = 7


class ResourceExhausted(Error, MemoryError):
    """Too little memory, or an output that exceeds the array given for it."""

    code = 8


class FailedPrecondition(Error, RuntimeError):
    """The object is in a state that does not allow the call: closed, forked, not run yet."""

    code = 9


class OutOfRange(Error, IndexError):
    """A value lies outside of what an operation of the model takes."""

    code = 11


class Unimplemented(Error, NotImplementedError):
    """The model needs an operator, or the call a feature, that this build does not have."""

    code = 12


class Internal(Error, RuntimeError):
    """A mistake in Sluice."""

    code = 13


class Unavailable(Error, ConnectionError):
    """A daemon or a device cannot be reached now."""

    code = 14


class DataLoss(Error, RuntimeError):
    """A `.sluice` file is truncated or altered."""

    code = 15


_BY_CODE = {
    error.code: error
    for error in (
        Cancelled,
        InvalidArgument,
        DeadlineExceeded,
        NotFound,
        PermissionDenied,
        ResourceExhausted,
        FailedPrecondition,
        OutOfRange,
        Unimplemented,
        Internal,
        Unavailable,
        DataLoss,
    )
}


def from_status(code: int, message: str) -> Error:
    """The error of a status. The extension calls it."""
    return _BY_CODE.get(code, Error)(message, code)
