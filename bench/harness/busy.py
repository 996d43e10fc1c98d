"""A neighbour: one process that keeps one processor busy."""

from __future__ import annotations

import os
import subprocess
import sys
from types import TracebackType


class BusyNeighbour:
    """While entered, an endless loop runs on `cpu`, at the priority of everybody else."""

    def __init__(self, cpu: int) -> None:
        self._cpu = cpu
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> BusyNeighbour:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "while True: pass"],
            preexec_fn=lambda: os.sched_setaffinity(0, {self._cpu}))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
