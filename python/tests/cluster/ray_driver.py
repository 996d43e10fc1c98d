"""What a program does on a Ray cluster of three hosts with two groups each: see test_ray_hosts.py. Not a test itself.

    ray_driver.py PACKAGE SLOW_PACKAGE HEAD:PORT
"""

from __future__ import annotations

import collections
import os
import pathlib
import signal
import sys
from typing import Any

import numpy as np
import ray
import sluice
from sluice import ray as on_ray

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from eventually import HANG_S, eventually  # noqa: E402
from ray_nodes import be_patient  # noqa: E402
from ray_steps import (  # noqa: E402
    ROWS,
    follows_its_queue,
    kill_process,
    lives,
    many,
    owned_references,
    queue_rule,
)

FLAGS = ("--map", "", "--drain-seconds", "1")
REQUESTS = 50


def nodes() -> dict[str, str]:
    """Addresses of the nodes that live, by their ids."""
    return {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}


def places_of(models: list[Any]) -> list[dict[str, Any]]:
    return list(ray.get([model.place.remote() for model in models], timeout=HANG_S))


def raylet_at(address: str) -> int:
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text(errors="replace").split("\0")
        except OSError:
            continue
        if pathlib.Path(words[0]).name == "raylet" and f"--node_ip_address={address}" in words:
            return int(folder.name)
    raise AssertionError(f"no raylet at {address}")


def same_answers(requests: list[Any], expected: Any) -> None:
    for answer in ray.get(requests, timeout=HANG_S):
        np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


def six_groups(package: str) -> tuple[list[Any], list[dict[str, Any]]]:
    models = [on_ray.place(package, flags=FLAGS) for _ in range(6)]
    places = places_of(models)
    assert sorted(collections.Counter(place["node"] for place in places).values()) == [2, 2, 2], places
    return models, places


def an_elastic_deployment(package: str) -> None:
    """Three replicas are one on each host."""
    from ray import serve

    serve.start(proxy_location="Disabled")
    app = on_ray.deployment(package, name="slow", flags=FLAGS, autoscaling_config=queue_rule(1, 3), max_replicas_per_node=1)
    follows_its_queue(serve.run(app, name="slow", route_prefix=None), "slow", 1, 3)
    serve.shutdown()
    eventually(lambda: ray.available_resources().get(on_ray.RESOURCE, 0) == 6)


def of_other_host(models: list[Any], places: list[dict[str, Any]]) -> Any:
    """A model that is not on the first one's host."""
    return next(model for model, place in zip(models, places, strict=True) if place["node"] != places[0]["node"])


def a_tensor_crosses_hosts(models: list[Any], places: list[dict[str, Any]], image: Any, expected: Any) -> None:
    """Made on one host, read on another: the reference alone goes through this program."""
    make = ray.remote(many).options(num_cpus=0, scheduling_strategy=ray.util.scheduling_strategies
                                    .NodeAffinitySchedulingStrategy(places[0]["node"], soft=False))
    reading = of_other_host(models, places).infer_one.remote({"image": make.remote(image)})
    answer = ray.get(reading, timeout=HANG_S)
    assert len(answer) == ROWS
    np.testing.assert_allclose(answer[-1:], expected, rtol=1e-5, atol=1e-6)


def a_dead_owner(models: list[Any], places: list[dict[str, Any]], image: Any, expected: Any) -> None:
    reader = of_other_host(models, places)
    owner, [kept, lost] = owned_references(image, 2, places[0]["node"])
    assert len(ray.get(reader.infer_one.remote({"image": kept}), timeout=HANG_S)) == ROWS
    kill_process(owner)
    try:
        ray.get(reader.infer_one.remote({"image": lost}), timeout=HANG_S)
        raise AssertionError("a value outlived its owner")
    except sluice.Unavailable as error:
        assert 'input "image"' in str(error), error
    same_answers([reader.infer_one.remote({"image": image})], expected)


def a_killed_daemon(models: list[Any], places: list[dict[str, Any]], image: Any, expected: Any) -> None:
    process = places[-1]["process"]
    requests = [model.infer_one.remote({"image": image}) for model in models for _ in range(REQUESTS // len(models))]
    os.kill(process, signal.SIGKILL)
    same_answers(requests, expected)
    eventually(lambda: not lives(process))


def a_killed_raylet(models: list[Any], image: Any, expected: Any, head: str) -> None:
    """The raylet of a host without the head is killed. Two groups elsewhere are free for its models."""
    places = places_of(models)
    of_head = next(node for node, address in nodes().items() if address == head)
    lost = next(place["node"] for place in places if place["node"] != of_head)
    spare = [i for i, place in enumerate(places) if place["node"] not in (lost, of_head)]
    for i in spare:
        ray.kill(models[i])
    kept = [model for i, model in enumerate(models) if i not in spare]
    daemons = {place["process"] for place in places if place["node"] == lost}
    requests = [model.infer_one.remote({"image": image}) for model in kept for _ in range(REQUESTS // len(kept))]
    os.kill(raylet_at(nodes()[lost]), signal.SIGKILL)
    same_answers(requests, expected)
    eventually(lambda: not any(map(lives, daemons)), why="a daemon outlived its raylet")
    assert lost not in {place["node"] for place in places_of(kept)}
    same_answers([model.infer_one.remote({"image": image}) for model in kept], expected)


def main() -> None:
    package, slow_package, head = sys.argv[1:]
    be_patient()  # with Serve's router, which runs here
    ray.init(address=head, log_to_driver=False)
    eventually(lambda: len(nodes()) == 3)
    image = np.random.default_rng(1).random((1, 1, 8, 8), np.float32)
    expected = sluice.load(package)(image)
    an_elastic_deployment(slow_package)
    print("one replica, three on three hosts, and one")
    models, places = six_groups(package)
    same_answers([model.infer_one.remote({"image": image}) for model in models], expected)
    print("six groups: two on each host")
    a_tensor_crosses_hosts(models, places, image, expected)
    print("a tensor crossed hosts")
    a_dead_owner(models, places, image, expected)
    print("a dead owner is an error of the input")
    a_killed_daemon(models, places, image, expected)
    print("a killed daemon cost no request")
    a_killed_raylet(models, image, expected, head.partition(":")[0])
    print("a killed raylet cost no request and left no daemon")


if __name__ == "__main__":
    main()
