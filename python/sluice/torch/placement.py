"""Which cores a traced model runs on: all by default, some, or a replica on each of several."""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import itertools
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import FailedPrecondition, InvalidArgument
from ..model import Model, Path
from .traced import Runner, TracedModel, choose_placement

ALL = -1


class Replicas:
    """The same model loaded on several cores; calls take turns. Any thread may call it.

    The chunks of a batch run at once, one on each core.
    """

    def __init__(self, models: Sequence[Runner]) -> None:
        self.models = list(models)
        self._turns = itertools.count()
        self._pool = concurrent.futures.ThreadPoolExecutor(len(models), "sluice-replicas")
        self.each = self._pool.map  #: see batching.py
        self.inputs, self.outputs = models[0].inputs, models[0].outputs

    @property
    def metadata(self) -> dict[str, str]:
        return self.models[0].metadata

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return self.models[next(self._turns) % len(self.models)].run(feeds)

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None) -> Runner:
        return self.models[0].reopen(threads=threads, cores=cores)

    def save(self, path: Path) -> None:
        self.models[0].save(path)

    def close(self) -> None:
        self._pool.shutdown()
        for model in self.models:
            model.close()


def num_cores() -> int:
    """Cores that the process may use; they are numbered from 0."""
    return len(os.sched_getaffinity(0))


def set_cores(traced: TracedModel, start: int = 0, count: int = 1) -> TracedModel:
    """Loads `traced` on `count` cores from `start`, a replica on each; calls take turns. -1: to the last core.

    Changes `traced` and returns it. Each call runs on one core, whichever thread makes it; by default a call uses all.
    Raises InvalidArgument for cores that do not exist and for a model with state on several cores, RuntimeError
    if the model is closed.
    """
    traced.replace(_replicated(_cores_of(start, count)))
    return traced


@contextlib.contextmanager
def cores_context(start: int = 0, count: int = 1) -> Iterator[None]:
    """Models that the `with` block traces or loads go to these cores, as set_cores does. Each thread has its own.

    A model that is loaded later, as by lazy_load, goes to those of the block that made it.
    """
    token = _wanted.set(_cores_of(start, count))
    try:
        yield
    finally:
        _wanted.reset(token)


def load_in_turn(count: int | None = 1) -> None:
    """From now on, each model that the process traces or loads goes to the next `count` cores, from core 0 on.

    After the last cores the first ones follow, so that models without a placement of their own use all cores.
    None: each model uses all cores again, as when the process starts. `cores_context` precedes it.
    Raises InvalidArgument for more cores than there are.
    """
    if count is not None:
        count = len(_cores_of(0, count))
    with _turn_lock:
        _turn[:] = [] if count is None else [(count, 0)]


def _next_cores() -> list[int] | None:
    """The cores of the next model; None: all."""
    with _turn_lock:
        if not _turn:
            return None
        count, taken = _turn[0]
        _turn[0] = (count, taken + 1)
    runs = num_cores() // count  # a run of cores is whole
    return _cores_of(taken % runs * count, count)


_turn: list[tuple[int, int]] = []  # empty, or the cores of a model and how many models have been placed
_turn_lock = threading.Lock()
_wanted: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar("sluice_cores", default=None)


def _cores_of(start: int, count: int) -> list[int]:
    total = num_cores()
    if count != ALL and count < 1:
        raise InvalidArgument(f"the number of cores must be -1 or at least 1, not {count}")
    if not 0 <= start < total or (count != ALL and start + count > total):
        asked = f"core {start}" if count == 1 else f"{count} cores from {start}"
        raise InvalidArgument(f"{asked}: there are {total}, numbered from 0")
    return list(range(start, total if count == ALL else start + count))


def _replicated(cores: Sequence[int]) -> Any:
    def place(model: Runner) -> Runner:
        states = list(getattr(model, "state", ()))
        if len(cores) > 1 and states:
            raise InvalidArgument(f"the model keeps state ({', '.join(states)}), which replicas would not share; "
                                  "place it on one core")
        try:
            placed = [model.reopen(cores=[core]) for core in cores]
        except OSError as error:
            raise FailedPrecondition(f"the model does not start on cores {list(cores)}: {error}") from error
        return placed[0] if len(placed) == 1 else Replicas(placed)  # type: ignore[return-value]

    return place


def placed_like(old: Runner, new: Model) -> Runner:
    """`new` on the cores of `old`."""
    if isinstance(old, Replicas):
        return Replicas([new.reopen(**model.opened) for model in old.models])  # type: ignore[union-attr,return-value]
    opened = getattr(old, "opened", {})
    return new.reopen(**opened) if opened else new


def _place_new(model: Runner) -> Runner:
    cores = _wanted.get()
    if cores is not None:
        placed: Runner = _replicated(cores)(model)
        return placed
    cores = _next_cores()
    return model if cores is None else model.reopen(cores=cores)


choose_placement(_place_new)
