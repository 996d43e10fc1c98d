"""Ensembles of a Triton repository, as Triton's clients see them."""

from __future__ import annotations

import pathlib
import threading
from typing import Any

import grpc
import numpy as np
import pytest
import sluice
from conftest import make_model
from onnx import TensorProto, helper

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import Package, Repository, ask, package, serving  # noqa: E402, F401
from test_repository import states  # noqa: E402


def step(model: str, read: dict[str, str], write: dict[str, str], more: str = "") -> str:
    maps = [f'input_map {{ key: "{key}" value: "{value}" }}' for key, value in read.items()]
    maps += [f'output_map {{ key: "{key}" value: "{value}" }}' for key, value in write.items()]
    return "\n".join([f'  step {{ model_name: "{model}" {more}', *maps, "  }"])


def ensemble(*steps: str, inputs: tuple[str, ...] = ("x",), outputs: tuple[str, ...] = ("y",)) -> str:
    def tensors(kind: str, names: tuple[str, ...]) -> list[str]:
        return [f'{kind} {{ name: "{name}" data_type: TYPE_FP32 dims: [ 2 ] }}' for name in names]

    return "\n".join(['platform: "ensemble"', "max_batch_size: 8", *tensors("input", inputs),
                      *tensors("output", outputs), "ensemble_scheduling {", *steps, "}"])


CHAIN = ensemble(step("first", {"x": "x"}, {"y": "between"}), step("second", {"x": "between"}, {"y": "y"}))


def put_chain(repository: Repository, package: Package) -> None:
    """first and second multiply by 3 and by 5; chain is both."""
    repository.put("first/1/model.sluice", package(3))
    repository.put("second/1/model.sluice", package(5))
    repository.put("chain/config.pbtxt", CHAIN)
    (repository.folder / "chain/1").mkdir()


def refusal(client: Any, name: str) -> str:
    with pytest.raises(InferenceServerException) as error:
        client.load_model(name)
    return str(error.value)


def test_an_ensemble_is_a_model_of_its_own(tmp_path: pathlib.Path, package: Package) -> None:
    put_chain(Repository(tmp_path / "models"), package)
    with serving(tmp_path) as (daemon, _, client), httpclient.InferenceServerClient(daemon.http) as other:
        assert ask(client, "chain") == ask(client, "chain", "1") == 15
        assert ask(other, "chain", module=httpclient) == 15
        assert client.is_model_ready("chain") and other.is_model_ready("chain", "1")
        metadata = client.get_model_metadata("chain")
        assert (metadata.platform, list(metadata.versions)) == ("ensemble", ["1"])
        assert [(one.name, one.datatype, list(one.shape)) for one in metadata.inputs] == [("x", "FP32", [-1, 2])]
        assert [one.name for one in metadata.outputs] == ["y"]
        assert other.get_model_metadata("chain")["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]
        steps = client.get_model_config("chain").config.ensemble_scheduling.step
        assert [(one.model_name, one.model_version) for one in steps] == [("first", -1), ("second", -1)]
        assert dict(steps[1].input_map) == {"x": "between"} and dict(steps[1].output_map) == {"y": "y"}
        config = other.get_model_config("chain")
        assert config["platform"] == "ensemble" and config["max_batch_size"] == 8
        assert config["ensemble_scheduling"]["step"][0] == {
            "model_name": "first", "model_version": -1, "input_map": {"x": "x"}, "output_map": {"y": "between"}}

        def counts() -> dict[str, int]:
            return {one["name"]: int(one["inference_stats"]["success"]["count"])
                    for one in other.get_inference_statistics()["model_stats"]}

        before = counts()
        assert ask(client, "chain") == 15
        assert counts() == {name: count + 1 for name, count in before.items()}
        assert set(before) == {"chain", "first", "second"}


def test_tensors_go_to_several_steps_and_some_are_dropped(tmp_path: pathlib.Path, package: Package) -> None:
    repository = Repository(tmp_path / "models")
    repository.put("twice.onnx", make_model(
        [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Sub", ["a", "b"], ["rest"])],
        [("a", TensorProto.FLOAT, ["N", 2]), ("b", TensorProto.FLOAT, ["N", 2])],
        [("sum", TensorProto.FLOAT, ["N", 2]), ("rest", TensorProto.FLOAT, ["N", 2])], {}))
    repository.put("three.sluice", package(3))
    repository.put("graph/config.pbtxt", ensemble(
        step("twice", {"a": "tripled", "b": "x"}, {"sum": "y"}), step("three", {"x": "x"}, {"y": "tripled"}),
        step("twice", {"a": "tripled", "b": "tripled"}, {"rest": "zero"}),
        outputs=("zero", "y")))
    with serving(tmp_path) as (_, _, client):
        made = grpcclient.InferInput("x", [3, 2], "FP32")
        made.set_data_from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))
        result = client.infer("graph", [made])
        np.testing.assert_array_equal(result.as_numpy("y"), 4 * np.arange(6).reshape(3, 2))
        np.testing.assert_array_equal(result.as_numpy("zero"), np.zeros((3, 2)))
        assert [one.name for one in result.get_response().outputs] == ["zero", "y"]


def test_an_ensemble_streams(tmp_path: pathlib.Path, package: Package) -> None:
    put_chain(Repository(tmp_path / "models"), package)
    answers: list[Any] = []
    is_here = threading.Event()

    def take(result: Any, error: Any) -> None:
        answers.append(error or result.as_numpy("y")[0, 0])
        is_here.set()

    with serving(tmp_path) as (_, _, client):
        made = grpcclient.InferInput("x", [1, 2], "FP32")
        made.set_data_from_numpy(np.array([[1, 2]], np.float32))
        client.start_stream(take)
        client.async_stream_infer("chain", [made])
        assert is_here.wait(60)
        client.stop_stream()
        assert answers == [15]


def test_a_load_brings_the_models_and_an_unload_takes_them_on_request(
        tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        put_chain(repository, package)
        repository.put("outer/config.pbtxt", ensemble(step("chain", {"x": "x"}, {"y": "y"})))
        client.load_model("outer")
        assert [ask(client, name) for name in ("outer", "chain", "first")] == [15, 15, 3]
        client.unload_model("outer")
        assert ask(client, "chain") == 15
        client.load_model("outer")
        with httpclient.InferenceServerClient(daemon.http) as other:
            other.unload_model("outer", unload_dependents=True)
        for name in ("outer", "chain", "first", "second"):
            assert not client.is_model_ready(name)


def test_a_model_that_goes_or_changes_gives_an_error_with_the_line(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        put_chain(repository, package)
        client.load_model("chain")
        client.unload_model("second")
        assert not client.is_model_ready("chain")
        assert states(client, "chain") == {"1": ("UNAVAILABLE", 'its model "second" is not served')}
        with pytest.raises(InferenceServerException, match=r'chain, step 2 \(model "second", config.pbtxt line 10\): '
                                                           "Request for unknown model: 'second' is not found"):
            ask(client, "chain")
        client.load_model("second")
        assert ask(client, "chain") == 15

        repository.put("second/2/model.onnx", make_model(
            [helper.make_node("Identity", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["N", 3])],
            [("y", TensorProto.FLOAT, ["N", 3])], {}))
        client.load_model("second")
        with pytest.raises(InferenceServerException, match=r'step 2 \(model "second", config.pbtxt line 10\): the model '
                                                           r'was replaced: its input 0 is now "x", f32\[N,3\]'):
            ask(client, "chain")
        assert 'y is f32[N,2], and step 2 (model "second", config.pbtxt line 10).x takes f32[N,3]' in refusal(
            client, "chain")
        repository.remove("second/2")
        repository.put("second/3/model.sluice", package(7))
        client.load_model("second")
        assert ask(client, "chain") == 21


def test_an_ensemble_comes_when_its_missing_model_does(tmp_path: pathlib.Path, package: Package) -> None:
    repository = Repository(tmp_path / "models")
    put_chain(repository, package)
    repository.put("second/1/model.sluice", b"no package")
    with serving(tmp_path) as (_, _, client):
        assert not client.is_model_ready("chain")
        repository.put("second/1/model.sluice", package(5))
        client.load_model("second")
        assert ask(client, "chain") == 15
        client.unload_model("chain")
        repository.put("second/1/model.sluice", package(7))
        client.load_model("second")
        assert not client.is_model_ready("chain"), "somebody unloaded it"


def test_an_ensemble_whose_load_failed_comes_when_its_model_does(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        put_chain(repository, package)
        repository.put("second/1/model.sluice", b"no package")
        with pytest.raises(InferenceServerException, match="second"):
            client.load_model("chain")
        repository.put("second/1/model.sluice", package(5))
        client.load_model("second")
        assert ask(client, "chain") == 15


def test_the_load_of_a_model_takes_no_changes_of_its_ensemble(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        put_chain(repository, package)
        client.load_model("chain")
        repository.put("chain/config.pbtxt", CHAIN.replace('"second"', '"first"'))
        repository.put("second/1/model.sluice", package(7))
        client.load_model("second")
        assert ask(client, "chain") == 21
        client.load_model("chain")
        assert ask(client, "chain") == 9
        with sluice.Runtime.connect(daemon.address) as administrator:
            administrator.find("chain").unload()
        client.load_model("first")
        assert not client.is_model_ready("chain")


def test_an_ensemble_with_a_stopped_model_is_not_ready(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        put_chain(repository, package)
        client.load_model("chain")
        with sluice.Runtime.connect(daemon.address) as administrator:
            second = administrator.find("second")
            second.stop()
            assert not client.is_model_ready("chain")
            assert states(client, "chain")["1"] == ("UNAVAILABLE", 'its model "second" is not served')
            second.start()
            assert client.is_model_ready("chain") and ask(client, "chain") == 15


def test_an_unload_takes_true_or_false(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client), grpc.insecure_channel(daemon.address) as channel:
        put_chain(repository, package)
        client.load_model("chain")
        request = grpcclient.service_pb2.RepositoryModelUnloadRequest(model_name="chain")
        request.parameters["unload_dependents"].int64_param = 1
        unload = grpcclient.service_pb2_grpc.GRPCInferenceServiceStub(channel).RepositoryModelUnload
        with pytest.raises(grpc.RpcError, match='parameter "unload_dependents" is true or false'):
            unload(request)
        assert ask(client, "chain") == 15


def test_models_are_updated_under_requests_to_their_ensemble(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        put_chain(repository, package)
        client.load_model("chain")
        failures: list[Any] = []
        is_over = threading.Event()

        def send() -> None:
            with grpcclient.InferenceServerClient(daemon.address) as mine:
                while not is_over.is_set():
                    try:
                        if ask(mine, "chain") % 3 != 0:
                            failures.append("another answer")
                    except InferenceServerException as error:
                        failures.append(error)

        threads = [threading.Thread(target=send) for _ in range(3)]
        for thread in threads:
            thread.start()
        for version in range(2, 22):
            repository.put(f"second/{version}/model.sluice", package(version))
            client.load_model("second")
            assert ask(client, "chain") == 3 * version
            repository.remove(f"second/{version - 1}")
        is_over.set()
        for thread in threads:
            thread.join()
        assert failures == []


def test_bad_ensembles_name_the_line(tmp_path: pathlib.Path, package: Package) -> None:
    with serving(tmp_path) as (_, repository, client):
        put_chain(repository, package)
        cases = {
            "absent": (ensemble(step("nobody", {"x": "x"}, {"y": "y"})),
                       "step 1 (model \"nobody\", config.pbtxt line 6): Request for unknown model: 'nobody'"),
            "input": (ensemble(step("first", {"z": "x"}, {"y": "y"})),
                      'step 1 (model "first", config.pbtxt line 6).z: the model has no such input; it has x'),
            "output": (ensemble(step("first", {"x": "x"}, {"z": "y"})),
                       'step 1 (model "first", config.pbtxt line 6).z: the model has no such output; it has y'),
            "tensor": (ensemble(step("first", {"x": "zz"}, {"y": "y"})),
                       'config.pbtxt: line 7: input_map: "zz" is no input of the ensemble, and no step writes it'),
            "circle": (ensemble(step("first", {"x": "b"}, {"y": "a"}), step("second", {"x": "a"}, {"y": "b"}),
                                step("first", {"x": "x"}, {"y": "y"})),
                       "edges form a circle; in it, or behind it, are step 1"),
            "itself": (ensemble(step("itself", {"x": "x"}, {"y": "y"})),
                       "config.pbtxt, line 6: ensembles form a circle: itself -> itself"),
            "dims": (CHAIN.replace("dims: [ 2 ]", "dims: [ 3 ]", 1),
                     'config.pbtxt, line 3: input "x": dims are [3] behind the rows, the model has [N,2]'),
        }
        for name, (config, expected) in cases.items():
            repository.put(f"{name}/config.pbtxt", config)
            assert expected in refusal(client, name)
            assert not client.is_model_ready(name)
        for name, inner in (("ring", "wheel"), ("wheel", "ring")):
            repository.put(f"{name}/config.pbtxt", ensemble(step(inner, {"x": "x"}, {"y": "y"})))
        assert "ensembles form a circle: wheel -> ring -> wheel" in refusal(client, "ring")
        # What served goes on.
        client.load_model("chain")
        repository.put("chain/config.pbtxt", CHAIN.replace('"second"', '"nobody"'))
        assert "'nobody' is not found" in refusal(client, "chain")
        assert ask(client, "chain") == 15


def test_a_repository_with_ensembles_starts_in_any_order(tmp_path: pathlib.Path, package: Package) -> None:
    repository = Repository(tmp_path / "models")
    put_chain(repository, package)
    repository.put("all/config.pbtxt", ensemble(step("chain", {"x": "x"}, {"y": "y"})))
    repository.put("ring/config.pbtxt", ensemble(step("ring", {"x": "x"}, {"y": "y"})))
    with serving(tmp_path) as (_, _, client):
        assert ask(client, "all") == 15
        assert "ring -> ring" in states(client, "ring")["1"][1]
