"""Models that keep their answers (`response_cache`), for Triton's clients."""

from __future__ import annotations

import pathlib
import urllib.request
from typing import Any

import numpy as np
import pytest
from conftest import make_model
from onnx import TensorProto, helper

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")

from repositories import Package, ask, package, serving  # noqa: E402, F401

CONFIG = "response_cache { enable: true }"


def random_model() -> Any:
    """y = x and a random number: no two runs have one answer."""
    return make_model([helper.make_node("RandomNormalLike", ["x"], ["noise"]),
                       helper.make_node("Add", ["x", "noise"], ["y"])],
                      [("x", TensorProto.FLOAT, [1, 2])], [("y", TensorProto.FLOAT, [1, 2])])


def infer(client: Any, module: Any, values: Any = ((1, 2),), **options: Any) -> np.ndarray:
    made = module.InferInput("x", [1, 2], "FP32")
    made.set_data_from_numpy(np.array(values, np.float32), **options)
    return client.infer("m", [made]).as_numpy("y")


def statistics(client: Any) -> tuple[int, int, int, int]:
    """Requests answered, computed, hits and misses. A load that warms the model up computes one of its own."""
    found = client.get_inference_statistics("m")
    if isinstance(found, dict):
        one = found["model_stats"][0]
        times = one["inference_stats"]
        return (times["success"]["count"], one["inference_count"], times["cache_hit"]["count"],
                times["cache_miss"]["count"])
    one = found.model_stats[0]
    times = one.inference_stats
    return times.success.count, one.inference_count, times.cache_hit.count, times.cache_miss.count


def test_equal_requests_of_all_doors_get_the_first_answer(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        repository.put("m/1/model.onnx", random_model())
        repository.put("m/config.pbtxt", CONFIG)
        client.load_model("m")
        assert client.get_model_config("m").config.response_cache.enable
        first = infer(client, grpcclient)
        np.testing.assert_array_equal(infer(client, grpcclient), first)
        assert (infer(client, grpcclient, ((1, 3),)) != first).all()
        assert statistics(client) == (4, 3, 1, 2)
        with httpclient.InferenceServerClient(daemon.http) as other:  # a client of TCP is another tenant
            assert other.get_model_config("m")["response_cache"] == {"enable": True}
            kept = infer(other, httpclient)
            assert (kept != first).any()
            np.testing.assert_array_equal(infer(other, httpclient, binary_data=False), kept)
            assert statistics(other) == (6, 4, 2, 3)
        text = urllib.request.urlopen(f"http://{daemon.http}/metrics").read().decode()
        for name, count in (("nv_cache_num_hits_per_model", 2), ("nv_cache_num_misses_per_model", 3),
                            ("nv_inference_request_success", 6), ("nv_inference_count", 4)):
            assert f'{name}{{model="m",version="1"}} {count}\n' in text


@pytest.mark.parametrize("config,flags", [("", ()), (CONFIG, ("--response-cache-bytes", "0"))],
                         ids=["model", "daemon"])
def test_nothing_is_kept_unless_model_and_daemon_say_so(tmp_path: pathlib.Path, config: str,
                                                        flags: tuple[str, ...]) -> None:
    with serving(tmp_path, *flags) as (_, repository, client):
        repository.put("m/1/model.onnx", random_model())
        repository.put("m/config.pbtxt", config)
        client.load_model("m")
        assert (infer(client, grpcclient) != infer(client, grpcclient)).any()
        assert statistics(client) == (3, 3, 0, 0)


def test_a_new_version_gives_its_own_answers(tmp_path: pathlib.Path, package: Package) -> None:  # noqa: F811
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/config.pbtxt", CONFIG)
        for version in (1, 2, 3):
            repository.put(f"m/{version}/model.sluice", package(10 * version))
            client.load_model("m")
            assert [ask(client, "m") for _ in range(3)] == [10 * version] * 3
            assert statistics(client) == (4, 2, 2, 1)
        repository.put("m/3/model.sluice", package(40))
        client.load_model("m")
        assert ask(client, "m") == 40


def test_ensembles_use_what_their_models_keep(tmp_path: pathlib.Path, package: Package) -> None:  # noqa: F811
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/config.pbtxt", CONFIG)
        repository.put("m/1/model.sluice", package(5))
        repository.put("all/config.pbtxt", """platform: "ensemble"
            input { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] }
            output { name: "y" data_type: TYPE_FP32 dims: [ -1, 2 ] }
            ensemble_scheduling { step { model_name: "m" model_version: -1 input_map { key: "x" value: "x" }
                                         output_map { key: "y" value: "y" } } }""")
        (repository.folder / "all/1").mkdir()
        client.load_model("all")
        assert [ask(client, "all") for _ in range(3)] == [5] * 3
        assert ask(client, "m") == 5
        assert statistics(client)[2:] == (3, 1)
        repository.put("m/1/model.sluice", package(6))
        client.load_model("m")
        assert ask(client, "all") == 6
