"""Cores, replicas, DataParallel, daemons, and models that are loaded later."""

from __future__ import annotations

import copy
import json
import os
import pathlib
import pickle
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import sluice
import sluice.torch
import torch
from torch import nn

from conftest import Counter, assert_close
from daemon import Daemon, running
from processors import NUM_USABLE, assert_computes_on, core_sets

X = torch.rand(1, 1, 3, 3)
MATRIX = torch.ones(256, 256)

two_cores = pytest.mark.skipif(NUM_USABLE < 2, reason=f"needs two processors; the tests may use {NUM_USABLE}")


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A package that computes for a millisecond or so."""
    path = tmp_path_factory.mktemp("placement") / "product.sluice"
    sluice.torch.trace(lambda x: x @ x, MATRIX).save(path)
    return path


def count_runs(models: Sequence[Any]) -> list[int]:
    """How often each of the models has run, from now on."""
    counts = [0] * len(models)
    for i, model in enumerate(models):
        def counted(feeds: Any, i: int = i, run: Callable[[Any], Any] = model.run) -> Any:
            counts[i] += 1
            return run(feeds)

        model.run = counted
    return counts


def test_a_model_moves_to_a_core_with_its_weights(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, X, inline_weights=False)
    last = sluice.torch.num_cores() - 1
    assert sluice.torch.neuron.move_trace_to_device(traced, last) is None
    assert traced._loaded.opened["cores"] == [last]
    assert_close(traced(X), conv(X).detach())
    other = type(conv)().eval()
    sluice.torch.replace_weights(traced, other)
    assert traced._loaded.opened["cores"] == [last], "new weights go to the same core"
    assert_close(traced(X), other(X).detach())


def test_cores_that_do_not_exist_are_value_errors(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, X)
    total = sluice.torch.num_cores()
    for start, count, message in ((total, 1, f"core {total}: there are {total}"), (-1, 1, "core -1"), (0, 0, "-1 or at least"),
                                  (0, total + 1, f"{total + 1} cores from 0")):
        with pytest.raises(ValueError, match=message):
            sluice.torch.set_cores(traced, start, count)
    with pytest.raises(ValueError, match="core 99"):
        sluice.torch.neuron.move_trace_to_device(traced, 99)


def test_replicas_take_turns_on_all_cores(conv: nn.Module) -> None:
    traced = sluice.torch.neuron.set_multicore(sluice.torch.trace(conv, X))
    replicas = traced._loaded.models
    assert [model.opened["cores"] for model in replicas] == [[core] for core in range(sluice.torch.num_cores())]
    counts = count_runs(replicas)
    results = []
    threads = [threading.Thread(target=lambda: results.append(traced(X))) for _ in range(4 * len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [4] * len(replicas)
    for result in results:
        assert_close(result, conv(X).detach())


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8, 16])
def test_a_core_runs_its_share_of_the_chunks_of_a_batch(conv: nn.Module, rows: int) -> None:
    """The document's rule: time grows with ceil(rows / traced rows) / cores."""
    traced = sluice.torch.set_cores(sluice.torch.trace(conv, torch.rand(2, 1, 3, 3)), count=-1)
    cores = sluice.torch.num_cores()
    counts = count_runs(traced._loaded.models)
    x = torch.rand(rows, 1, 3, 3)
    assert_close(sluice.torch.dynamic_batch(traced)(x), conv(x).detach())
    chunks = -(-rows // 2)
    assert sum(counts) == chunks and max(counts) == -(-chunks // cores)


@two_cores
def test_the_chunks_of_a_batch_are_on_all_cores_at_once(conv: nn.Module) -> None:
    traced = sluice.torch.dynamic_batch(sluice.torch.neuron.set_multicore(sluice.torch.trace(conv, X)))
    models = traced._loaded.models
    together = threading.Barrier(len(models), timeout=60)  # breaks if one chunk waits for another
    for model in models:
        def meeting(feeds: Any, run: Callable[[Any], Any] = model.run) -> Any:
            together.wait()
            return run(feeds)

        model.run = meeting
    assert traced(torch.rand(len(models), 1, 3, 3)).shape[0] == len(models)


def test_contexts_place_what_is_loaded_inside_and_are_of_one_thread(conv: nn.Module, tmp_path: pathlib.Path) -> None:
    sluice.torch.trace(conv, X).save(tmp_path / "conv.sluice")
    elsewhere = []
    with sluice.torch.cores_context(0):
        inside = sluice.torch.load(tmp_path / "conv.sluice")
        thread = threading.Thread(target=lambda: elsewhere.append(sluice.torch.load(tmp_path / "conv.sluice")))
        thread.start()
        thread.join()
    assert inside._loaded.opened["cores"] == [0]
    assert elsewhere[0]._loaded.opened == {}
    with sluice.torch.neuron.multicore_context():
        assert len(sluice.torch.trace(conv, X)._loaded.models) == sluice.torch.num_cores()
    assert sluice.torch.load(tmp_path / "conv.sluice")._loaded.opened == {}


def test_models_are_loaded_on_the_cores_in_turn(conv: nn.Module, tmp_path: pathlib.Path) -> None:
    cores = sluice.torch.num_cores()
    try:
        sluice.torch.load_in_turn()
        traced = [sluice.torch.trace(conv, X)]
        traced[0].save(tmp_path / "conv.sluice")
        traced += [sluice.torch.load(tmp_path / "conv.sluice") for _ in range(2 * cores)]
        assert [model._loaded.opened["cores"] for model in traced] == [[i % cores] for i in range(2 * cores + 1)]
        assert_close(traced[-1](X), conv(X).detach())
        with sluice.torch.cores_context(cores - 1):
            assert sluice.torch.load(tmp_path / "conv.sluice")._loaded.opened["cores"] == [cores - 1]
        sluice.torch.load_in_turn(cores)
        assert sluice.torch.load(tmp_path / "conv.sluice")._loaded.opened["cores"] == list(range(cores))
        with pytest.raises(ValueError, match="there are"):
            sluice.torch.load_in_turn(cores + 1)
    finally:
        sluice.torch.load_in_turn(None)
    assert sluice.torch.load(tmp_path / "conv.sluice")._loaded.opened == {}


def test_states_stay_on_one_core() -> None:
    traced = sluice.torch.trace(Counter().eval(), torch.zeros(1))
    traced(torch.zeros(1))
    assert sluice.torch.set_cores(traced, 0)(torch.zeros(1)).item() == 5
    if sluice.torch.num_cores() > 1:
        with pytest.raises(ValueError, match=r"keeps state \(count\)"):
            sluice.torch.set_cores(traced, count=-1)
        with pytest.raises(ValueError, match=r"keeps state \(count\)"), sluice.torch.cores_context(count=-1):
            sluice.torch.trace(Counter().eval(), torch.zeros(1))
    with pytest.raises(ValueError, match="state cannot be split"):
        sluice.torch.DataParallel(traced)


@pytest.mark.parametrize("rows", [1, 2, 5, 8])
def test_data_parallel_takes_any_batch_on_all_cores(conv: nn.Module, rows: int) -> None:
    parallel = sluice.torch.DataParallel(sluice.torch.trace(conv, X))
    assert parallel.num_workers == sluice.torch.num_cores()
    x = torch.rand(rows, 1, 3, 3)
    assert_close(parallel(x), conv(x).detach())


def test_data_parallel_without_dynamic_batching_takes_the_traced_size_per_core() -> None:
    traced = sluice.torch.trace(lambda x: x * 2, torch.rand(3, 2))
    cores = sluice.torch.num_cores()
    columns = sluice.torch.DataParallel(traced, dim=1)
    x = torch.rand(3, 2 * cores)
    assert_close(columns(x), x * 2)
    with pytest.raises(ValueError, match="without dynamic batching it must be 2 for each of up to"):
        columns(torch.rand(3, 2 * cores + 1))
    rows = sluice.torch.DataParallel(traced, device_ids=[0])
    assert rows(torch.rand(7, 2)).shape == (7, 2)
    rows.disable_dynamic_batching()
    with pytest.raises(ValueError, match="must be 3"):
        rows(torch.rand(7, 2))
    with pytest.raises(ValueError, match="device_ids must be some of"):
        sluice.torch.DataParallel(traced, device_ids=[cores])
    with pytest.raises(ValueError, match="of one size in all inputs"):
        rows(torch.rand(0, 2))


def test_lazy_models_load_at_the_first_call_and_async_ones_in_the_background(conv: nn.Module,
                                                                             tmp_path: pathlib.Path) -> None:
    sluice.torch.trace(conv, X).save(tmp_path / "conv.sluice")
    lazy = sluice.torch.lazy_load(tmp_path / "conv.sluice")
    assert not lazy.is_loaded()
    assert_close(lazy(X), conv(X).detach())
    assert lazy.is_loaded()
    background = sluice.torch.async_load(tmp_path / "conv.sluice")
    assert background.wait().inputs[0].type == "f32[1,1,3,3]"
    assert_close(background(X), conv(X).detach())
    missing = sluice.torch.async_load(tmp_path / "missing.sluice")
    with pytest.raises(FileNotFoundError, match="missing.sluice"):
        missing(X)


def test_a_load_whose_thread_does_not_start_is_tried_again(conv: nn.Module, tmp_path: pathlib.Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    sluice.torch.trace(conv, X).save(tmp_path / "conv.sluice")
    lazy = sluice.torch.lazy_load(tmp_path / "conv.sluice")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            lazy(X)
    assert not lazy.is_loaded()
    assert_close(lazy(X), conv(X).detach())


@pytest.mark.parametrize("is_loaded", [False, True])
def test_lazy_models_are_copied_and_pickled(conv: nn.Module, tmp_path: pathlib.Path, is_loaded: bool) -> None:
    sluice.torch.trace(conv, X).save(tmp_path / "conv.sluice")
    lazy = sluice.torch.lazy_load(tmp_path / "conv.sluice")
    if is_loaded:
        lazy.wait()
    pickled = pickle.dumps(lazy)
    copied = copy.deepcopy(nn.Sequential(lazy))
    (tmp_path / "conv.sluice").unlink()
    for each in (copied, pickle.loads(pickled)):
        assert_close(each(X), conv(X).detach())


def test_a_copy_of_a_lazy_model_has_states_of_its_own(tmp_path: pathlib.Path) -> None:
    sluice.torch.trace(Counter().eval(), torch.zeros(1)).save(tmp_path / "counter.sluice")
    lazy = sluice.torch.lazy_load(tmp_path / "counter.sluice")
    assert lazy(torch.zeros(1)).item() == 4
    copied = copy.deepcopy(lazy)
    assert copied(torch.zeros(1)).item() == 4
    assert lazy(torch.zeros(1)).item() == 5


@two_cores
def test_a_moved_model_computes_on_its_core(product: pathlib.Path) -> None:
    traced = sluice.torch.load(product)
    for core in (1, 0):
        sluice.torch.neuron.move_trace_to_device(traced, core)
        assert_computes_on(lambda: traced(MATRIX), core_sets(core))


@two_cores
def test_replicas_and_shares_compute_each_on_its_core(product: pathlib.Path) -> None:
    replicas = sluice.torch.set_cores(sluice.torch.load(product), 0, 2)
    assert_computes_on(lambda: replicas(MATRIX), core_sets(0, 1))
    parallel = sluice.torch.DataParallel(sluice.torch.load(product), [0, 1], set_dynamic_batching=False)
    assert_computes_on(lambda: parallel(torch.ones(512, 256)), core_sets(0, 1))


@two_cores
@pytest.mark.parametrize("load", [sluice.torch.load, sluice.torch.lazy_load, sluice.torch.async_load, torch.load])
def test_models_loaded_in_a_context_compute_on_its_cores(product: pathlib.Path, tmp_path: pathlib.Path,
                                                         load: Callable[..., Any]) -> None:
    path, options = product, {}
    if load is torch.load:
        path, options = tmp_path / "product.pt", {"weights_only": False}
        torch.save(sluice.torch.load(product), path)
    with sluice.torch.cores_context(1):
        model = load(path, **options)
    assert_computes_on(lambda: model(MATRIX), core_sets(1))


@two_cores
def test_models_loaded_in_turn_compute_on_different_cores(product: pathlib.Path) -> None:
    try:
        sluice.torch.load_in_turn()
        first, second = sluice.torch.load(product), sluice.torch.load(product)
    finally:
        sluice.torch.load_in_turn(None)
    assert_computes_on(lambda: first(MATRIX), core_sets(0))
    assert_computes_on(lambda: second(MATRIX), core_sets(1))


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


@two_cores
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
