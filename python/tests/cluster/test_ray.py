"""Models on a Ray cluster of several raylets on this machine. Ray is no dependency of the tests: install it to run these.

    pip install "ray[serve]"; scripts/test-python BUILD -k test_ray
"""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

ray = pytest.importorskip("ray")

import sluice  # noqa: E402
from conftest import PATIENCE, eventually  # noqa: E402
from ray_cluster import FLAGS, package, started  # noqa: E402, F401 - package is a fixture
from ray_nodes import start_serve  # noqa: E402
from sluice import ray as on_ray  # noqa: E402
from sluice.ray import __main__ as command  # noqa: E402
from sluice.ray import placed  # noqa: E402

@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without groups, and two nodes with one each."""
    with started(nodes=2, groups=1) as made:
        yield made


@pytest.fixture(scope="module")
def image() -> Any:
    return np.random.default_rng(1).random((1, 1, 8, 8), np.float32)


class OneGroup:
    """A client of a daemon with cores for one group, whose model can fail. In place of supervisor, client, group and model."""

    id = 1
    holder: OneGroup | None = None
    asked_kind = ""
    phase = "started"

    def __init__(self, *_: Any, **__: Any) -> None:
        self.address = self.process = self
        self.phase = "started"

    def remote(self) -> int:
        return 1

    @property
    def info(self) -> OneGroup:
        return self

    def create_group(self, cores: int, *, kind: str) -> OneGroup:
        if OneGroup.holder is not None:
            raise sluice.ResourceExhausted("no free cores")
        OneGroup.holder, OneGroup.asked_kind = self, kind
        return self

    def load(self, package: Any, **options: Any) -> OneGroup:
        return self

    def start(self) -> None:
        pass

    def run(self, inputs: Any) -> dict[str, int]:
        if self.phase == "failed":
            raise sluice.FailedPrecondition("the model has failed")
        return {"y": 1}

    def close(self) -> None:
        OneGroup.holder = None


def test_a_failed_model_comes_back_on_the_only_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed, "supervisor", OneGroup)
    monkeypatch.setattr(placed, "Client", OneGroup)
    monkeypatch.setattr(placed.ray, "get", lambda value: value)
    model = placed.PlacedModel("x")
    assert model.infer({}) == {"y": 1} and OneGroup.asked_kind == "cpu"
    assert OneGroup.holder is not None
    OneGroup.holder.phase = "failed"
    assert model.infer({}) == {"y": 1}


def test_groups_are_of_one_kind_of_device() -> None:
    devices = [{"kind": "gpu", "num_free_cores": 132}, {"kind": "cpu", "num_free_cores": 5}]
    assert on_ray.resources(2, {"devices": devices}) == {on_ray.RESOURCE: 2}
    assert on_ray.resources(2, {"devices": devices}, kind="gpu") == {on_ray.RESOURCE: 66}


def test_the_command_says_why_it_knows_no_groups(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("SLUICE_PROGRAM", "false")
    assert command.main(["2"]) == 1
    assert "sluice capacity ended with 1" in capsys.readouterr().err


def place(package: pathlib.Path) -> Any:
    return on_ray.place(str(package), cores=1, flags=FLAGS)


def is_alive(process: int) -> bool:
    return pathlib.Path(f"/proc/{process}").exists()


def test_models_get_groups_of_different_nodes_and_a_third_waits(cluster: Any, package: pathlib.Path, image: Any) -> None:
    expected = sluice.load(package)(image)
    models = [place(package) for _ in range(2)]
    places = ray.get([model.place.remote() for model in models])
    assert len({one["node"] for one in places}) == 2 and len({one["process"] for one in places}) == 2
    for outputs in ray.get([model.infer.remote({"image": image}) for model in models]):
        np.testing.assert_array_equal(outputs["probabilities"], expected)
    third = place(package)
    waiting = third.place.remote()
    assert ray.wait([waiting], timeout=1)[0] == []
    ray.kill(models[0])  # its group is free again, in Ray and in the daemon
    assert ray.get(waiting, timeout=PATIENCE)["node"] == places[0]["node"]
    for model in (third, models[1]):
        ray.kill(model)


def test_a_reference_is_an_input(cluster: Any, package: pathlib.Path, image: Any) -> None:
    model = place(package)
    reference = ray.put(image)
    probabilities = ray.get(model.infer_one.remote({"image": reference}))
    np.testing.assert_array_equal(probabilities, sluice.load(package)(image))
    ray.kill(model)


def test_a_killed_daemon_comes_back_and_no_request_is_lost(cluster: Any, package: pathlib.Path, image: Any) -> None:
    model = place(package)
    before = ray.get(model.place.remote())["process"]
    expected = ray.get(model.infer_one.remote({"image": image}))
    requests = [model.infer_one.remote({"image": image}) for _ in range(50)]
    os.kill(before, signal.SIGKILL)
    for probabilities in ray.get(requests, timeout=PATIENCE):
        np.testing.assert_array_equal(probabilities, expected)
    np.testing.assert_array_equal(ray.get(model.infer_one.remote({"image": image}), timeout=PATIENCE), expected)
    after = ray.get(model.place.remote())["process"]
    assert after != before and is_alive(after) and not is_alive(before)
    ray.kill(model)


def test_a_wrong_request_is_an_error_and_no_restart(cluster: Any, package: pathlib.Path, image: Any) -> None:
    model = place(package)
    before = ray.get(model.place.remote())["process"]
    with pytest.raises(sluice.InvalidArgument):
        ray.get(model.infer.remote({"image": image[:, :, :4]}))
    assert ray.get(model.place.remote())["process"] == before
    ray.kill(model)


def test_serve_calls_a_replica_with_a_group(cluster: Any, package: pathlib.Path, image: Any) -> None:
    serve = pytest.importorskip("ray.serve")
    start_serve(proxy_location="Disabled")
    handle = serve.run(on_ray.deployment(str(package), flags=FLAGS, name="digits", num_replicas=2), name="digits",
                       route_prefix=None)
    expected = sluice.load(package)(image)
    for outputs in [handle.remote({"image": image}) for _ in range(8)]:
        np.testing.assert_array_equal(outputs.result(timeout_s=PATIENCE)["probabilities"], expected)
    serve.shutdown()


def test_a_killed_node_leaves_no_daemon(cluster: Any, package: pathlib.Path, image: Any) -> None:
    """The last test: the cluster has one node less from here on. The model moves to the other node."""
    model = place(package)
    before = ray.get(model.place.remote())
    [node] = [one for one in cluster.nodes_with_groups if one.node_id == before["node"]]
    cluster.remove_node(node, allow_graceful=False)
    eventually(lambda: not is_alive(before["process"]))

    def has_moved() -> bool:
        try:
            return bool(ray.get(model.place.remote(), timeout=PATIENCE)["node"] != before["node"])
        except ray.exceptions.RayError:
            return False  # not yet known to be dead

    eventually(has_moved)
    np.testing.assert_array_equal(ray.get(model.infer_one.remote({"image": image}), timeout=PATIENCE),
                                  sluice.load(package)(image))
