"""The log of the library, whose events a thread of Python passes to whoever asks."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from . import _native

Hear = Callable[[int, str], object]

_TRACE = 5  #: details of details, below logging.DEBUG
_LEVELS = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 5), (logging.DEBUG, 6), (_TRACE, 7))
_BY_NUMBER = {number: level for level, number in _LEVELS}
_LONGEST_CALL_S = 5  # the interpreter does not wait longer for what hears the log
_logger = logging.getLogger("sluice")


def set_log(hear: Hear | None, level: int = logging.INFO) -> None:
    """Passes events of the library in this process to `hear`, such as logging.getLogger("sluice").log; None: to nobody.

    `hear(level, event)` gets a level of `logging`, and a text such as 'model.loaded name="digits" model=1 group=1'. Events
    below `level` are left out; 5 has the most. A thread calls `hear` soon after each event, in their order. What happened
    before a second set_log has been heard when that returns. While `hear` is busy 10,000 events wait for it; one counts
    those that were dropped. Calls of `hear` itself are events, too. What it raises is logged as an error of the logger
    "sluice". A forked child hears nothing until it calls set_log.
    """
    if hear is not None and not callable(hear):
        raise TypeError(f"the log needs a function of a level and a text, not {hear!r}")
    if not isinstance(level, int):
        raise TypeError(f"a level of logging is a number, such as logging.INFO, not {level!r}")
    with _log.lock:
        _log.end()
        if hear is not None:
            _log.start(hear, next((number for known, number in _LEVELS if level >= known), _LEVELS[-1][1]))


class _Log:
    """Who hears the log, and the thread that tells."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a forked child, where the thread does not exist."""
        self.lock = threading.RLock()  # `hear` may set the log
        self._events: _native.LogEvents | None = None
        self._thread: threading.Thread | None = None

    def start(self, hear: Hear, max_level: int) -> None:
        events = _native.LogEvents(max_level)
        thread = threading.Thread(target=_pass_on, args=(events, hear), name="sluice-log", daemon=True)
        try:
            thread.start()
        except BaseException:
            events.close()
            raise
        self._events, self._thread = events, thread

    def end(self) -> None:
        events, thread = self._events, self._thread
        self._events = self._thread = None
        if events is None or thread is None:
            return
        events.close()
        if thread is not threading.current_thread():
            thread.join(_LONGEST_CALL_S)


def _pass_on(events: _native.LogEvents, hear: Hear) -> None:
    while heard := events.wait():
        for number, event in heard:
            try:
                hear(_BY_NUMBER[number], event)
            except BaseException:  # the thread goes on
                _logger.exception("what hears the log failed")


_log = _Log()
os.register_at_fork(after_in_child=_log.forget)
