"""Where the threads of this process may run while they compute."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable

from eventually import eventually

NUM_USABLE = len(os.sched_getaffinity(0))


def core_sets(*cores: int) -> list[frozenset[int]]:
    """Each of these cores as the affinity of a thread that keeps to it. Core i is the i-th usable processor."""
    usable = sorted(os.sched_getaffinity(0))
    return [frozenset({usable[core]}) for core in cores]


def _affinities() -> set[frozenset[int]]:
    """The affinities of Python's threads, now."""
    found = set()
    for thread in threading.enumerate():
        if thread.native_id is not None:
            try:
                found.add(frozenset(os.sched_getaffinity(thread.native_id)))
            except ProcessLookupError:  # it has ended meanwhile
                pass
    return found


def assert_computes_on(call: Callable[[], object], wanted: Iterable[frozenset[int]]) -> None:
    """Repeats `call` on a thread until Python's threads have been seen with each of the `wanted` affinities.

    Fails if one had another that is not the caller's own, or if the caller has not got its own back.
    """
    own, awaited = frozenset(os.sched_getaffinity(0)), set(wanted)
    seen: set[frozenset[int]] = set()
    is_over = threading.Event()
    afterwards: list[frozenset[int]] = []
    errors: list[BaseException] = []

    def repeat() -> None:
        try:
            while not is_over.is_set():
                call()
                afterwards[:] = [frozenset(os.sched_getaffinity(0))]
        except BaseException as error:  # noqa: BLE001 - the test's thread raises it
            errors.append(error)

    def is_enough() -> bool:
        seen.update(_affinities())
        return bool(errors) or awaited <= seen

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        eventually(is_enough, why=lambda: f"threads were seen on {sorted(map(sorted, seen))}")
    finally:
        is_over.set()
        thread.join()
    if errors:
        raise errors[0]
    assert seen <= awaited | {own}
    assert afterwards == [own]
