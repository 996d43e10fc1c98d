"""What a long compilation shows: a bar in a terminal, a line per phase elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

PHASES = ("import", "infer shapes", "optimize", "choose layouts", "assign backends", "prepare kernels",
          "compile kernels")
_WIDTH = 24
_TICK_S = 0.2


class Bar:
    """A line with the phase and the seconds so far, shown once a compilation takes `after` seconds.

    A thread redraws it, as the compiler does not hold the GIL.
    """

    def __init__(self, stream: TextIO, after: float = 1.0) -> None:
        self._stream = stream
        self._after = after
        self._start = time.monotonic()
        self._phase = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._redraw, name="sluice-progress", daemon=True)

    def __call__(self, phase: str) -> None:
        self._phase = phase

    def __enter__(self) -> Bar:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def line(self) -> str:
        done = PHASES.index(self._phase) if self._phase in PHASES else len(PHASES) - 1
        filled = _WIDTH * done // len(PHASES)
        seconds = time.monotonic() - self._start
        return f"sluice: [{'#' * filled}{'.' * (_WIDTH - filled)}] {self._phase}, {seconds:.1f} s"

    def _redraw(self) -> None:
        if self._ended.wait(self._after):
            return
        longest = 0
        while True:
            line = self.line()
            longest = max(longest, len(line))
            self._stream.write("\r" + line.ljust(longest))
            self._stream.flush()
            if self._ended.wait(_TICK_S):
                break
        self._stream.write("\r" + " " * longest + "\r")
        self._stream.flush()


class Silent:
    """Passes phases on, or drops them."""

    def __init__(self, function: Callable[[str], object] | None) -> None:
        self._function = function

    def __call__(self, phase: str) -> None:
        if self._function is not None:
            self._function(phase)

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def print_phase(phase: str) -> None:
    print(f"sluice: {phase} ...", flush=True)


def reporter(progress: Callable[[str], object] | bool | None) -> Bar | Silent:
    """The reporter for the argument `progress` of sluice.compile."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if callable(progress):
        return Silent(progress)
    if progress is True:
        return Bar(sys.stderr, after=0) if is_terminal else Silent(print_phase)
    return Bar(sys.stderr) if progress is None and is_terminal else Silent(None)
