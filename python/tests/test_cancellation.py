"""Runs that another thread ends: sluice.Cancellation, and RunOptions.terminate of sluice.onnxruntime."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import sluice
import sluice.onnxruntime as ort
from onnx import TensorProto, helper

from conftest import DIGITS, PATIENCE, make_model

RECORDED = pathlib.Path(__file__).with_name("recorded")
FOREVER = np.array(2**62, np.int64)


def counting_model() -> onnx.ModelProto:
    """sum = x * n: in n iterations of a loop."""
    i64, f32, boolean = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["before", "x"], ["after"]), helper.make_node("Identity", ["goes_on"], ["still"])], "body",
        [value("i", i64, []), value("goes_on", boolean, []), value("before", f32, [2])],
        [value("still", boolean, []), value("after", f32, [2])])
    return make_model([helper.make_node("Loop", ["n", "true", "zero"], ["sum"], body=body)],
                      [("n", i64, []), ("x", f32, [2])], [("sum", f32, [2])],
                      {"true": np.array(True), "zero": np.zeros(2, np.float32)})


@pytest.fixture(scope="module")
def source() -> bytes:
    return counting_model().SerializeToString()


def feeds(iterations: Any) -> dict[str, Any]:
    return {"n": np.array(iterations, np.int64), "x": np.float32([1, 2])}


def failure_of(run: Callable[[], Any], end: Callable[[], None], threads: int = 1) -> list[BaseException | None]:
    """How each of the threads' runs ends, which `end` must end."""
    failures: list[BaseException | None] = []
    started = threading.Barrier(threads + 1)

    def job() -> None:
        started.wait(PATIENCE)
        try:
            run()
        except Exception as error:  # noqa: BLE001  the test looks at it
            failures.append(error)
        else:
            failures.append(None)

    workers = [threading.Thread(target=job) for _ in range(threads)]
    for worker in workers:
        worker.start()
    started.wait(PATIENCE)
    end()
    for worker in workers:
        worker.join(PATIENCE)
        assert not worker.is_alive(), "the run goes on"
    return failures


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("timeout", [None, 10 * PATIENCE])
def test_cancellation_ends_runs_under_way_and_later_ones(source: bytes, threads: int, timeout: float | None) -> None:
    model, cancellation = sluice.compile(source), sluice.Cancellation()
    for _ in range(20):  # at whatever moment of the start it comes
        failures = failure_of(lambda: model.run(feeds(FOREVER), timeout=timeout, cancellation=cancellation),
                              cancellation.cancel, threads)
        assert [type(failure) for failure in failures] == [sluice.Cancelled] * threads
        with pytest.raises(sluice.Cancelled, match="before it started"):
            model.run(feeds(3), cancellation=cancellation)
        assert model.run(feeds(3))["sum"].tolist() == [3, 6]
        cancellation.reset()
        assert model.run(feeds(3), cancellation=cancellation)["sum"].tolist() == [3, 6]


def test_cancellation_refuses_a_run_of_a_model_with_states() -> None:
    counter, cancellation = sluice.compile(RECORDED / "counter.onnx"), sluice.Cancellation()
    given = {spec.name: np.ones([2 if dim is None else dim for dim in spec.shape or ()], spec.dtype) for spec in counter.inputs}
    counter.run(given, cancellation=cancellation)
    states = counter.state.snapshot()
    cancellation.cancel()
    with pytest.raises(sluice.Cancelled):
        counter.run(given, cancellation=cancellation)
    for name, value in counter.state.snapshot().items():
        np.testing.assert_array_equal(value, states[name])


def test_cancellation_leaves_runs_of_others(source: bytes) -> None:
    model = sluice.compile(source)
    mine, other = sluice.Cancellation(), sluice.Cancellation()
    running = threading.Thread(target=lambda: failure_of(
        lambda: model.run(feeds(FOREVER), cancellation=mine), lambda: None))
    running.start()
    other.cancel()
    assert running.is_alive() and not mine.is_cancelled() and other.is_cancelled()
    mine.cancel()
    running.join(PATIENCE)
    assert not running.is_alive()


def session_run(engine: Any, source: bytes, options: Any, way: str) -> Callable[[], Any]:
    session = engine.InferenceSession(source, providers=["CPUExecutionProvider"])
    if way == "run":
        return lambda: session.run(None, feeds(FOREVER), options)
    if way == "values":
        values = {name: engine.OrtValue.ortvalue_from_numpy(value) for name, value in feeds(FOREVER).items()}
        return lambda: session.run_with_ort_values(None, values, options)
    binding = session.io_binding()
    for name, value in feeds(FOREVER).items():
        binding.bind_cpu_input(name, value)
    binding.bind_output("sum")
    return lambda: session.run_with_iobinding(binding, options)


@pytest.mark.parametrize("engine", [ort, onnxruntime], ids=["ours", "theirs"])
@pytest.mark.parametrize("way", ["run", "values", "binding"])
def test_terminate_ends_a_run_as_onnxruntime_does(engine: Any, source: bytes, way: str,
                                                  recwarn: pytest.WarningsRecorder) -> None:
    options = engine.RunOptions()
    run = session_run(engine, source, options, way)
    for _ in range(2):  # the second run meets the flag at its start
        (failure,) = failure_of(run, lambda: setattr(options, "terminate", True))
        assert "Exiting due to terminate flag being set to true" in str(failure)
        assert type(failure).__name__ == ("RuntimeError" if (engine, way) == (onnxruntime, "binding") else "Fail")
    assert options.terminate is True
    session = engine.InferenceSession(DIGITS.read_bytes(), providers=["CPUExecutionProvider"])
    options.terminate = False
    assert session.run(None, {"image": np.zeros((2, 1, 8, 8), np.float32)}, options)[0].shape == (2, 10)
    assert not [warning for warning in recwarn if "terminate" in str(warning.message)]


def test_a_terminated_run_calls_back_with_the_error(source: bytes) -> None:
    options, errors, done = ort.RunOptions(), [], threading.Event()

    def callback(results: list[Any], user_data: Any, error: str) -> None:
        errors.append(error)
        done.set()

    ort.InferenceSession(source).run_async(None, feeds(FOREVER), callback, None, options)
    options.terminate = True
    assert done.wait(PATIENCE)
    assert "terminate flag" in errors[0]
