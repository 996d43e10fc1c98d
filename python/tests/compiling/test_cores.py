"""Models that were loaded on cores: calls compute there, whichever thread makes them."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
import sluice
from conftest import make_model
from onnx import TensorProto, helper
from processors import NUM_USABLE, assert_computes_on, core_sets

pytestmark = pytest.mark.skipif(NUM_USABLE < 2, reason=f"needs two processors; the tests may use {NUM_USABLE}")

X = np.ones((256, 256), np.float32)


@pytest.fixture(scope="module")
def product() -> sluice.Model:
    """Computes for a millisecond or so."""
    f32 = TensorProto.FLOAT
    return sluice.compile(make_model([helper.make_node("MatMul", ["x", "x"], ["y"])],
                                     [("x", f32, [256, 256])], [("y", f32, [256, 256])]))


@pytest.mark.parametrize("core", [0, 1])
def test_calls_compute_on_the_cores_of_the_load(product: sluice.Model, core: int) -> None:
    with sluice.load(product.path, cores=[core]) as model:
        assert_computes_on(lambda: model(X), core_sets(core))


def test_bound_and_submitted_runs_compute_there_too(product: sluice.Model) -> None:
    with product.reopen(cores=[1]) as model:
        bound = model.context().bind("x", X)
        assert_computes_on(bound.run, core_sets(1))
        assert_computes_on(lambda: model.submit(X).result(), core_sets(1))


def test_models_on_two_cores_compute_at_once(product: sluice.Model) -> None:
    with product.reopen(cores=[0]) as first, product.reopen(cores=[1]) as second:
        is_over = threading.Event()

        def repeat() -> None:
            while not is_over.is_set():
                first(X)

        beside = threading.Thread(target=repeat)
        beside.start()
        try:
            assert_computes_on(lambda: second(X), core_sets(0, 1))
        finally:
            is_over.set()
            beside.join()


def test_a_call_that_fails_gives_the_affinity_back(product: sluice.Model) -> None:
    before = os.sched_getaffinity(0)
    with product.reopen(cores=[1]) as model:
        bad: Any = np.ones((2, 2), np.float32)
        with pytest.raises(sluice.InvalidArgument):
            model(bad)
        assert os.sched_getaffinity(0) == before
        model(X)
    assert os.sched_getaffinity(0) == before


def test_a_core_that_does_not_exist_is_refused(product: sluice.Model) -> None:
    with pytest.raises(sluice.OutOfRange, match=f"no core {NUM_USABLE}"):
        product.reopen(cores=[NUM_USABLE])
