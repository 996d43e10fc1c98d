"""One network cut over several daemons, and one batch over many. Which daemons is the caller's choice, or its engine's."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from ..errors import DeadlineExceeded, InvalidArgument, ResourceExhausted, Unavailable
from ..exchange import ExchangedTensor
from ..loaded_model import LoadedModel
from ..runtime import Client, Source
from .lost import LOST, is_there

#: Seconds that a stage may take to open before a request tries anew.
_PATIENCE = 300.0

#: Seconds that a request waits until its tensors have left the exchanges, and `close` until sessions have ended. A
#: daemon that does not answer does it later, or their time to live is over.
_END_PATIENCE = 1.0

#: Seconds that a fetch is asked for again while the daemon refuses the fetch. A daemon makes 8 at a time.
_FETCH_PATIENCE = 10.0

#: Seconds that a tensor stays in an exchange at most; a daemon takes no longer time to live.
_MAX_TTL = 3600.0

_Opened = tuple[Client, LoadedModel]  # the session with a daemon, and the model there
_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Stage:
    """A model on a daemon.

    `address`: of the daemon. `package`: as for Runtime.load. `exchange`: HOST:PORT of its exchange, where the daemon of
    the next stage fetches; one of `exchange_sources` there. `options`: of the Client, such as `token`.
    """

    address: str
    package: Source
    exchange: str = ""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class _Clock:
    """The time that a request has left."""

    def __init__(self, timeout: float | None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded("the request's time was over before its next stage")
        return left

    def ttl(self) -> float:
        """For a tensor of the request."""
        left = self.left()
        return _MAX_TTL if left is None else min(left, _MAX_TTL)

    def wait(self, work: Callable[[], _T]) -> _T:
        """The result of a call that takes no time limit. It goes on in the background when the time is over."""
        future = _in_background(work)
        concurrent.futures.wait([future], self.left())
        if not future.done():
            raise DeadlineExceeded("the daemon did not answer in the request's time")
        return future.result()


class _Place:
    """The model of a stage. Opened by its first request, and again by the first one after it was lost."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._lock = threading.Lock()
        self._opening: concurrent.futures.Future[_Opened] | None = None  # all requests wait for the same one
        self._patience = _PATIENCE
        self._end = 0.0  # when the opening is given up

    def open(self, clock: _Clock) -> _Opened:
        """Waits no longer than the clock says. The opening goes on for the requests that come later."""
        while True:
            opening, patience = self._current()
            try:
                left = clock.left()
            except DeadlineExceeded as error:
                raise DeadlineExceeded(f"the stage at {self.stage.address} is not open yet: {error}") from None
            concurrent.futures.wait([opening], patience if left is None else min(left, patience))
            if opening.done():
                break
        if opening.exception() is not None:
            self._forget(opening)
        return opening.result()

    def _current(self) -> tuple[concurrent.futures.Future[_Opened], float]:
        """The opening, begun if there is none, and the seconds that it may take yet.

        One that hangs, as when its host is cut off, makes way for another, which gets twice the time.
        """
        with self._lock:
            now = time.monotonic()
            if self._opening is not None and not self._opening.done() and now >= self._end:
                self._opening.add_done_callback(_close)
                self._opening = None
                self._patience *= 2
            if self._opening is None:
                self._opening = _in_background(self._connect)
                self._end = now + self._patience
            return self._opening, max(0.0, self._end - now)

    def lose(self, lost: _Opened) -> None:
        with self._lock:
            opening = self._opening
        if opening is not None and opening.done() and opening.exception() is None and opening.result() is lost:
            self._forget(opening)
            _end(lost)

    def close(self) -> None:
        with self._lock:
            opening, self._opening = self._opening, None
        if opening is None:
            return
        if opening.done() and opening.exception() is None:
            concurrent.futures.wait([_end(opening.result())], _END_PATIENCE)
        else:
            opening.add_done_callback(_close)

    def _connect(self) -> _Opened:
        client = Client(self.stage.address, **self.stage.options)
        try:
            return client, client.load(self.stage.package)
        except BaseException:
            client.close()  # the error's traceback would keep the session open
            raise

    def _forget(self, opening: concurrent.futures.Future[_Opened]) -> None:
        """The next request opens anew, unless another one does already."""
        with self._lock:
            if self._opening is opening:
                self._opening = None


def _close(opening: concurrent.futures.Future[_Opened]) -> None:
    if opening.exception() is None:
        _end(opening.result())


def _end(opened: _Opened) -> concurrent.futures.Future[None]:
    """Ends the session on another thread, which holds the model until then: its last reference would unload it, and
    wait for a daemon that may not answer."""
    return _in_background(lambda: opened[0].close())


def _in_background(work: Callable[[], _T]) -> concurrent.futures.Future[_T]:
    """The work on a thread of its own, which does not hold the process at its end."""
    future: concurrent.futures.Future[_T] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="sluice-stage", daemon=True).start()
    return future


class Pipeline:
    """Stages of one network, whose tensors go from daemon to daemon and not through this process.

    A tensor that an earlier stage gives and a later one takes by the same name is an edge: it stays in the exchange of
    the earlier one's daemon until the later one's has fetched it. Requests are independent: up to `depth` are in flight,
    each in one stage at a time. A host that fails costs the requests that are on it; others go on, and later ones reach
    it again once its daemon is back, which has the model's initial state then. Any thread may use a pipeline.
    """

    def __init__(self, stages: Sequence[Stage], *, depth: int = 2) -> None:
        if not stages or depth < 1:
            raise InvalidArgument("a pipeline has at least one stage and a depth of at least 1")
        for stage in stages[:-1]:
            if not stage.exchange:
                raise InvalidArgument(f"the stage at {stage.address} has no exchange; the next one could not fetch")
        self._places = [_Place(stage) for stage in stages]
        self._threads = concurrent.futures.ThreadPoolExecutor(depth, "sluice-pipeline")

    def submit(self, inputs: Mapping[str, Any], *, timeout: float | None = None
               ) -> concurrent.futures.Future[dict[str, Any]]:
        """A request: inputs of any stage by name. The future has the outputs of all stages that are no edges.

        `timeout`: seconds from now, else DeadlineExceeded; the wait for others and for the load of a stage count.
        Unavailable if a host failed.
        """
        clock = _Clock(timeout)
        return self._threads.submit(self._run, dict(inputs), clock)

    def run(self, inputs: Mapping[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The outputs of one request."""
        return self.submit(inputs, timeout=timeout).result()

    def close(self) -> None:
        """Waits for the requests in flight; refuses others."""
        _close_all(self._threads, self._places)

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        self.close()

    def _run(self, inputs: Mapping[str, Any], clock: _Clock) -> dict[str, Any]:
        stages = [(place, _ask(place, clock, functools.partial(place.open, clock))) for place in self._places]
        edges: dict[str, _Edge] = {}
        answer: dict[str, Any] = {}
        removals: list[concurrent.futures.Future[None]] = []
        try:
            for number, (place, opened) in enumerate(stages):
                later = {spec.name for _, (_, model) in stages[number + 1:] for spec in model.inputs}
                outputs = _step(place, opened, inputs, edges, later, clock, removals)
                for name in later.intersection(outputs):
                    edges[name] = _Edge(outputs.pop(name), place, opened)
                answer.update(outputs)
            return answer
        finally:
            removals += _remove(edge.tensor for edge in edges.values())
            concurrent.futures.wait(removals, _END_PATIENCE)


@dataclasses.dataclass(frozen=True)
class _Edge:
    """A tensor in the exchange of the stage that gave it."""

    tensor: ExchangedTensor
    place: _Place
    opened: _Opened


def _step(place: _Place, opened: _Opened, inputs: Mapping[str, Any], edges: Mapping[str, _Edge], later: set[str],
          clock: _Clock, removals: list[concurrent.futures.Future[None]]) -> dict[str, Any]:
    """The outputs of a stage; those of `later` stay in its exchange. Fetched tensors are being removed."""
    client, model = opened
    feeds: dict[str, Any] = {}
    fetched: list[ExchangedTensor] = []
    try:
        for name in (spec.name for spec in model.inputs):
            if name in edges:
                fetched.append(_fetch(edges[name], place, opened, clock))
                feeds[name] = fetched[-1]
            elif name in inputs:
                feeds[name] = inputs[name]
        kept = [spec.name for spec in model.outputs if spec.name in later]
        return dict(_ask(place, clock, lambda: model.run(feeds, kept=kept, timeout=clock.left(), ttl=clock.ttl()),
                         opened))
    finally:
        removals += _remove(fetched)


def _fetch(edge: _Edge, place: _Place, opened: _Opened, clock: _Clock) -> ExchangedTensor:
    """The copy at `place`. What fails is the giver's fault if the taker still answers."""
    offer = _ask(edge.place, clock, lambda: clock.wait(edge.tensor.offer), edge.opened)
    client, model = opened
    try:
        return _patiently(clock, lambda: client.fetch(offer, edge.place.stage.exchange, ttl=clock.ttl(),
                                                      timeout=clock.left()))
    except LOST as error:
        _ask(place, clock, lambda: clock.wait(lambda: model.info), opened)
        edge.place.lose(edge.opened)
        raise Unavailable(f"the stage at {edge.place.stage.address} gave no tensor to the one at {place.stage.address}: "
                          f"{error}") from error


def _patiently(clock: _Clock, fetch: Callable[[], _T]) -> _T:
    """Asks again, with growing pauses, while the daemon has too many fetches or too many tensors."""
    end = time.monotonic() + _FETCH_PATIENCE
    pause = 0.005
    while True:
        try:
            return fetch()
        except ResourceExhausted:
            left = clock.left()
            if time.monotonic() + pause > end or (left is not None and left <= pause):
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.25)


def _remove(tensors: Iterable[ExchangedTensor]) -> list[concurrent.futures.Future[None]]:
    """Each on a thread of its own. A tensor may have gone with its daemon."""
    return [_in_background(tensor.remove) for tensor in tensors]


def _ask(place: _Place, clock: _Clock, work: Callable[[], _T], lost: _Opened | None = None) -> _T:
    """The work's result. A lost daemon is Unavailable, with the stage named; `lost` is opened anew by the next request."""
    clock.left()
    try:
        return work()
    except LOST as error:
        if lost is not None:
            if not isinstance(error, Unavailable) and clock.wait(lambda: is_there(lost[1])):
                raise
            place.lose(lost)
        raise Unavailable(f"the stage at {place.stage.address}: {error}") from error


def _close_all(threads: concurrent.futures.Executor, places: Sequence[_Place]) -> None:
    threads.shutdown()
    for place in places:
        place.close()


class Replicas:
    """One model on many daemons. The rows of a batch are shared among them, and joined again in their order.

    Only for models whose rows do not depend on each other and that keep no state: rows of a daemon that failed are
    computed by another one. Any thread may use it.
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        if not stages:
            raise InvalidArgument("no daemon to share a batch among")
        self._places = [_Place(stage) for stage in stages]
        self._threads = concurrent.futures.ThreadPoolExecutor(len(stages), "sluice-replicas")

    def run(self, inputs: Mapping[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Outputs by name, of inputs with the same number of rows: their first axis.

        `timeout`: seconds for all. Unavailable if every daemon failed.
        """
        rows = {name: len(value) for name, value in inputs.items()}
        if len(set(rows.values())) != 1:
            raise InvalidArgument(f"inputs have different numbers of rows: {rows}")
        [count] = set(rows.values())
        clock = _Clock(timeout)
        left: list[range] = [range(count)]
        parts: dict[int, dict[str, Any]] = {}
        places = list(self._places)
        errors: list[Unavailable] = []
        while left:
            if not places:
                raise Unavailable(f"every daemon failed; the last one: {errors[-1]}") from errors[-1]
            shares = [piece for one in left for piece in _shares(one, len(places))]
            lost: set[_Place] = set()
            left = []
            asked = [(piece, places[i % len(places)]) for i, piece in enumerate(shares)]
            futures = [self._threads.submit(self._part, place, inputs, piece, clock) for piece, place in asked]
            for (piece, place), future in zip(asked, futures, strict=True):
                try:
                    parts[piece.start] = future.result()
                except Unavailable as error:
                    errors.append(error)
                    lost.add(place)
                    left.append(piece)
            places = [place for place in places if place not in lost]
        ordered = [parts[start] for start in sorted(parts)]
        return {name: np.concatenate([part[name] for part in ordered]) for name in ordered[0]}

    def close(self) -> None:
        _close_all(self._threads, self._places)

    def __enter__(self) -> Replicas:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        self.close()

    @staticmethod
    def _part(place: _Place, inputs: Mapping[str, Any], rows: range, clock: _Clock) -> dict[str, Any]:
        opened = _ask(place, clock, functools.partial(place.open, clock))
        feeds = {name: value[rows.start:rows.stop] for name, value in inputs.items()}
        return dict(_ask(place, clock, lambda: opened[1].run(feeds, timeout=clock.left()), opened))


def _shares(rows: range, count: int) -> list[range]:
    """Pieces without gaps, none empty, as equal as whole rows are; one empty piece of no rows."""
    count = max(1, min(count, len(rows)))
    ends = [rows.start + len(rows) * i // count for i in range(count + 1)]
    return [range(start, end) for start, end in zip(ends, ends[1:])]
