"""Requests of a runtime, local and over a daemon: futures, asyncio, cancellation, deadlines, refusal."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import math
import os
import threading
from typing import Any

import numpy as np
import pytest
import sluice

from conftest import PATIENCE, eventually

LONG = np.int64(2_000_000)  # iterations of `slow`, more than a second
ENDLESS = np.int64(90_000_000)  # a request that ends when it is cancelled


def x64() -> Any:
    return np.ones(64, np.float32)


def test_submitted_requests_finish_in_any_order(runtime: sluice.Runtime, two: sluice.Model) -> None:
    model = runtime.load(two, queue_limit=100)
    requests = [model.submit(np.full(4, i, np.float32), np.ones(4, np.float32)) for i in range(50)]
    for done in concurrent.futures.as_completed(requests, PATIENCE):
        i = requests.index(done)
        total, difference = done.result()
        assert (total == i + 1).all() and (difference == i - 1).all()


def test_cancel_ends_a_request(runtime: sluice.Runtime, slow: sluice.Model) -> None:
    model = runtime.load(slow, depth=1, queue_limit=10)
    running_one = model.submit(np.int64(200_000), x64())
    waiting = model.submit(ENDLESS, x64())
    assert waiting.cancel() and waiting.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        waiting.result()
    assert running_one.result(PATIENCE).shape == (64,)
    model.submit(np.int64(1), x64()).result(PATIENCE)
    eventually(lambda: model.statistics().answered.get("cancelled") == 1)


def test_a_run_is_stopped_at_its_limit(runtime: sluice.Runtime, slow: sluice.Model) -> None:
    for load in (runtime.load, runtime.deploy):
        model = load(slow, max_run=0.05)
        with pytest.raises(sluice.DeadlineExceeded, match="load it with a larger max_run"):
            model(ENDLESS, x64())
        assert (model(np.int64(2), x64()) == 1).all(), "the next run is whole"
        model.unload()
    assert (runtime.load(slow, max_run=math.inf)(np.int64(2), x64()) == 1).all()
    with pytest.raises(sluice.InvalidArgument, match="max_run"):
        runtime.load(slow, max_run=-1)


def test_deadline_of_a_waiting_request(runtime: sluice.Runtime, slow: sluice.Model) -> None:
    model = runtime.load(slow, depth=1, queue_limit=10)
    first = model.submit(ENDLESS, x64())
    late = model.submit(LONG, x64(), timeout=0.01)
    with pytest.raises(TimeoutError) as raised:
        late.result(PATIENCE)
    assert isinstance(raised.value, sluice.DeadlineExceeded)
    assert first.cancel()


def test_full_queue_refuses(runtime: sluice.Runtime, slow: sluice.Model) -> None:
    model = runtime.load(slow, depth=1, queue_limit=1)
    running_one = model.submit(ENDLESS, x64())
    accepted, refused = [], 0
    for _ in range(5):
        try:
            accepted.append(model.submit(np.int64(1), x64()))
        except sluice.ResourceExhausted:
            refused += 1
    eventually(lambda: refused > 0 or any(request.done() for request in accepted))  # a daemon says it later
    running_one.cancel()
    ended = [request.exception(PATIENCE) for request in accepted]
    refused += sum(isinstance(error, sluice.ResourceExhausted) for error in ended)
    assert refused >= 1 and None in ended


def test_stopped_model_cancels_requests(runtime: sluice.Runtime, slow: sluice.Model) -> None:
    model = runtime.load(slow, depth=1, queue_limit=10)
    requests = [model.submit(count, x64()) for count in (np.int64(100_000), *[LONG] * 4)]
    eventually(lambda: model.statistics().accepted == 5)  # a daemon accepts them a moment later
    model.stop()
    errors = [request.exception(PATIENCE) for request in requests]
    assert isinstance(errors[-1], sluice.Cancelled) and not requests[-1].cancelled()


@pytest.mark.parametrize("count", [1000])
def test_asyncio_takes_no_thread_per_request(runtime: sluice.Runtime, digits: sluice.Model, image: Any,
                                             count: int) -> None:
    model = runtime.load(digits, queue_limit=count)
    model(image)
    threads = set()

    async def one() -> Any:
        result = await model.call_async(image)
        threads.add(len(os.listdir("/proc/self/task")))
        return result

    async def main() -> list[Any]:
        return await asyncio.gather(*(one() for _ in range(count)))

    before = len(os.listdir("/proc/self/task"))
    results = asyncio.run(main())
    assert all((result == results[0]).all() for result in results) and len(results) == count
    # The collector of replies, and a few of gRPC.
    assert max(threads) <= before + 16, (before, max(threads))


def test_cancelled_task_ends_its_request(runtime: sluice.Runtime, slow: sluice.Model) -> None:
    model = runtime.load(slow, depth=1, queue_limit=10)

    async def main() -> None:
        first = asyncio.ensure_future(model.call_async(np.int64(100_000), x64()))
        second = asyncio.ensure_future(model.call_async(LONG, x64()))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await first
        await model.call_async(np.int64(1), x64())

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_exception_of_a_callback_harms_no_request(runtime: sluice.Runtime, digits: sluice.Model,
                                                  image: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = runtime.load(digits)
    request = model.submit(image)
    told = threading.Event()
    request.add_done_callback(lambda _: 1 / 0)
    request.add_done_callback(lambda _: told.set())  # behind the first
    request.result(PATIENCE)
    assert told.wait(PATIENCE)
    assert "ZeroDivisionError" in caplog.text
    assert model.submit(image).result(PATIENCE).shape == (2, 10)


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_no_callback_ends_the_collector(runtime: sluice.Runtime, digits: sluice.Model, image: Any,
                                        raised: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Any) -> None:
        raise raised("of a callback")

    def is_called_by_the_collector() -> bool:
        # The caller itself calls the function if the answer is there already.
        with contextlib.suppress(raised):
            model.submit(image).add_done_callback(fail)
        return "a callback of a request failed" in caplog.text

    model = runtime.load(digits)
    eventually(is_called_by_the_collector)
    assert model.submit(image).result(PATIENCE).shape == (2, 10)


def test_a_result_that_somebody_else_sets_ends_no_collector(runtime: sluice.Runtime, slow: sluice.Model) -> None:
    model = runtime.load(slow, depth=1, queue_limit=10)
    request = model.submit(np.int64(100_000), x64())
    request.set_result(None)
    assert model.submit(np.int64(1), x64()).result(PATIENCE).shape == (64,)


class ScriptedReplies:
    """`wait` raises each of `failures`, then returns one end, then reports that all is collected."""

    def __init__(self, failures: list[Exception], request: sluice.requests.Request) -> None:
        self._turns: list[Any] = [*failures, [(request, 0, "", [7], 0)], []]

    def wait(self) -> Any:
        turn = self._turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn


def test_the_collector_survives_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sluice.requests, "_RETRY_S", 0)
    request = sluice.requests.Request(lambda outputs, _: outputs)
    replies: Any = ScriptedReplies([MemoryError(), RuntimeError("std::bad_alloc")], request)
    sluice.requests._complete(replies)
    assert request.result(0) == [7]


def test_a_collector_whose_thread_does_not_start_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    made = sluice.requests._Collector()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            made.replies()
    assert made.replies() is made.replies()
    made.end()
