"""How Python tests wait: for a condition, never for a time. Only a failure reaches the limit."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable

#: A hang: a machine that stands still for seconds at a time, or runs sanitizers beside others, is far from it.
HANG_S = 300.0


def eventually(is_so: Callable[[], object], limit_s: float = HANG_S, why: Callable[[], str] | str = "") -> None:
    """Looks until `is_so()` is true. `why` says what was waited for, where it never becomes so."""
    end = time.monotonic() + limit_s
    pause = 0.001
    while not is_so():
        if time.monotonic() > end:
            said = why if isinstance(why, str) else why()
            raise AssertionError(f"it did not become so within {limit_s:.0f} s{': ' if said else ''}{said}")
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def suspend(process: int) -> None:
    """SIGSTOP to a process; scripts/stress-tests does not wake it."""
    with open(os.environ.get("SLUICE_STRESS_LOCK", os.devnull), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.kill(process, signal.SIGSTOP)


def pause_for(seconds: float) -> None:
    """Lets other processes work for a moment. A claim must not depend on their progress."""
    time.sleep(seconds)
