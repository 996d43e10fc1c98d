"""Traced models in a daemon."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
import sluice
import sluice.torch
import torch
from torch import nn

from conftest import Counter, assert_close
from daemon import Daemon, running
from processors import NUM_USABLE

X = torch.rand(1, 1, 3, 3)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon")) as started:
        yield started


@pytest.fixture(params=["default", "grpc"])
def client(daemon: Daemon, request: pytest.FixtureRequest) -> Iterator[sluice.Client]:
    with sluice.Client(daemon.address, transport=request.param) as opened:
        yield opened


def test_a_model_is_loaded_runs_and_is_watched_in_a_daemon(client: sluice.Client, conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, X)
    served = traced.load_into(client, name="conv")
    with torch.no_grad():
        assert_close(served(X), conv(X))
        assert_close(nn.Sequential(served, nn.ReLU())(X), conv(X).relu())
    assert client.find("conv").statistics().answered == {"ok": 2}, "the daemon ran them"
    assert [model.name for model in client.models()] == ["conv"]
    del served
    assert client.models() == (), "it leaves with its last reference"


def test_models_of_a_group_and_batches_run_in_a_daemon(client: sluice.Client) -> None:
    model = nn.Linear(4, 2).eval()
    traced = sluice.torch.dynamic_batch(sluice.torch.trace(model, torch.rand(2, 4)))
    with client.create_group(1) as group:
        served = traced.load_into(group, name="linear")
        client.find("linear").start()
        x = torch.rand(7, 4)
        assert_close(served(x), model(x).detach())
        assert client.find("linear").statistics().accepted == 4, "chunks of two rows"
        client.find("linear").unload()


def test_states_stay_with_the_caller(client: sluice.Client) -> None:
    traced = sluice.torch.trace(Counter().eval(), torch.zeros(1))
    first = traced.load_into(client)
    second = first.session()
    zero = torch.zeros(1)
    assert [float(first(zero)) for _ in range(3)] == [4, 5, 6]
    assert float(second(zero)) == 4
    assert float(first.state["count"][0]) == 6


@pytest.mark.skipif(NUM_USABLE < 2, reason=f"needs two processors; the tests may use {NUM_USABLE}")
def test_the_daemons_settings_say_which_device_comes_first(tmp_path: pathlib.Path, conv: nn.Module) -> None:
    machine = json.loads(subprocess.check_output([os.environ["SLUICE_PROGRAM"], "ls", "--json"]))
    whole = machine["devices"][0]
    machine["devices"] = [{**whole, "id": i, "num_cores": 1, "cpus": [whole["cpus"][i]], "caches": []} for i in range(2)]
    machine["links"] = []
    (tmp_path / "parts.json").write_text(json.dumps(machine))
    with running(tmp_path, "-m", str(tmp_path / "parts.json"), "-t", "1") as daemon, sluice.Client(daemon.address) as client:
        served = sluice.torch.trace(conv, X).load_into(client)
        assert_close(served(X), conv(X).detach())
        assert [device for group in client.groups() for device, _ in group.cores] == [1]


def test_a_model_in_a_daemon_is_saved_as_it_was(client: sluice.Client, conv: nn.Module, tmp_path: pathlib.Path) -> None:
    served = sluice.torch.trace(conv, X).load_into(client)
    served.save(tmp_path / "conv.sluice")
    with torch.no_grad():
        assert_close(sluice.torch.load(tmp_path / "conv.sluice")(X), conv(X))


def test_what_no_runtime_can_load_is_refused(client: sluice.Client, conv: nn.Module) -> None:
    served = sluice.torch.trace(conv, X).load_into(client)
    for call in (lambda: served.load_into(client), lambda: sluice.torch.set_cores(served, 0)):
        with pytest.raises(sluice.InvalidArgument, match="runtime"):
            call()
