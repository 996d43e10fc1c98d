"""A folder of models with versions, as a `sluiced` and `sluice serve` serve it to Triton's clients."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from typing import Any

import numpy as np
import pytest
from conftest import eventually, make_model
from onnx import TensorProto, helper

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import Package, Repository, ask, package, serving, times, update_under_traffic  # noqa: E402, F401


def states(client: Any, name: str) -> dict[str, tuple[str, str]]:
    """State and reason of each version; "" is the model as a whole."""
    models = client.get_model_repository_index().models
    return {model.version: (model.state, model.reason) for model in models if model.name == name}


def test_files_and_trees_are_served_from_the_start(tmp_path: pathlib.Path, package: Package) -> None:
    repository = Repository(tmp_path / "models")
    repository.put("bare.sluice", package(3))
    repository.put("compiled.onnx", times(4))
    repository.put("tree/2/model.onnx", times(5))
    repository.put("tree/1/model.onnx", times(6))
    with serving(tmp_path) as (_, _, client):
        assert [ask(client, name) for name in ("bare", "compiled", "tree")] == [3, 4, 5]
        assert states(client, "tree") == {"2": ("READY", "")}
        assert list(client.get_model_metadata("tree").versions) == ["2"]
        with pytest.raises(InferenceServerException, match="Request for unknown model: 'tree' version 1 is not found"):
            ask(client, "tree", "1")


def test_requests_choose_among_the_versions_of_the_policy(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        for version in (1, 2, 3):
            repository.put(f"m/{version}/model.sluice", package(10 * version))
        repository.put("m/config.pbtxt", "version_policy { specific { versions: [ 1, 2 ] } }")
        client.load_model("m")
        assert [ask(client, "m"), ask(client, "m", "1"), ask(client, "m", "2")] == [20, 10, 20]
        with httpclient.InferenceServerClient(daemon.http) as other:
            assert ask(other, "m", "1", module=httpclient) == 10
            assert other.get_model_metadata("m")["versions"] == ["1", "2"]
            assert other.is_model_ready("m", "2") and not other.is_model_ready("m", "3")
            index = other.get_model_repository_index()
            assert [(entry["version"], entry["state"]) for entry in index] == [("1", "READY"), ("2", "READY")]
            assert {one["version"] for one in other.get_inference_statistics("m", "1")["model_stats"]} == {"1"}
        repository.put("m/config.pbtxt", "version_policy { latest { num_versions: 1 } }")
        client.load_model("m")
        assert ask(client, "m") == 30
        assert states(client, "m") == {"3": ("READY", "")}


def test_updates_under_traffic_lose_no_request(tmp_path: pathlib.Path, package: Package) -> None:
    assert update_under_traffic(tmp_path, package, 100).failures == []


def test_files_may_be_overwritten_in_place(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/1/model.sluice", package(2))
        client.load_model("m")
        place = repository.folder / "m/1/model.sluice"
        place.write_bytes(b"")
        assert ask(client, "m") == 2
        with pytest.raises(InferenceServerException, match="version 1"):
            client.load_model("m")
        assert ask(client, "m") == 2
        place.write_bytes(package(7))
        client.load_model("m")
        assert ask(client, "m") == 7


def test_a_version_that_does_not_load_leaves_the_old_one(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/1/model.sluice", package(1))
        client.load_model("m")
        for version, contents in (("2", "damaged"), ("3", "")):
            repository.put(f"m/{version}/model.onnx", contents)
            with pytest.raises(InferenceServerException, match=f'model "m": version {version}: not compiled'):
                client.load_model("m")
            assert ask(client, "m") == 1
            state, reason = states(client, "m")[version]
            assert state == "UNAVAILABLE" and "not compiled" in reason
            assert states(client, "m")["1"] == ("READY", "")
        repository.remove("m/2")
        repository.remove("m/3")
        client.load_model("m")
        assert states(client, "m") == {"1": ("READY", "")}


def test_an_older_version_comes_back(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        for version in (1, 2):
            repository.put(f"m/{version}/model.sluice", package(version))
        client.load_model("m")
        assert ask(client, "m") == 2
        repository.remove("m/2")
        assert ask(client, "m") == 2  # until a client says so
        client.load_model("m")
        assert ask(client, "m") == 1


@pytest.mark.parametrize("module", [grpcclient, httpclient], ids=["grpc", "http"])
def test_nothing_that_comes_with_a_load_is_passed_over(tmp_path: pathlib.Path, package: Package, module: Any) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        repository.put("m/1/model.sluice", package(3))
        client.load_model("m")
        with module.InferenceServerClient(daemon.address if module is grpcclient else daemon.http) as other:
            for size in (1, 90_000):
                with pytest.raises(InferenceServerException, match='a load takes ("config" alone|no files)') as error:
                    other.load_model("m", config="{}", files={"file:1/model.onnx": b"x" * size})
                assert error.value.status() in ("501", "StatusCode.UNIMPLEMENTED")
            other.load_model("m")
            other.unload_model("m", unload_dependents=True)
            assert states(client, "m") == {"1": ("UNAVAILABLE", "unloaded")}


def test_bodies_of_loads_and_unloads_are_read(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        repository.put("m/1/model.sluice", package(3))
        client.load_model("m")

        def post(what: str, body: bytes) -> int:
            request = urllib.request.Request(f"http://{daemon.http}/v2/repository/models/m/{what}", body)
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code

        for what in ("load", "unload"):
            for body in (b"{bad", b"[]", b'{"config": "{}"}', b'{"parameters": 1}', b"null", b"[" * 4000):
                assert post(what, body) == 400, body
            assert post(what, b'{"parameters": {"other": "{}"}}') == 501
        assert post("unload", b'{"parameters": {"config": "{}"}}') == 501
        assert post("load", b'{"parameters": {"config": {}}}') == 400
        assert ask(client, "m") == 3
        assert [post("load", body) for body in (b"", b"{}", b' {"parameters": {}}')] == [200] * 3
        assert post("unload", b'{"parameters": {"unload_dependents": false}}') == 200


@pytest.mark.parametrize("module", [grpcclient, httpclient], ids=["grpc", "http"])
def test_a_load_may_bring_a_configuration(tmp_path: pathlib.Path, package: Package, module: Any) -> None:
    def rows(client: Any) -> int:
        return int(client.get_model_config("m").config.max_batch_size)

    with serving(tmp_path) as (daemon, repository, client):
        repository.put("m/1/model.sluice", package(2))
        repository.put("m/config.pbtxt", "max_batch_size: 3")
        repository.put("one.sluice", package(1))
        client.load_model("m")
        with module.InferenceServerClient(daemon.address if module is grpcclient else daemon.http) as other:
            other.load_model("m", config=json.dumps({"name": "m", "max_batch_size": 5, "dynamic_batching": {}}))
            assert (rows(client), ask(client, "m")) == (5, 2)
            for wrong, expected in (('{"max_batch_size": -1}', "the configuration of the load: line 1: max_batch_size"),
                                    ('{"name": "other"}', "the name is \"other\""), ("{", "the text ends")):
                with pytest.raises(InferenceServerException, match=expected):
                    other.load_model("m", config=wrong)
            assert (rows(client), ask(client, "m")) == (5, 2)  # what serves stays
            with pytest.raises(InferenceServerException, match="has no configuration"):
                other.load_model("one", config="{}")
            other.load_model("m")
            assert (rows(client), ask(client, "m")) == (3, 2)


def test_models_are_unloaded_and_loaded_by_clients(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/1/model.sluice", package(1))
        assert states(client, "m") == {"": ("UNAVAILABLE", "not loaded")}
        client.load_model("m")
        client.unload_model("m")
        assert states(client, "m") == {"1": ("UNAVAILABLE", "unloaded")}
        assert not client.is_model_ready("m")
        client.load_model("m")
        assert ask(client, "m") == 1
        repository.remove("m")
        with pytest.raises(InferenceServerException, match="no longer"):
            client.load_model("m")
        assert ask(client, "m") == 1
        client.unload_model("m")
        assert states(client, "m") == {}


def test_polling_takes_changes(tmp_path: pathlib.Path, package: Package) -> None:
    def answers(version: int) -> bool:
        return client.is_model_ready("m") and ask(client, "m") == version

    with serving(tmp_path, "--repository-poll-seconds", "1") as (_, repository, client):
        repository.put("m/1/model.sluice", package(1))
        eventually(lambda: answers(1))
        repository.put("m/2/model.sluice", package(2))
        eventually(lambda: answers(2))
        repository.put("m/3/model.sluice", "damaged")
        eventually(lambda: "3" in states(client, "m"))
        assert answers(2)
        repository.remove("m")
        eventually(lambda: states(client, "m") == {})
        assert not client.is_model_ready("m")


def test_versions_that_vanish_while_they_load_do_no_harm(tmp_path: pathlib.Path, package: Package) -> None:
    """The folder, its versions, and what a link of its name leads to, come and go while clients load the model."""
    with serving(tmp_path) as (_, repository, client):
        contents = package(5)
        (tmp_path / "secret.sluice").write_bytes(package(9))
        (tmp_path / "secrets").mkdir()
        (tmp_path / "secrets/model.sluice").write_bytes(package(9))
        repository.put("good/1/model.sluice", package(3))
        client.load_model("good")
        is_over = threading.Event()

        def churn() -> None:
            model = repository.folder / "m"
            while not is_over.is_set():
                for version in (1, 2, 3):
                    repository.put(f"m/{version}/model.sluice", contents)
                (model / "2/model.sluice").unlink()
                (model / "2/model.sluice").symlink_to(tmp_path / "secret.sluice")
                (model / "3").rename(model / "gone")
                (model / "3").symlink_to(tmp_path / "secrets")
                shutil.rmtree(model)

        churning = threading.Thread(target=churn)
        churning.start()
        try:
            for _ in range(200):
                with contextlib.suppress(InferenceServerException):
                    client.load_model("m")
                if client.is_model_ready("m"):
                    assert ask(client, "m") == 5
                assert ask(client, "good") == 3
        finally:
            is_over.set()
            churning.join()
        repository.put("m/1/model.sluice", package(6))
        client.load_model("m")
        assert ask(client, "m") == 6


def test_bad_folders_say_why_and_the_others_go_on(tmp_path: pathlib.Path, package: Package) -> None:
    repository = Repository(tmp_path / "models")
    (tmp_path / "secret.sluice").write_bytes(package(9))
    repository.put("good.sluice", package(1))
    repository.put("empty/config.pbtxt", "")
    repository.put("damaged/1/model.sluice", package(1))
    repository.put("damaged/config.pbtxt", "max_batch_size: 1\ninput [")
    repository.put("deep/1/model.sluice", package(1))
    repository.put("deep/config.pbtxt", "a {" * 10_000)
    repository.put("ensemble/1/model.sluice", package(1))
    repository.put("ensemble/config.pbtxt", "ensemble_scheduling { }")
    repository.put("other/1/model.sluice", package(1))
    repository.put("other/config.pbtxt", 'input { name: "z" data_type: TYPE_FP32 dims: [ -1, 2 ] }')
    (repository.folder / "leak.sluice").symlink_to("../secret.sluice")
    with serving(tmp_path) as (daemon, _, client):
        assert ask(client, "good") == 1
        for name, version, reason in [
            ("empty", "", "no version"),
            ("damaged", "", "config.pbtxt: line 2"),
            ("deep", "", "deeper than 32"),
            ("ensemble", "", "config.pbtxt: line 1: ensemble_scheduling: there is no step"),
            ("other", "1", 'input "z": the model has none of this name'),
            ("leak", "", "leads out of the repository"),
        ]:
            state, said = states(client, name)[version]
            assert state == "UNAVAILABLE" and reason in said
            with pytest.raises(InferenceServerException):
                client.load_model(name)
            assert not client.is_model_ready(name)
        for name in ("../secret", "models/good", "", "absent"):
            with pytest.raises(InferenceServerException):
                client.load_model(name)
        with httpclient.InferenceServerClient(daemon.http) as other:
            assert len(other.get_model_repository_index()) == 7


def test_rows_are_joined_as_the_configuration_says(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/1/model.sluice", package(1))
        repository.put("m/config.pbtxt", """
            name: "m" backend: "onnxruntime" max_batch_size: 8
            input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
            instance_group [ { count: 2 kind: KIND_CPU } ]
            dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 100 }""")
        client.load_model("m")
        config = client.get_model_config("m").config
        assert config.max_batch_size == 8 and list(config.dynamic_batching.preferred_batch_size) == [4]
        assert config.instance_group[0].count == 2
        assert list(config.input[0].dims) == [2]
        assert ask(client, "m") == 1

        def send(rows: int) -> Any:
            given = grpcclient.InferInput("x", [rows, 2], "FP32")
            given.set_data_from_numpy(np.ones((rows, 2), np.float32))
            return client.infer("m", [given]).as_numpy("y")

        assert send(8).shape == (8, 2)
        with pytest.raises(InferenceServerException, match="inference request batch-size must be <= 8"):
            send(9)


def test_what_the_daemon_says_of_a_model_is_a_configuration(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, loader):
        repository.put("m/1/model.sluice", package(2))
        repository.put("m/config.pbtxt", """
            max_batch_size: 8
            parameters { key: "a" value { string_value: "b" } }
            instance_group { count: 2 }
            dynamic_batching { preferred_batch_size: 4 }""")
        loader.load_model("m")
        with urllib.request.urlopen(f"http://{daemon.http}/v2/models/m/config") as answer:
            text = answer.read().decode()
        repository.put("m/config.pbtxt", text)
        loader.load_model("m")
        assert ask(loader, "m") == 2
        with urllib.request.urlopen(f"http://{daemon.http}/v2/models/m/config") as answer:
            assert json.loads(answer.read()) == json.loads(text)
        assert json.loads(text)["dynamic_batching"] == {"preferred_batch_size": [4]}
        assert json.loads(text)["instance_group"][0]["count"] == 2


@pytest.mark.parametrize("module", [grpcclient, httpclient], ids=["grpc", "http"])
def test_requests_without_a_timeout_have_that_of_the_configuration(tmp_path: pathlib.Path, package: Package,
                                                                   module: Any) -> None:
    with serving(tmp_path) as (daemon, repository, loader):
        repository.put("m/1/model.sluice", package(3))
        repository.put("m/config.pbtxt", """
            max_batch_size: 8
            dynamic_batching { default_queue_policy { default_timeout_microseconds: 1 } }""")
        loader.load_model("m")
        given = module.InferInput("x", [1, 2], "FP32")
        given.set_data_from_numpy(np.ones((1, 2), np.float32))
        with module.InferenceServerClient(daemon.address if module is grpcclient else daemon.http) as client:
            with pytest.raises(InferenceServerException, match="deadline"):
                client.infer("m", [given])
            assert client.infer("m", [given], timeout=60_000_000).as_numpy("y")[0, 0] == 3


TEXTS = """
    max_batch_size: 4
    input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]
    SCHEDULING"""


@pytest.mark.parametrize("scheduling", [
    "dynamic_batching { }",
    """sequence_batching { state { input_name: "total" output_name: "new" data_type: TYPE_FP32 dims: [ 1 ] } }""",
])
def test_models_of_texts_answer_one_by_one(tmp_path: pathlib.Path, scheduling: str) -> None:
    """Their rows are not joined: that is a matter of speed, not of answers."""
    nodes = [helper.make_node("Add", ["total", "x"], ["new"]), helper.make_node("Identity", ["new"], ["y"]),
             helper.make_node("Identity", ["said"], ["heard"])]
    floats = lambda *names: [(name, TensorProto.FLOAT, ["N", 1]) for name in names]  # noqa: E731
    model = make_model(nodes, [*floats("x", "total"), ("said", TensorProto.STRING, ["N", 1])],
                       [*floats("y", "new"), ("heard", TensorProto.STRING, ["N", 1])])
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/1/model.onnx", model)
        repository.put("m/config.pbtxt", TEXTS.replace("SCHEDULING", scheduling))
        client.load_model("m")
        x, total = (grpcclient.InferInput(name, [1, 1], "FP32") for name in ("x", "total"))
        x.set_data_from_numpy(np.float32([[7]]))
        total.set_data_from_numpy(np.float32([[1]]))
        said = grpcclient.InferInput("said", [1, 1], "BYTES")
        said.set_data_from_numpy(np.array([[b"hello"]], object))
        if "sequence" in scheduling:
            client.infer("m", [x, said], sequence_id=3, sequence_start=True)
            result = client.infer("m", [x, said], sequence_id=3, sequence_end=True)
        else:
            result = client.infer("m", [x, said, total])
        assert result.as_numpy("heard").tolist() == [[b"hello"]]
        assert result.as_numpy("y").tolist() == [[14 if "sequence" in scheduling else 8]]


def test_a_request_says_why_a_model_is_not_served(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        repository.put("m/1/model.sluice", package(1))
        repository.put("m/config.pbtxt", 'input [ { name: "z" data_type: TYPE_FP32 dims: [ 2 ] } ]')
        with pytest.raises(InferenceServerException):
            client.load_model("m")
        with pytest.raises(InferenceServerException, match="'m' is not found; its last load failed: .*\"z\""):
            ask(client, "m")
        repository.put("m/config.pbtxt", "max_batch_size: 4")
        client.load_model("m")
        assert ask(client, "m") == 1
        client.unload_model("m")
        with pytest.raises(InferenceServerException, match="'m' is not found; a client unloaded it"):
            ask(client, "m")


def test_a_compilation_stays_within_its_limits(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path, "--compile-bytes", str(1 << 24)) as (_, repository, client):
        repository.put("good.sluice", package(1))
        repository.put("large.onnx", times(2))
        client.load_model("good")
        with pytest.raises(InferenceServerException, match="not compiled"):
            client.load_model("large")
        assert ask(client, "good") == 1


def test_serve_prints_what_it_serves_and_ends_with_ctrl_c(tmp_path: pathlib.Path) -> None:
    repository = Repository(tmp_path / "models")
    repository.put("five.onnx", times(5))
    os.environ["SLUICE_CACHE_DIR"] = str(tmp_path / "cache")
    (tmp_path / "settings.json").write_text(json.dumps({"lock_folder": str(tmp_path / "locks")}))
    command = [os.environ["SLUICE_PROGRAM"], "serve", repository.folder, "--http", "localhost:0",
               "--grpc", "localhost:0", "--config", tmp_path / "settings.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        doors = process.stdout.readline().replace(",", "").split()
        assert process.stdout.readline() == "serving five, version 1\n"
        curl = process.stdout.readline()
        with grpcclient.InferenceServerClient(doors[2]) as client:
            assert ask(client, "five") == 5
        address, _, path = curl.removeprefix("try: curl ").strip().partition("/")
        assert path == "v2/models/five"
        with httpclient.InferenceServerClient(address) as other:
            assert ask(other, "five", module=httpclient) == 5
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    wrong = subprocess.run([command[0], "serve", tmp_path / "none"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1 and "is no folder" in wrong.stderr
