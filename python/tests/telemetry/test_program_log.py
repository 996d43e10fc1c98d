"""sluice.set_log: events of the library in this process."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import sluice
from sluice import _native

from conftest import DIGITS, PATIENCE

Heard = list[tuple[int, str]]


@pytest.fixture
def heard() -> Iterator[Heard]:
    yield []
    sluice.set_log(None)


def fail() -> None:
    """A call of the library that fails: an event of level DEBUG."""
    with pytest.raises(sluice.NotFound):
        _native.Model("/missing.sluice")


def test_events_come_with_levels_of_logging(heard: Heard, digits: sluice.Model) -> None:
    sluice.set_log(lambda level, event: heard.append((level, event)))
    with sluice.Runtime() as runtime:
        runtime.load(digits, name="seven").unload()
    sluice.set_log(None)
    events = [event.split()[0] for level, event in heard if level == logging.INFO]
    assert [name for name in events if name.startswith("model.")][-2:] == ["model.loaded", "model.unloaded"]
    assert any('name="seven"' in event for _, event in heard)
    before = len(heard)
    fail()
    with sluice.Runtime() as runtime:
        runtime.load(digits)
    assert len(heard) == before, "nobody hears the log"


def test_a_logger_hears_events_of_its_level(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("sluice.test")
    with caplog.at_level(logging.DEBUG, logger.name):
        sluice.set_log(logger.log)
        fail()
        sluice.set_log(logger.log, logging.DEBUG)
        assert "call.failed" not in caplog.text, "it is of level DEBUG"
        fail()
        sluice.set_log(None)
    [record] = [record for record in caplog.records if "call.failed" in record.message]
    assert record.levelno == logging.DEBUG and "/missing.sluice" in record.message


def test_what_hears_the_log_may_fail_and_set_it(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()

    def hear(level: int, event: str) -> None:
        if not heard:
            heard.append((level, event))
            raise KeyboardInterrupt("the first event")
        sluice.set_log(None)
        done.set()

    sluice.set_log(hear, logging.DEBUG)
    for _ in range(2):
        fail()
    assert done.wait(PATIENCE)
    assert len(heard) == 1 and "what hears the log failed" in caplog.text


def test_events_that_nobody_takes_are_counted(heard: Heard) -> None:
    is_busy, goes_on = threading.Event(), threading.Event()

    def hear(level: int, event: str) -> None:
        is_busy.set()
        assert goes_on.wait(PATIENCE)
        heard.append((level, event))

    sluice.set_log(hear, logging.DEBUG)
    for number in range(10_101):
        fail()
        if number == 0:
            assert is_busy.wait(PATIENCE)
    goes_on.set()
    sluice.set_log(None)
    assert len(heard) > 10_000
    level, event = heard[-1]
    assert level == logging.WARNING and event.startswith("log.dropped events=")


def test_the_log_ends_with_the_interpreter() -> None:
    code = f"""
import sluice
def hear(level, event):
    print(event.split()[0])
sluice.set_log(hear)
kept = sluice.Runtime().load(sluice.compile({str(DIGITS)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "model.loaded" in done.stdout.split(), "the last events are heard"


def test_a_forked_child_hears_its_own_log(heard: Heard) -> None:
    sluice.set_log(lambda level, event: heard.append((level, event)))
    child = os.fork()
    if child == 0:
        own: Heard = []
        sluice.set_log(lambda level, event: own.append((level, event)), logging.DEBUG)
        sluice.compile(DIGITS)
        sluice.set_log(None)
        os._exit(0 if own and not heard else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_what_cannot_hear_is_refused() -> None:
    with pytest.raises(TypeError, match="a function of a level and a text"):
        sluice.set_log("log.txt")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="such as logging.INFO"):
        sluice.set_log(print, "info")  # type: ignore[arg-type]
