"""Models that are loaded at their first call, or in the background."""

from __future__ import annotations

import concurrent.futures
import contextvars
import copy
import os
import pathlib
import threading
from typing import Any

from torch import nn

from ..model import Path
from .traced import TracedModel, load


class PendingModel(nn.Module):
    """Stands for a traced model that may not be loaded yet. A call, or `wait`, waits for it.

    Any thread may use it. A load that fails raises at each use. A copy has states of its own; a pickle contains the
    package, and is loaded at its first call.
    """

    def __init__(self, path: Path | bytes, threads: int, in_background: bool) -> None:
        super().__init__()
        self._arguments = (path, threads)
        self._context = contextvars.copy_context()  # of cores_context
        self._loading = threading.Lock()
        self._future: concurrent.futures.Future[TracedModel] | None = None
        if in_background:
            self._start()
        self.eval()

    def is_loaded(self) -> bool:
        return self._future is not None and self._future.done()

    def wait(self) -> TracedModel:
        """The loaded model."""
        return self._start().result()

    def forward(self, *args: Any) -> Any:
        return self.wait()(*args)

    def __reduce__(self) -> Any:
        path = self._arguments[0]
        return lazy_load, (path if isinstance(path, bytes) else pathlib.Path(path).read_bytes(),)

    def __deepcopy__(self, _: Any) -> PendingModel:
        copied = PendingModel(*self._arguments, in_background=False)
        copied._future = concurrent.futures.Future()
        copied._future.set_result(copy.deepcopy(self.wait()))
        return copied

    def _start(self) -> concurrent.futures.Future[TracedModel]:
        with self._loading:
            if self._future is None:
                future: concurrent.futures.Future[TracedModel] = concurrent.futures.Future()
                threading.Thread(target=self._context.run, args=(self._load, future), name="sluice-load").start()
                self._future = future  # the next use tries again if no thread started
            return self._future

    def _load(self, future: concurrent.futures.Future[TracedModel]) -> None:
        path, threads = self._arguments
        try:
            future.set_result(load(path, threads=threads))
        except BaseException as error:  # to the caller that waits
            future.set_exception(error)


def lazy_load(path: Path | bytes, *, threads: int = 0) -> PendingModel:
    """As load, but at the first call."""
    return PendingModel(path if isinstance(path, bytes) else os.fspath(path), threads, in_background=False)


def async_load(path: Path | bytes, *, threads: int = 0) -> PendingModel:
    """As load, but in the background; the first call waits for it."""
    return PendingModel(path if isinstance(path, bytes) else os.fspath(path), threads, in_background=True)
