"""Requests in flight, and the threads that learn of their ends or run them.

Threads of the runtime put ended requests into a list of the extension without the GIL. One Python thread
takes them out and completes their futures, however many requests are in flight.
"""

from __future__ import annotations

import concurrent.futures
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from . import _native
from .errors import InvalidArgument, from_status

_logger = logging.getLogger("sluice")

NO_LIMIT_NS = 0
MAX_SECONDS = 2**33  #: some 272 years: their nanoseconds fit 64 bits
_LONGEST_CALLBACK_S = 5  # the interpreter does not wait longer for a callback of a future


def seconds_of(value: Any, what: str) -> float:
    """A time that somebody gives; texts are none."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except (TypeError, ValueError):
        pass
    except OverflowError:  # an integer beyond all floats
        return float("inf")
    raise TypeError(f"{what}: a number of seconds is needed, not {value!r}")


def nanoseconds(seconds: float | None, what: str) -> int:
    """A time limit for the extension, where 0 means none."""
    if seconds is None:
        return NO_LIMIT_NS
    time = seconds_of(seconds, what)
    if not 0 < time < MAX_SECONDS:
        raise InvalidArgument(f"{what} must be positive, and under {MAX_SECONDS}: {seconds} s")
    return max(int(time * 1e9), 1)


def duration_ns(seconds: float, what: str) -> int:
    """A length of time for the extension; 0 is one."""
    time = seconds_of(seconds, what)
    if not 0 <= time < MAX_SECONDS:
        raise InvalidArgument(f"{what} must be from 0 to {MAX_SECONDS}: {seconds} s")
    return int(time * 1e9)


class Request(concurrent.futures.Future[Any]):
    """The result of a submitted request. `cancel` also ends the request in the runtime.

    Its arrays are in use until the request has ended, which may be a little after `cancel`.
    """

    def __init__(self, finish: Callable[[list[Any] | None, int], Any]) -> None:
        super().__init__()
        self._finish = finish
        self._cancel_request: Callable[[], None] | None = None

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        cancel, self._cancel_request = self._cancel_request, None
        if cancel is not None:
            cancel()
        return True

    def started(self, cancel: Callable[[], None]) -> None:
        """The runtime has the request; `cancel` ends it."""
        self._cancel_request = cancel

    def end(self, status: int, message: str, outputs: list[Any] | None, size_bytes: int) -> None:
        """Called by the thread of `replies`."""
        self._cancel_request = None
        if not self.set_running_or_notify_cancel():
            return
        try:
            if status != 0:
                raise from_status(status, message)
            result = self._finish(outputs, size_bytes)
        except BaseException as error:  # of the request, or of a conversion
            self.set_exception(error)
        else:
            self.set_result(result)


class _Collector:
    """The list and its thread, made when needed."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a forked child, where the thread does not exist."""
        self._lock = threading.Lock()
        self._replies: _native.Replies | None = None
        self._thread: threading.Thread | None = None

    def replies(self) -> _native.Replies:
        with self._lock:
            if self._replies is None:
                replies = _native.Replies()
                thread = threading.Thread(target=_complete, args=(replies,), name="sluice-replies", daemon=True)
                thread.start()
                self._replies, self._thread = replies, thread  # the next request tries again if no thread started
            return self._replies

    def end(self) -> None:
        with self._lock:
            if self._replies is None or self._thread is None:
                return
            self._replies.close()
        self._thread.join(_LONGEST_CALLBACK_S)


_RETRY_S = 0.1


def _complete(replies: _native.Replies) -> None:
    """Goes on whatever fails: other requests wait for their ends."""
    while True:
        try:
            ended = replies.wait()
        except Exception:  # too little memory for the list; the ends wait for the next call
            _logger.exception("ended requests cannot be collected now")
            time.sleep(_RETRY_S)
            continue
        if not ended:
            return
        for request, status, message, outputs, size_bytes in ended:
            try:
                request.end(status, message, outputs, size_bytes)
            except BaseException:  # of a callback; concurrent.futures catches only those that are Exceptions
                _logger.exception("a callback of a request failed")
        del ended, request, outputs  # arrays of the callers, while the thread waits


collector = _Collector()
os.register_at_fork(after_in_child=collector.forget)


class _Workers:
    """Threads that run submitted requests: as many as the process may use cores. Made when needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def submit(self, function: Any, *args: Any) -> concurrent.futures.Future[Any]:
        with self._lock:
            if self._pool is None:
                count = max(len(os.sched_getaffinity(0)), 1)
                self._pool = concurrent.futures.ThreadPoolExecutor(count, "sluice")
            return self._pool.submit(function, *args)

    def forget(self) -> None:
        """In a forked child, where the threads do not exist."""
        self._lock = threading.Lock()
        self._pool = None


workers = _Workers()
os.register_at_fork(after_in_child=workers.forget)
