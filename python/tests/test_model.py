from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import pathlib
import pickle
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
import sluice

from conftest import DIGITS, PATIENCE


def test_specs_describe_inputs_and_outputs(digits: sluice.Model) -> None:
    (spec,) = digits.inputs
    assert (spec.name, spec.type, spec.shape) == ("image", "f32[N,1,8,8]", (None, 1, 8, 8))
    assert spec.dtype == np.float32 and spec.batch_axis == 0
    assert digits.outputs[0].shape == (None, 10)
    assert "input image: f32[N,1,8,8]" in repr(digits)


def test_several_outputs_are_a_tuple(two: sluice.Model) -> None:
    a, b = np.float32([1, 2]), np.float32([3, 5])
    total, difference = two(a, b)
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(difference, a - b)
    np.testing.assert_array_equal(two(b=b, a=a)[1], a - b)
    np.testing.assert_array_equal(two(a, b=b)[1], a - b)


class SomeArray(np.ndarray[Any, Any]):
    """An array of another class than numpy's own."""


def test_calls_take_arrays_of_any_class_byte_order_and_strides(two: sluice.Model) -> None:
    a, b = np.float32([1, 2]), np.float32([3, 5])
    for given in (a.view(SomeArray), a.astype(">f4"), np.repeat(a, 2)[::2], a[None][0]):
        total, difference = two(given, b)
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(difference, a - b)


def test_calls_leave_no_reference_behind(two: sluice.Model) -> None:
    a, b, wrong = np.float32([1, 2]), np.float32([3, 5]), np.float64([1, 2])
    model = two.reopen()
    gc.collect()  # models of other tests refer to their class
    counts = [sys.getrefcount(value) for value in (a, b, wrong, sluice.Model)]
    for _ in range(100):
        model(a, b)
        with pytest.raises(sluice.InvalidArgument):
            model(a, wrong)
        with pytest.raises(sluice.InvalidArgument):
            model(a)
    assert [sys.getrefcount(value) for value in (a, b, wrong, sluice.Model)] == counts
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_model_that_was_not_initialised_is_no_crash() -> None:
    model = sluice.Model.__new__(sluice.Model)
    with pytest.raises(AttributeError):
        model(np.float32([1]))
    model._native = 3  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        model(np.float32([1]))


def test_run_gives_wanted_outputs_by_name(two: sluice.Model) -> None:
    feeds = {"a": np.float32([1]), "b": np.float32([3])}
    assert list(two.run(feeds)) == ["sum", "difference"]
    assert two.run(feeds, ["difference"]) == {"difference": np.float32([-2])}
    with pytest.raises(sluice.NotFound, match='no output "product"; it has "sum", "difference"'):
        two.run(feeds, ["product"])


def test_outputs_are_the_callers_and_survive_later_runs(two: sluice.Model) -> None:
    first = two(np.float32([1]), np.float32([2]))[0]
    two(np.float32([5]), np.float32([7]))
    assert first == 3
    first[0] = 9  # writable


def test_out_is_written_in_place_and_may_be_larger(two: sluice.Model) -> None:
    feeds = {"a": np.float32([1, 2]), "b": np.float32([3, 5])}
    exact = sluice.empty(2)
    assert two.run(feeds, out={"sum": exact})["sum"] is exact
    np.testing.assert_array_equal(exact, [4, 7])
    large = np.full(9, -1, np.float32)
    result = two.run(feeds, ["sum"], out={"sum": large})["sum"]
    assert result.shape == (2,) and np.shares_memory(result, large)
    np.testing.assert_array_equal(large[:3], [4, 7, -1])
    with pytest.raises(sluice.ResourceExhausted, match="sum"):
        two.run(feeds, out={"sum": np.empty(1, np.float32)})
    np.testing.assert_array_equal(two(*feeds.values())[0], [4, 7])  # nothing stays bound


def test_threads_share_a_model(digits: sluice.Model, image: np.ndarray) -> None:
    images = [image * i for i in range(32)]
    expected = [digits(x) for x in images]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for got, want in zip(pool.map(digits, images), expected):
            np.testing.assert_array_equal(got, want)


def test_submit_gives_futures(two: sluice.Model) -> None:
    futures = [two.submit(np.float32([i]), np.float32([1])) for i in range(20)]
    assert [int(future.result()[0][0]) for future in futures] == list(range(1, 21))
    with pytest.raises(sluice.InvalidArgument):
        two.submit(np.float32([1])).result()


def test_asyncio_serves_many_requests_without_a_thread_each(two: sluice.Model) -> None:
    most = 0

    async def request(i: int) -> int:
        nonlocal most
        result = await two.call_async(np.float32([i]), np.float32([1]))
        most = max(most, threading.active_count())
        return int(result[0][0])

    async def all_requests() -> list[int]:
        return list(await asyncio.gather(*(request(i) for i in range(1000))))

    before = threading.active_count()
    assert asyncio.run(all_requests()) == list(range(1, 1001))
    assert most <= before + 66  # the workers, as many as cores


def test_timeout_ends_the_wait(slow: sluice.Model) -> None:
    x = np.ones(64, np.float32)
    with pytest.raises(TimeoutError, match="0.01 s"):
        slow.run({"n": np.int64(1_000_000), "x": x}, timeout=0.01)
    np.testing.assert_array_equal(slow.run({"n": np.int64(2), "x": x}, timeout=PATIENCE)["y"], x)


def test_gil_is_released_during_a_run(slow: sluice.Model) -> None:
    def turns_in_a_run() -> int:
        future = slow.submit(np.int64(1_000_000), np.ones(64, np.float32))
        turns = 0
        while not future.done():
            time.sleep(0.001)  # the run would not give the GIL back
            turns += 1
        return turns

    assert any(turns_in_a_run() > 10 for _ in range(5))


def test_context_runs_what_is_bound(two: sluice.Model) -> None:
    context = two.context()
    with pytest.raises(sluice.FailedPrecondition, match="not run"):
        context.output("sum")
    a, total = np.float32([1]), sluice.empty(1)
    context.bind("a", a).bind("b", np.float32([2])).bind("sum", total)
    assert context.run().output("difference") == -1
    a[0] = 5
    context.run()
    assert total == 7
    with pytest.raises(sluice.NotFound, match="product"):
        context.bind("product", total)


def test_closed_model_refuses(image: np.ndarray) -> None:
    from conftest import DIGITS
    with sluice.compile(DIGITS) as model:
        model(image)
    for _ in range(2):
        with pytest.raises(sluice.FailedPrecondition, match="closed"):
            model(image)
        model.close()


@pytest.fixture()
def counter() -> sluice.Model:
    """total' = total + 2 x."""
    return sluice.compile(pathlib.Path(__file__).with_name("recorded") / "counter.onnx")


def test_a_model_with_states_has_all_that_a_model_has(counter: sluice.Model, tmp_path: pathlib.Path) -> None:
    x = np.full(counter.inputs[0].shape, 3, np.float32)
    counter(x)
    assert [spec.name for spec in counter.inputs] == ["x"]
    assert len(counter.content()) > 0
    assert os.path.exists(counter.path)
    assert counter.recorded_bytes >= 0
    assert counter.copied_bytes >= 0
    assert counter.loaded["threads"] == 0
    assert counter.profile(x, runs=2).operations
    counter.save(tmp_path / "counter.sluice")
    assert sluice.inspect(counter)
    with sluice.Runtime() as runtime:
        assert len(runtime.load(counter).inputs) == 2, "the state is an input there"


def test_a_model_with_states_pickles_with_their_values(counter: sluice.Model) -> None:
    x = np.full(counter.inputs[0].shape, 3, np.float32)
    counter(x)
    copy = pickle.loads(pickle.dumps(counter))
    for name, value in counter.state.snapshot().items():  # type: ignore[attr-defined]
        np.testing.assert_array_equal(copy.state[name], value)
    np.testing.assert_array_equal(copy(x), counter(x))


def test_saving_over_a_loaded_package_leaves_the_model_alone(tmp_path: pathlib.Path, digits: sluice.Model,
                                                            image: np.ndarray, counter: sluice.Model) -> None:
    place = tmp_path / "model.sluice"
    digits.save(place)
    loaded = sluice.load(place)
    expected = loaded(image)
    counter.save(place)
    np.testing.assert_array_equal(loaded(image), expected)
    assert sluice.load(place).inputs[0].name == "x"
    place.chmod(0o600)
    again = sluice.load(place)
    again.save(place)  # over itself
    assert sluice.load(place).inputs[0].name == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["model.sluice"]
    with pytest.raises(FileNotFoundError):
        digits.save(tmp_path / "absent" / "model.sluice")


def test_a_model_whose_file_was_replaced_stays_what_it_was(tmp_path: pathlib.Path, digits: sluice.Model,
                                                           image: np.ndarray, counter: sluice.Model) -> None:
    place = tmp_path / "model.sluice"
    digits.save(place)
    loaded = sluice.load(place)
    expected, content = loaded(image), digits.content()
    for replace in (lambda: counter.save(place), place.unlink):
        replace()
        assert loaded.content() == content
        for copy in (pickle.loads(pickle.dumps(loaded)), loaded.reopen()):
            np.testing.assert_array_equal(copy(image), expected)
        with sluice.Runtime() as runtime:
            np.testing.assert_array_equal(runtime.load(loaded)(image), expected)
        loaded.save(tmp_path / "copy.sluice")
        assert (tmp_path / "copy.sluice").read_bytes() == content


def test_paths_may_hold_any_bytes(tmp_path: pathlib.Path, digits: sluice.Model, image: np.ndarray) -> None:
    place = tmp_path / os.fsdecode(b"\xff\xfe.sluice")
    digits.save(place)
    np.testing.assert_array_equal(sluice.load(place)(image), digits(image))
    assert sluice.Session(place).tensors
    place.write_bytes(b"no package")
    with pytest.raises(sluice.Error, match="model"):
        sluice.load(place, max_recorded_bytes=1)
    place.unlink()
    with pytest.raises(sluice.NotFound):
        sluice.load(place)


def test_outputs_in_one_memory_are_refused(two: sluice.Model) -> None:
    a, b = np.float32([1, 2]), np.float32([3, 5])
    names = [spec.name for spec in two.outputs]
    memory = np.zeros(3, np.float32)
    for first, second in ((memory[:2], memory[:2]), (memory[:2], memory[1:])):
        with pytest.raises(sluice.InvalidArgument, match="overlap"):
            two.run({"a": a, "b": b}, out=dict(zip(names, (first, second))))
    apart = np.zeros(4, np.float32)
    results = two.run({"a": a, "b": b}, out=dict(zip(names, (apart[:2], apart[2:]))))
    np.testing.assert_array_equal(results[names[0]], a + b)
    np.testing.assert_array_equal(apart, np.concatenate([a + b, a - b]))
    context = two.context()
    for name, value in (("a", a), ("b", b), *((name, memory[:2]) for name in names)):
        context.bind(name, value)
    with pytest.raises(sluice.InvalidArgument, match="overlap"):
        context.run()


def test_a_package_replaces_packages_alone(tmp_path: pathlib.Path, digits: sluice.Model) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(DIGITS.read_bytes())
    for write in (lambda: digits.save(model), lambda: sluice.compile(model, output=model)):
        with pytest.raises(sluice.InvalidArgument, match="is no package"):
            write()
        assert model.read_bytes() == DIGITS.read_bytes()
    empty = tmp_path / "empty.sluice"
    empty.touch()
    digits.save(empty)
    digits.save(empty)
    assert sluice.load(empty).inputs[0].name == "image"
