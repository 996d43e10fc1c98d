"""Numbers, times and texts of wrong types: the error names the argument."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sluice
from conftest import DIGITS

X = np.zeros((1, 1, 8, 8), np.float32)


@pytest.fixture(scope="module")
def loaded(digits: sluice.Model) -> Iterator[sluice.LoadedModel]:
    with sluice.Runtime() as runtime:
        yield runtime.load(digits)


@pytest.mark.parametrize(("arguments", "text"), [
    ({"threads": 1.5}, "threads: a whole number is needed, not 1.5"),
    ({"threads": "2"}, "threads: a whole number is needed, not '2'"),
    ({"threads": None}, "threads: a whole number is needed, not None"),
    ({"cores": ["0"]}, r"cores: core numbers are needed, as in \[0, 1\], not \['0'\]"),
    ({"cores": 1}, r"cores: core numbers are needed, as in \[0, 1\], not 1"),
    ({"seed": 1.5}, "seed: a whole number is needed"),
    ({"max_recorded_bytes": "64m"}, "max_recorded_bytes: a whole number is needed, not '64m'"),
    ({"shapes": {"image": ["a", 1, 8, 8]}}, "shapes: a whole number is needed"),
    ({"shapes": {"N": 1.5}}, "shapes: a whole number is needed, not 1.5"),
])
def test_a_load_names_what_is_no_number(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        sluice.load(DIGITS, **arguments)


def test_a_load_takes_numbers_of_numpy(digits: sluice.Model, tmp_path: pathlib.Path) -> None:
    digits.save(tmp_path / "digits.sluice")
    model = sluice.load(tmp_path / "digits.sluice", threads=np.int64(1), seed=np.uint8(3), cores=np.array([0]))
    assert model(X).shape == (1, 10)


def test_numbers_over_the_range_are_refused(loaded: sluice.LoadedModel) -> None:
    with pytest.raises(sluice.InvalidArgument, match="max_recorded_bytes must be from .* to 9223372036854775807"):
        sluice.load(DIGITS, max_recorded_bytes=2**70)
    with pytest.raises(sluice.InvalidArgument, match="priority must be from -2147483648 to 2147483647: 1099511627776"):
        loaded.run({"image": X}, priority=2**40)
    for request in (-1, 2**64):
        with pytest.raises(sluice.InvalidArgument, match=f"the id of a request must be from 0 .*: {request}"):
            loaded.take(request)


@pytest.mark.parametrize(("call", "text"), [
    (lambda model: model.run({"image": X}, priority="a"), "priority: a whole number is needed, not 'a'"),
    (lambda model: model.submit(X, priority=None), "priority: a whole number is needed, not None"),
    (lambda model: model.run({"image": X}, timeout="1"), "timeout: a number of seconds is needed, not '1'"),
    (lambda model: model.post(X, timeout=[1]), r"timeout: a number of seconds is needed, not \[1\]"),
    (lambda model: model.take("a"), "the id of a request: a whole number is needed, not 'a'"),
    (lambda model: model.cancel(None), "the id of a request: a whole number is needed, not None"),
    (lambda model: model.take(1, wait="a"), "wait: a number of seconds is needed, not 'a'"),
    (lambda model: model.stop(drain="a"), "drain: a number of seconds is needed, not 'a'"),
])
def test_a_request_names_what_is_no_number(loaded: sluice.LoadedModel, call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call(loaded)


@pytest.mark.parametrize(("call", "text"), [
    (lambda model: model.set_seed("a"), "seed: a whole number is needed, not 'a'"),
    (lambda model: model.profile(X, runs="a"), "runs: a whole number is needed, not 'a'"),
    (lambda model: model.run({"image": X}, timeout="1"), "timeout: a number of seconds is needed, not '1'"),
    (lambda model: model.run({"image": X}, cancellation=1), "cancellation: a sluice.Cancellation is needed, not 1"),
    (lambda model: model.context().bind("pixels", X), 'no input or output "pixels"; it has "image", "probabilities"'),
])
def test_a_model_names_what_is_wrong(digits: sluice.Model, call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises((TypeError, sluice.NotFound), match=text):
        call(digits)


def test_a_folder_without_a_model_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(sluice.InvalidArgument, match=f"{tmp_path}: the folder has no config.json"):
        sluice.load(tmp_path)


@pytest.mark.parametrize("address", [None, 3, b"unix:/run/sluice.sock"])
def test_an_address_is_a_text(address: Any) -> None:
    with pytest.raises(TypeError, match="address: a text is needed, as in unix:/PATH or HOST:PORT, not "):
        sluice.Runtime.connect(address)
