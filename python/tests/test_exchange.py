"""Tensors that stay in a daemon between requests, and that one daemon fetches from another."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sluice

from conftest import PATIENCE, same_type
from daemon import Daemon, running


@pytest.fixture
def client(daemon: Daemon) -> Iterator[sluice.Client]:
    with sluice.Client(daemon.address) as opened:
        yield opened


def test_tensor_that_is_put_is_an_input_and_is_read_back(client: sluice.Client, digits: sluice.Model,
                                                         image: Any) -> None:
    model, tensor = client.load(digits), client.put(image)
    np.testing.assert_array_equal(tensor.numpy(), image)
    np.testing.assert_array_equal(model(tensor), digits(image))
    np.testing.assert_array_equal(model.run({"image": tensor})["probabilities"], digits(image))
    np.testing.assert_array_equal(model.submit(image=tensor).result(PATIENCE), digits(image))
    tensor.remove()
    with pytest.raises(sluice.NotFound):
        tensor.numpy()
    with pytest.raises(sluice.NotFound):
        model(tensor)
    with pytest.raises(sluice.InvalidArgument, match="time to live"):
        client.put(image, ttl=1e6)


def test_tensor_is_brought_over_the_link_of_two_devices(tmp_path: pathlib.Path) -> None:
    machine = tmp_path / "machine.json"
    machine.write_text('{"devices": [{"count": 2}], "links": [{"a": 0, "b": 1}]}')
    with running(tmp_path, "--sim", str(machine)) as daemon, sluice.Client(daemon.address) as client:
        tensor = client.put(np.arange(3, dtype=np.float32))
        assert [tensor.bring(device) for device in (0, 1, 1)] == [None, 0, 1]
        with pytest.raises(sluice.InvalidArgument, match="there is no device 7"):
            tensor.bring(7)
        with pytest.raises(sluice.InvalidArgument, match="strings stay in the host's memory"):
            client.put(np.array(["a"], object)).bring(0)


def test_processors_read_tensors_where_they_are(client: sluice.Client) -> None:
    with pytest.raises(sluice.InvalidArgument, match="works on the host's memory"):
        client.put(np.zeros(3, np.float32)).bring(0)


def test_strings_and_small_types_stay_what_they_are(client: sluice.Client) -> None:
    import ml_dtypes
    words = np.array([["a", "bc"], ["", "def"]], object)
    np.testing.assert_array_equal(client.put(words).numpy(), words)
    small = np.arange(5, dtype=np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(client.put(small).numpy(), small)


def test_output_that_is_kept_is_the_next_input(client: sluice.Client) -> None:
    model = client.load(same_type(1))  # f32
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    kept = model.run({"x": x}, kept=["y"], ttl=60)["y"]
    assert isinstance(kept, sluice.ExchangedTensor)
    np.testing.assert_array_equal(model(kept), x)
    with pytest.raises(sluice.NotFound, match='no output "z"'):
        model.run({"x": x}, kept=["z"])
    later = model.submit(x, kept=["y"], ttl=60).result(PATIENCE)
    np.testing.assert_array_equal(model(later), x)
    posted = model.take(model.post(x, kept=["y"], ttl=60))
    np.testing.assert_array_equal(posted.numpy(), x)
    with pytest.raises(sluice.NotFound, match='no output "z"'):
        model.post(x, kept=["z"])


def test_index_of_another_client_is_not_found(daemon: Daemon, client: sluice.Client, image: Any) -> None:
    tensor = client.put(image)
    with sluice.Client(daemon.address) as other, pytest.raises(sluice.NotFound):
        sluice.ExchangedTensor(other._native, tensor.index).numpy()


def test_runtime_of_this_process_has_no_exchange(local: sluice.Runtime, client: sluice.Client,
                                                 digits: sluice.Model, image: Any) -> None:
    model = local.load(digits)
    for each in (model, digits):
        with pytest.raises(sluice.InvalidArgument, match='input "image": the tensor is in the exchange of another'):
            each(client.put(image))
    with pytest.raises(sluice.Unimplemented, match="connect to a daemon"):
        model.run({"image": image}, kept=["probabilities"])


def test_daemon_fetches_what_another_one_offers(tmp_path: pathlib.Path, digits: sluice.Model,
                                                image: Any) -> None:
    (tmp_path / "tokens").write_text("knock inference guest\n")
    (tmp_path / "own").write_text("knock\n")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with running(tmp_path / "a", "--exchange-listen", "127.0.0.1:0", "--exchange-plain", "--exchange-peers",
                 "token:guest", "--token-file", str(tmp_path / "tokens")) as giver, \
            running(tmp_path / "b", "--exchange-sources", giver.exchange, "--exchange-plain",
                    "--exchange-token-file", str(tmp_path / "own")) as taker, \
            sluice.Client(giver.address) as there, sluice.Client(taker.address) as here:
        offer = there.put(image).offer()
        copy = here.fetch(offer, giver.exchange, timeout=PATIENCE)
        np.testing.assert_array_equal(copy.numpy(), image)
        np.testing.assert_array_equal(here.load(digits)(copy), digits(image))
        with pytest.raises(sluice.NotFound, match="offer the tensor again"):
            here.fetch((offer.exchange, "0" * 32), giver.exchange)
        with pytest.raises(sluice.PermissionDenied, match="exchange_sources"):
            here.fetch(offer, "127.0.0.1:1")
        with pytest.raises(sluice.InvalidArgument, match="time to live"):
            here.fetch(offer, giver.exchange, ttl=1e6)
        with pytest.raises(sluice.FailedPrecondition, match="exchange_peers"):
            here.put(image).offer()


def test_a_tensor_of_another_daemon_is_no_input(tmp_path: pathlib.Path, digits: sluice.Model, image: Any) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with running(tmp_path / "a") as first, running(tmp_path / "b") as second, \
            sluice.Client(first.address) as there, sluice.Client(second.address) as here:
        given, other = there.put(image), here.put(np.zeros_like(image))
        assert given.index == other.index, "daemons count alike"
        model = here.load(digits)
        for use in (lambda: model(given), lambda: model.run({"image": given}), lambda: model.submit(image=given)):
            with pytest.raises(sluice.InvalidArgument, match="fetch it by its offer, or put a copy"):
                use()
        np.testing.assert_array_equal(model(other), digits(np.zeros_like(image)))
