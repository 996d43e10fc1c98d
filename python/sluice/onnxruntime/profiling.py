"""The file of a session with `enable_profiling`: its runs as events of Chrome's trace format."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Profiler:
    """Any thread may record. `sluice bench` and Runtime.profile measure operations."""

    def __init__(self, prefix: str) -> None:
        self.start_ns = time.perf_counter_ns()
        self._path = f"{prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        self._events: list[dict[str, object]] = []

    @contextmanager
    def record(self, name: str) -> Iterator[None]:
        start_ns = time.perf_counter_ns()
        try:
            yield
        finally:
            self._events.append({
                "cat": "Session", "pid": os.getpid(), "tid": threading.get_ident(), "ph": "X", "name": name,
                "ts": (start_ns - self.start_ns) // 1000,
                "dur": (time.perf_counter_ns() - start_ns) // 1000, "args": {}})

    def end(self) -> str:
        """Writes the file, an event a line, and returns its path."""
        with open(self._path, "w") as file:
            file.write("[\n" + ",\n".join(map(json.dumps, self._events)) + "\n]\n")
        return self._path
