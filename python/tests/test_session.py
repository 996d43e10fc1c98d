"""Sessions and queues: sources and sinks of tensors."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sluice

from conftest import DIGITS, PATIENCE


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("session") / "digits.sluice"
    sluice.compile(DIGITS, path, shapes={"image": (2, 1, 8, 8)})
    return path


@pytest.fixture
def session(package: pathlib.Path) -> sluice.Session:
    return sluice.Session(package)


def test_session_names_its_tensors(session: sluice.Session) -> None:
    roles = {tensor.name: (tensor.role, tensor.program) for tensor in session.tensors}
    assert roles["image"] == ("input", "main") and roles["probabilities"] == ("output", "main")
    assert roles["fc.bias"] == ("constant", "load")
    assert "input image: f32[2,1,8,8]" in repr(session)


def test_arrays_are_read_and_written_by_every_run(session: sluice.Session, digits: sluice.Model,
                                                  image: Any) -> None:
    x, y = image.copy(), np.zeros((2, 10), np.float32)
    session.bind_source("image", x).bind_sink("probabilities", y)
    session.load()
    for scale in (1, 0.5):
        x[:] = image * scale
        session.run()
        np.testing.assert_allclose(y, digits(x), atol=1e-6)


def test_functions_are_sources_and_sinks(session: sluice.Session, digits: sluice.Model, image: Any) -> None:
    given: list[Any] = []
    session.bind_provider("image", lambda: image.tolist()).bind_consumer("probabilities", given.append)
    session.load()
    session.run()
    session.run()
    assert len(given) == 2
    np.testing.assert_allclose(given[0], digits(image), atol=1e-6)


def test_constants_come_from_the_program_or_files(package: pathlib.Path, image: Any,
                                                  tmp_path: pathlib.Path) -> None:
    def best_class(session: sluice.Session) -> int:
        y = np.zeros((2, 10), np.float32)
        session.bind_source("image", image).bind_sink("probabilities", y)
        session.load()
        session.run()
        return int(y[0].argmax())

    bias = np.zeros(10, np.float32)
    bias[3] = 1000
    np.save(tmp_path / "fc.bias.npy", bias)
    assert best_class(sluice.Session(package, stored_folder=tmp_path)) == 3
    asked: list[sluice.ProgramTensor] = []

    def refuse(tensor: sluice.ProgramTensor) -> bool:
        asked.append(tensor)
        return False

    plain = best_class(sluice.Session(package))
    assert best_class(sluice.Session(package, stored_folder=tmp_path, binds_stored=refuse)) == plain
    assert [tensor.name for tensor in asked] == ["fc.bias"]
    own = sluice.Session(package, stored_folder=tmp_path).bind_source("fc.bias", np.roll(bias, 2))
    assert best_class(own) == 5
    saved = np.zeros(10, np.float32)
    own.bind_sink("fc.bias", saved)
    own.save()
    assert saved[5] == 1000


def test_unbound_tensors_are_named_before_a_run(session: sluice.Session, image: Any) -> None:
    with pytest.raises(sluice.FailedPrecondition, match="image"):
        session.verify()
    session.load()
    with pytest.raises(sluice.FailedPrecondition, match="probabilities"):
        session.bind_source("image", image).run()
    for call in (lambda: session.bind_source("picture", image), lambda: session.bind_sink("picture", image),
                 lambda: session.bind_consumer("picture", print)):
        with pytest.raises(sluice.NotFound):
            call()
    with pytest.raises(sluice.InvalidArgument, match="got f64"):
        session.bind_source("image", image.astype(np.float64))
    with pytest.raises(sluice.InvalidArgument, match="'load', 'main', 'save'"):
        session.verify("run")


def test_exception_of_a_function_leaves_the_run(session: sluice.Session, package: pathlib.Path,
                                                tmp_path: pathlib.Path, image: Any) -> None:
    def fail(*_: object) -> Any:
        raise ZeroDivisionError("mine")

    y = np.zeros((2, 10), np.float32)
    session.bind_provider("image", fail).bind_sink("probabilities", y)
    session.load()
    with pytest.raises(ZeroDivisionError, match="mine"):
        session.run()
    session.bind_provider("image", lambda: np.zeros((2, 1, 8, 7), np.float32))
    with pytest.raises(sluice.InvalidArgument, match="another type or size"):
        session.run()
    session.bind_source("image", image).bind_consumer("probabilities", fail)
    with pytest.raises(ZeroDivisionError):
        session.run()
    np.save(tmp_path / "fc.bias.npy", np.zeros(10, np.float32))
    with pytest.raises(ZeroDivisionError):
        sluice.Session(package, stored_folder=tmp_path, binds_stored=fail)


@pytest.fixture
def queues(local: sluice.Runtime, package: pathlib.Path) -> Iterator[sluice.Queues]:
    with local.load(package).queues(capacity=4) as opened:
        yield opened


def test_queues_compute_in_the_order_of_their_entries(queues: sluice.Queues, digits: sluice.Model,
                                                      image: Any) -> None:
    images = [image * scale for scale in (1, 0.5, 0.25)]
    results = [queues.put("probabilities", sluice.empty((2, 10))) for _ in images]
    inputs = [queues.put("image", each) for each in images]
    for entry, result, each in zip(inputs, results, images):
        np.testing.assert_allclose(result.result(PATIENCE), digits(each), atol=1e-6)
        assert entry.result(PATIENCE) is each


def test_full_and_closed_queues_refuse(queues: sluice.Queues, image: Any) -> None:
    entries = [queues.put("image", image) for _ in range(4)]
    with pytest.raises(sluice.ResourceExhausted):
        queues.put("image", image)
    with pytest.raises(sluice.ResourceExhausted):
        queues.put("image", image, timeout=0.01)
    for name, array in (("image", image[:1]), ("image", image.astype(np.float64)), ("picture", image),
                        ("image", image[:, :, ::-1]), ("probabilities", np.zeros((2, 9), np.float32))):
        with pytest.raises(sluice.InvalidArgument):
            queues.put(name, array)
    assert not entries[0].cancel()
    queues.close()
    for entry in entries:
        assert isinstance(entry.exception(PATIENCE), sluice.Cancelled)
    with pytest.raises((sluice.FailedPrecondition, sluice.NotFound)):
        queues.put("image", image)


def test_queues_end_with_their_runtime(package: pathlib.Path, image: Any) -> None:
    runtime = sluice.Runtime()
    queues = runtime.load(package).queues()
    entry = queues.put("image", image)
    runtime.close()
    assert isinstance(entry.exception(PATIENCE), sluice.Cancelled)
