"""What a client of a daemon has beyond a local runtime: sessions, and daemons that are gone."""

from __future__ import annotations

import concurrent.futures
import pathlib
from typing import Any

import numpy as np
import pytest
import sluice

from conftest import PATIENCE, eventually
from daemon import Daemon, running


def test_model_of_a_client_without_session_stays(daemon: Daemon, digits: sluice.Model,
                                                 image: Any) -> None:
    with sluice.Client(daemon.address, is_detached=True) as client:
        client.load(digits, name="kept")
    with sluice.Client(daemon.address, session="other") as client:
        kept = client.find("kept")
        np.testing.assert_array_equal(kept(image), digits(image))
        with pytest.raises(sluice.NotFound, match='"kept"'):
            client.find("nothing")
        kept.unload()
        assert "kept" not in [info.name for info in client.models()]


def test_model_of_a_session_ends_with_it(daemon: Daemon, digits: sluice.Model) -> None:
    with sluice.Client(daemon.address) as first, sluice.Client(daemon.address) as second:
        model = first.load(digits, name="mine")
        assert "mine" in [info.name for info in second.models()]
        first.close()
        eventually(lambda: all(info.name != "mine" for info in second.models()))
        with pytest.raises(sluice.FailedPrecondition):
            model.statistics()


def test_path_on_the_server_is_in_its_folders(daemon: Daemon, digits: sluice.Model, image: Any,
                                              tmp_path: pathlib.Path) -> None:
    package = daemon.folder / "served.sluice"
    digits.save(package)
    digits.save(tmp_path / "other.sluice")
    with sluice.Client(daemon.address) as client:
        model = client.load(package, is_server_path=True)
        assert model.name == "served" and model(image).shape == (2, 10)
        with pytest.raises((sluice.PermissionDenied, sluice.NotFound)):
            client.load(tmp_path / "other.sluice", is_server_path=True)


def test_what_a_daemon_lacks_is_unimplemented(daemon: Daemon, digits: sluice.Model) -> None:
    with sluice.Client(daemon.address) as client:
        model = client.load(digits)
        for call in (lambda: client.combine([model]), lambda: client.load(digits, is_on_demand=True)):
            with pytest.raises(sluice.Unimplemented):
                call()


def test_a_group_waits_for_cores(tmp_path: pathlib.Path) -> None:
    with running(tmp_path) as daemon, sluice.Client(daemon.address) as client:
        all_cores = client.create_group(0)
        with pytest.raises(sluice.DeadlineExceeded, match="no cores became free in time"):
            client.create_group(1, timeout=0.05)
        with pytest.raises(sluice.ResourceExhausted):
            client.create_group(1)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(client.create_group, 1, timeout=PATIENCE)
            with pytest.raises(concurrent.futures.TimeoutError):
                waiting.result(0.1)
            all_cores.destroy()
            waiting.result(PATIENCE).destroy()


@pytest.mark.parametrize("ring", [True, False])
def test_requests_go_over_the_ring_or_not(daemon: Daemon, digits: sluice.Model, image: Any,
                                          ring: bool) -> None:
    with sluice.Client(daemon.address, transport="default" if ring else "grpc") as client:
        np.testing.assert_array_equal(client.load(digits)(image), digits(image))


def test_daemon_that_is_not_there_is_unavailable(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ConnectionError) as raised:
        sluice.Client(f"unix:{tmp_path / 'none.sock'}", timeout=0.1)
    assert isinstance(raised.value, sluice.Unavailable)
    with pytest.raises(sluice.InvalidArgument):
        sluice.Client("no address", timeout=0.1)


def test_daemon_that_dies_fails_requests(tmp_path: pathlib.Path, slow: sluice.Model) -> None:
    with running(tmp_path) as daemon:
        client = sluice.Client(daemon.address)
        model, x = client.load(slow, depth=1, queue_limit=10), np.ones(64, np.float32)
        requests = [model.submit(np.int64(90_000_000), x) for _ in range(3)]
        daemon.kill()
        for request in requests:
            assert isinstance(request.exception(PATIENCE), sluice.Unavailable)
        with pytest.raises(sluice.Unavailable):
            model(np.int64(1), x)
        client.close()


def test_posted_request_is_taken_by_another_connection_of_the_session(daemon: Daemon, digits: sluice.Model,
                                                                      image: Any) -> None:
    with sluice.Client(daemon.address) as first:
        owned = first.load(digits, name="posted")  # without it the model is unloaded, and its requests end
        posted = owned.post(image)
        with sluice.Client(daemon.address, session_token=first.session_token) as second:
            model = second.find("posted")
            np.testing.assert_array_equal(model.take(posted), digits(image))
            with pytest.raises(sluice.NotFound):
                model.take(posted)
            model.cancel(posted)  # without effect
        assert first.models(), "the session is the first client's"
    with sluice.Runtime() as runtime, pytest.raises(sluice.Unimplemented):
        runtime.load(digits).post(image)


def test_closing_a_client_ends_its_wait_for_a_posted_request(daemon: Daemon, slow: sluice.Model) -> None:
    with sluice.Client(daemon.address) as first:
        owned = first.load(slow, name="endless")
        posted = owned.post(np.int64(2**62), np.ones(64, np.float32))
        second = sluice.Client(daemon.address, session_token=first.session_token)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(second.find("endless").take, posted)
            second.close()
            with pytest.raises((sluice.Cancelled, sluice.FailedPrecondition)):
                waiting.result(PATIENCE)
        with pytest.raises(sluice.Unavailable):
            owned.take(posted, wait=0)
        owned.cancel(posted)
        with pytest.raises(sluice.Cancelled):
            owned.take(posted)
