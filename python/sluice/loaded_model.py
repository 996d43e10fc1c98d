"""Models of a runtime: their requests, phases and statistics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native, descriptions
from .dtypes import Array
from .exchange import ExchangedTensor
from .package import whole_of
from .queues import Queues
from .requests import Request, collector, duration_ns, nanoseconds
from .signature import SignedModel, has_torch


def _level(priority: int) -> int:
    return whole_of(priority, "priority", 32)


def _id(request: int) -> int:
    return whole_of(request, "the id of a request", 64, is_signed=False)


class LoadedModel(SignedModel[_native.LoadedModel]):
    """A model that a runtime loaded. Any thread may use it; unloaded with its last reference.

    A call is a request: it waits for its turn behind others of higher priority, and may be refused,
    cancelled or overdue.
    """

    def __init__(self, owner: object, runtime: _native.Runtime, native: _native.LoadedModel,
                 parts: Sequence[LoadedModel] = ()) -> None:
        info = native.info()
        super().__init__(native, info["inputs"], info["outputs"], info["has_fixed_inputs"], runtime)
        self._owner = owner  # of `runtime`; open while this model is there
        self._runtime = runtime
        self._parts = tuple(parts)  # models that this one combines, which it outlives
        self.name: str = info["name"]

    @property
    def id(self) -> int:
        return self._native.id

    @property
    def info(self) -> descriptions.ModelInfo:
        """Its phase, group, depth and memory, now."""
        return descriptions.to_model_info(self._native.info())

    def run(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None = None,
        *,
        out: Mapping[str, Array] | None = None,
        timeout: float | None = None,
        priority: int = 0,
        kept: Sequence[str] = (),
        ttl: float | None = None,
        traceparent: str | None = None,
    ) -> dict[str, Any]:
        """Runs a request on inputs by name and returns outputs by name.

        `outputs`, `out`: as Model.run. `timeout`: seconds until the reply, else DeadlineExceeded.
        `priority`: a request of a higher number runs first. `kept`: outputs that stay in a daemon's exchange,
        for `ttl` seconds or the daemon's default; each is an ExchangedTensor. `traceparent`: the caller's span as
        W3C's Trace Context writes it; spans of a daemon are below it.
        """
        timeout_ns, ttl_ns = nanoseconds(timeout, "timeout"), nanoseconds(ttl, "ttl")
        level = _level(priority)
        keeps = self._kept(kept)
        if outputs is not None:
            outputs = [*outputs, *(name for name in kept if name not in outputs)]

        def execute(inputs: list[Any], wanted: list[bool], memory: list[Any] | None) -> list[Any]:
            return self._placed(self._native.run(inputs, wanted, memory, timeout_ns, level, keeps, ttl_ns,
                                                 traceparent or ""))

        return self._signature.run(execute, self._signature.order(feeds), outputs, out)

    def submit(self, *args: object, timeout: float | None = None, priority: int = 0, kept: Sequence[str] = (),
               ttl: float | None = None, traceparent: str | None = None, **kwargs: object) -> Request:
        """As a call, but returns a Future at once. Its `cancel` ends the request.

        The inputs must not change before the future is done. ResourceExhausted if too many requests wait.
        `kept`, `ttl`, `traceparent`: as for `run`.
        """
        ordered = self._signature.bind(args, kwargs)
        wants_torch = has_torch(ordered)
        request = Request(lambda outputs, _: self._signature.results_of(self._placed(outputs or ()), wants_torch))
        number = self._native.submit(collector.replies(), request, self._signature.convert(ordered),
                                     nanoseconds(timeout, "timeout"), _level(priority), self._kept(kept),
                                     nanoseconds(ttl, "ttl"), traceparent or "")
        request.started(lambda: self._native.cancel(number))
        return request

    def post(self, *args: object, timeout: float | None = None, priority: int = 0, kept: Sequence[str] = (),
             ttl: float | None = None, traceparent: str | None = None, **kwargs: object) -> int:
        """As `submit` of a daemon's model, but returns an id at once. The daemon keeps the reply.

        Any connection of the session may take it or cancel the request: see Client's `session_token`. Unloading
        the model ends its posted requests, and so does dropping the LoadedModel of its `load`.
        """
        return self._native.post(self._signature.convert(self._signature.bind(args, kwargs)),
                                 nanoseconds(timeout, "timeout"), _level(priority), self._kept(kept),
                                 nanoseconds(ttl, "ttl"), traceparent or "")

    def take(self, request: int, wait: float | None = None) -> Any:
        """The result of a posted request, once, within 60 seconds of its end.

        `wait`: seconds, None for any time. Unavailable while the request runs, and if another thread or
        connection comes to wait for it.
        """
        wait_ns = -1 if wait is None else duration_ns(wait, "wait")
        return self._signature.results_of(self._placed(self._native.take(_id(request), wait_ns)), False)

    def cancel(self, request: int) -> None:
        """Ends a posted request; `take` raises Cancelled then."""
        self._native.cancel(_id(request))

    def _kept(self, names: Sequence[str]) -> list[bool]:
        """Which outputs stay in the exchange."""
        for name in names:
            self._signature.find_output(name)
        return [spec.name in names for spec in self.outputs] if names else []

    def _placed(self, outputs: Sequence[Any]) -> list[Any]:
        """Outputs of the extension, which has an index for one that stays in the exchange."""
        return [ExchangedTensor(self._runtime, item) if isinstance(item, int) else item for item in outputs]

    async def call_async(self, *args: object, timeout: float | None = None, priority: int = 0, kept: Sequence[str] = (),
                         ttl: float | None = None, traceparent: str | None = None, **kwargs: object) -> Any:
        """As a call, for asyncio. Cancelling the task ends the request. `kept`, `ttl`, `traceparent`: as for `run`."""
        return await asyncio.wrap_future(self.submit(*args, timeout=timeout, priority=priority, kept=kept, ttl=ttl,
                                                     traceparent=traceparent, **kwargs))

    def queues(self, capacity: int = 0) -> Queues:
        """Rings of arrays, one per tensor; `capacity` 0 is twice the depth. Not in a daemon."""
        return Queues(_native.Queues(self._runtime, self.id, capacity), self)

    def start(self) -> None:
        """Lets the model take requests. One model of a group is started at a time."""
        self._native.start()

    def stop(self, drain: float = 0) -> None:
        """Refuses new requests; those in flight have `drain` seconds, then raise Cancelled."""
        self._native.stop(duration_ns(drain, "drain"))

    def reset(self) -> None:
        """Makes a failed model a stopped one."""
        self._native.reset()

    def unload(self, drain: float = 0) -> None:
        """Frees the model; later calls raise FailedPrecondition. `drain` as for `stop`."""
        self._native.unload(duration_ns(drain, "drain"))
        self._parts = ()

    def statistics(self) -> descriptions.Statistics:
        """Counts and latencies since the load."""
        return descriptions.to_statistics(self._native.statistics())

    def health(self) -> descriptions.Health:
        return descriptions.to_health(self._native.health())

    def __enter__(self) -> LoadedModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload()

    def __repr__(self) -> str:
        return f"<sluice.LoadedModel {self.name!r}{self._signature.lines()}>"

    def __reduce__(self) -> Any:
        raise TypeError("a loaded model cannot be pickled; connect the other process to a daemon")
