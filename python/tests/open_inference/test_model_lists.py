"""A config.json of OpenVINO Model Server in place of a folder of models."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import daemon as daemons
import pytest
from conftest import eventually

grpcclient = pytest.importorskip("tritonclient.grpc")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import Package, Repository, ask, package, times  # noqa: E402, F401


def test_a_list_of_ovms_is_served(tmp_path: pathlib.Path, package: Package) -> None:
    repository = Repository(tmp_path / "models")
    repository.put("resnet/1/model.onnx", times(2))
    repository.put("resnet/2/model.sluice", package(3))
    repository.put("faces/model.sluice", package(4))
    outside = Repository(tmp_path / "elsewhere")
    outside.put("one.sluice", package(5))

    def put_list(*models: dict[str, Any]) -> None:
        repository.put("config.json", json.dumps({"model_config_list": [{"config": model} for model in models],
                                                  "monitoring": {"metrics": {"enable": True}}}))

    both = {"latest": {"num_versions": 2}}
    resnet = {"name": "resnet", "base_path": "resnet", "model_version_policy": both, "nireq": 2, "batch_size": "auto",
              "shape": "(auto,2)", "target_device": "CPU"}
    put_list(resnet, {"name": "faces", "base_path": str(repository.folder / "faces")},
             {"name": "file", "base_path": str(outside.folder / "one.sluice")})
    place = repository.folder / "config.json"
    with daemons.running(tmp_path, "--http", "localhost:0", "--repository", str(place)) as daemon:
        with grpcclient.InferenceServerClient(daemon.address) as client:
            eventually(client.is_server_ready)
            assert [ask(client, name) for name in ("resnet", "faces", "file")] == [3, 4, 5]
            assert ask(client, "resnet", "1") == 2
            assert client.get_model_config("resnet").config.instance_group[0].count == 2
            put_list(resnet | {"model_version_policy": {"specific": {"versions": [1]}}, "version_labels": "stable=1"})
            client.load_model("resnet")
            assert ask(client, "resnet") == ask(client, "resnet", "stable") == 2
            for field, message in (({"shape": "(1,3)"}, r"dims are \[1,3\]"), ({"mean": "[1,2]"}, "config.mean"),
                                   ({"base_path": "absent"}, "No such file"), ({"nireq": -1}, "config.nireq")):
                put_list(resnet | field)
                with pytest.raises(InferenceServerException, match=message):
                    client.load_model("resnet")
                assert ask(client, "resnet") == 2
            with pytest.raises(InferenceServerException):
                client.load_model("absent")


def test_links_out_of_a_listed_place_are_refused(tmp_path: pathlib.Path, package: Package) -> None:
    repository = Repository(tmp_path / "models")
    Repository(tmp_path / "elsewhere").put("model.sluice", package(4))
    (repository.folder / "m").mkdir()
    (repository.folder / "m" / "1").symlink_to(tmp_path / "elsewhere")
    repository.put("config.json", json.dumps({"model_config_list": [{"config": {"name": "m", "base_path": "m"}}]}))
    with daemons.running(tmp_path, "--http", "localhost:0", "--repository",
                         str(repository.folder / "config.json")) as daemon:
        with grpcclient.InferenceServerClient(daemon.address) as client:
            eventually(client.is_server_ready)
            with pytest.raises(InferenceServerException, match="leads out of the repository"):
                client.load_model("m")
