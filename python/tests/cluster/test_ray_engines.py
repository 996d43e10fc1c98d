"""Gangs, graphs, Ray Data and Ray Serve on three raylets of this machine, with two groups each.

    pip install "ray[serve,data]"; scripts/test-python BUILD -k test_ray_engines
"""

from __future__ import annotations

import collections
import gc
import http.client
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

ray = pytest.importorskip("ray")

import sluice  # noqa: E402
from conftest import DIGITS, PATIENCE, eventually  # noqa: E402
from ports import free_port  # noqa: E402
from ray.util.placement_group import placement_group, remove_placement_group  # noqa: E402
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy  # noqa: E402
from ray_cluster import FLAGS, package, started  # noqa: E402, F401 - package is a fixture
from ray_nodes import start_serve  # noqa: E402
from ray_steps import ROWS, SLOW_INPUTS, follows_its_queue, kill_process, owned_references, queue_rule  # noqa: E402
from sluice import ray as on_ray  # noqa: E402
from sluice.cluster.cut import cut  # noqa: E402

EDGE = "relu2"  # of digits.onnx


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with started(nodes=3, groups=2) as made:
        yield made


@pytest.fixture(scope="module")
def images() -> Any:
    return np.random.default_rng(1).random((24, 1, 8, 8), np.float32)


def free_groups() -> float:
    return float(ray.available_resources().get(on_ray.RESOURCE, 0))


def let_go(*models: Any) -> None:
    """Their groups are free again, for the next test."""
    before = free_groups()
    for model in models:
        ray.kill(model)
    eventually(lambda: free_groups() >= before + len(models), PATIENCE)


def test_six_groups_are_two_of_each_node(cluster: Any, package: pathlib.Path, images: Any) -> None:
    models = [on_ray.place(str(package), flags=FLAGS) for _ in range(6)]
    places = ray.get([model.place.remote() for model in models], timeout=PATIENCE)
    assert sorted(collections.Counter(place["node"] for place in places).values()) == [2, 2, 2]
    assert len({(place["node"], place["group"]) for place in places}) == 6
    expected = sluice.load(package)(images[:1])
    for outputs in ray.get([model.infer.remote({"image": images[:1]}) for model in models]):
        np.testing.assert_array_equal(outputs["probabilities"], expected)
    let_go(*models)


def test_a_gang_is_on_three_nodes_or_waits_as_a_whole(cluster: Any, package: pathlib.Path) -> None:
    gangs = [placement_group([{on_ray.RESOURCE: 1}] * 3, strategy="STRICT_SPREAD") for _ in range(3)]
    first, second, third = gangs
    ray.get([first.ready(), second.ready()], timeout=PATIENCE)
    models = [on_ray.place(str(package), flags=FLAGS, scheduling_strategy=PlacementGroupSchedulingStrategy(
        first, placement_group_bundle_index=i)) for i in range(3)]
    assert len({place["node"] for place in ray.get([model.place.remote() for model in models], timeout=PATIENCE)}) == 3
    assert not third.wait(1), "all six groups are taken"
    remove_placement_group(second)
    ray.get(third.ready(), timeout=PATIENCE)
    for gang in (first, third):
        remove_placement_group(gang)  # and the models with it
    eventually(lambda: free_groups() == 6, PATIENCE)


def test_a_graph_of_two_stages_passes_a_reference(cluster: Any, tmp_path: pathlib.Path, images: Any) -> None:
    paths = [tmp_path / "first.sluice", tmp_path / "second.sluice"]
    for part, path in zip(cut(DIGITS, [EDGE]), paths, strict=True):
        sluice.compile(part).save(path)
    stages = [on_ray.place(str(path), flags=FLAGS, scheduling_strategy="SPREAD") for path in paths]
    edge = stages[0].infer_one.remote({"image": images})
    answer = ray.get(stages[1].infer_one.remote({EDGE: edge}), timeout=PATIENCE)
    np.testing.assert_allclose(answer, sluice.compile(DIGITS)(images), rtol=1e-5, atol=1e-6)
    let_go(*stages)


def test_reference_whose_owner_died_is_an_error_of_its_input(cluster: Any, package: pathlib.Path, images: Any) -> None:
    model = on_ray.place(str(package), flags=FLAGS)
    owner, [kept, lost] = owned_references(images[:1], 2)
    assert len(ray.get(model.infer_one.remote({"image": kept}), timeout=PATIENCE)) == ROWS
    kill_process(owner)
    with pytest.raises(sluice.Unavailable, match='input "image"'):
        ray.get(model.infer_one.remote({"image": lost}), timeout=PATIENCE)
    assert len(ray.get(model.infer_one.remote({"image": images}), timeout=PATIENCE)) == len(images)
    let_go(model)


def test_a_dataset_is_inferred_in_batches(cluster: Any, package: pathlib.Path, images: Any) -> None:
    pytest.importorskip("pyarrow")
    rows = ray.data.from_items([{"number": i, "pixels": image} for i, image in enumerate(images)])
    answers = on_ray.map_batches(rows, str(package), columns={"image": "pixels"}, batch_size=8, concurrency=2, flags=FLAGS)
    found = {row["number"]: row["probabilities"] for row in answers.take_all()}
    assert set(found) == set(range(len(images)))
    expected = sluice.load(package)(images)
    np.testing.assert_allclose([found[i] for i in range(len(images))], expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(Exception, match="no column"):
        on_ray.map_batches(rows, str(package), flags=FLAGS).take_all()

    def are_free() -> bool:
        gc.collect()  # the error's frames, and with them the handles that keep Ray Data's actors
        return free_groups() == 6

    eventually(are_free, PATIENCE, lambda: str(ray.available_resources()))


@pytest.fixture(scope="module")
def proxies(cluster: Any) -> Iterator[dict[str, str]]:
    """Serve's, by protocol."""
    pytest.importorskip("tritonclient.grpc")
    from ray import serve

    ports = {"http": free_port(), "grpc": free_port()}
    start_serve(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": ports["http"]},
                grpc_options={"port": ports["grpc"], "grpc_servicer_functions": [on_ray.GRPC_SERVICE]})
    yield {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    serve.shutdown()


def asked(address: str, method: str, path: str, document: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    connection.request(method, path, None if document is None else json.dumps(document))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, json.loads(body) if body else None


def test_serves_proxies_speak_the_open_inference_protocol(proxies: dict[str, str], package: pathlib.Path, images: Any) -> None:
    import tritonclient.grpc as grpcclient
    from ray import serve

    serve.run(on_ray.deployment(str(package), name="digits", flags=FLAGS), name="digits", route_prefix="/")
    expected = sluice.load(package)(images)
    address = proxies["http"]
    assert asked(address, "GET", "/v2/health/ready")[0] == asked(address, "GET", "/v2/models/digits/ready")[0] == 200
    status, metadata = asked(address, "GET", "/v2/models/digits")
    assert (status, metadata["inputs"][0]["name"]) == (200, "image")
    body = {"inputs": [{"name": "image", "datatype": "FP32", "shape": list(images.shape), "data": images.ravel().tolist()}]}
    status, answer = asked(address, "POST", "/v2/models/digits/infer", body)
    assert status == 200, answer
    [output] = answer["outputs"]
    np.testing.assert_allclose(np.reshape(output["data"], output["shape"]), expected, rtol=1e-5, atol=1e-6)
    assert asked(address, "POST", "/v2/models/other/infer", body)[0] == 404
    body["inputs"][0]["shape"] = [1]
    status, answer = asked(address, "POST", "/v2/models/digits/infer", body)
    assert status == 400 and "values for the shape" in answer["error"]

    with grpcclient.InferenceServerClient(proxies["grpc"]) as client:
        assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("digits")
        assert client.get_model_metadata("digits").inputs[0].name == "image"
        image = grpcclient.InferInput("image", list(images.shape), "FP32")
        image.set_data_from_numpy(images)
        np.testing.assert_allclose(client.infer("digits", [image]).as_numpy("probabilities"), expected, rtol=1e-5, atol=1e-6)
        with pytest.raises(grpcclient.InferenceServerException, match='no model "other"') as caught:
            client.infer("other", [image])
        assert caught.value.status() == "StatusCode.NOT_FOUND"
    serve.delete("digits")


def test_a_deployment_follows_its_queue_from_none_to_three_and_back(proxies: dict[str, str], slow: sluice.Model,
                                                                    tmp_path: pathlib.Path) -> None:
    from ray import serve

    path = tmp_path / "slow.sluice"
    slow.save(path)
    handle = serve.run(on_ray.deployment(str(path), name="slow", flags=FLAGS, autoscaling_config=queue_rule(0, 3)),
                       name="slow", route_prefix=None)
    follows_its_queue(handle, "slow", 0, 3)
    eventually(lambda: free_groups() == 6, PATIENCE)
    assert handle.remote(SLOW_INPUTS).result(timeout_s=PATIENCE)["y"].shape == (64,)
    serve.delete("slow")
