"""Triton's way with images: a client reads from the model's configuration how to prepare them, and gets classes by name."""

from __future__ import annotations

import json
import pathlib
import urllib.request
from typing import Any

import numpy as np
import pytest
from conftest import make_model
from onnx import TensorProto, helper

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

from repositories import Repository, serving  # noqa: E402

SIDE = 32
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "dark blue": (0, 0, 90)}
CONFIG = """
name: "colours"
platform: "onnxruntime_onnx"
backend: "onnxruntime"
default_model_filename: "network.onnx"
max_batch_size: 8
version_policy { specific { versions: [ 2, 3 ] } }
input { name: "pixels" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, 32, 32 ] }
output { name: "colour" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" }
parameters { key: "trained_on" value { string_value: "plain squares" } }
"""


def network() -> Any:
    """The share of each channel in an image: pixels[N, 3, 32, 32] to colour[N, 3]."""
    return make_model([helper.make_node("GlobalAveragePool", ["pixels"], ["means"]),
                       helper.make_node("Flatten", ["means"], ["flat"]),
                       helper.make_node("Softmax", ["flat"], ["colour"])],
                      [("pixels", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])],
                      [("colour", TensorProto.FLOAT, ["N", 3])])


def put(repository: Repository, labels: str = "\n".join(COLOURS)) -> None:
    repository.put("colours/labels.txt", labels)
    for version in (2, 3):
        repository.put(f"colours/{version}/network.onnx", network())
    repository.put("colours/config.pbtxt", CONFIG)


def square(colour: str) -> np.ndarray:
    """As an image library gives it: rows, columns, channels."""
    return np.full((SIDE, SIDE, 3), COLOURS[colour], np.uint8)


def metadata_of(client: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metadata and configuration as HTTP has them."""
    if isinstance(client, grpcclient.InferenceServerClient):
        return client.get_model_metadata("colours", as_json=True), client.get_model_config(
            "colours", as_json=True)["config"]
    return client.get_model_metadata("colours"), client.get_model_config("colours")


def names_of(client: Any, module: Any, images: list[np.ndarray], num_classes: int) -> list[list[list[str]]]:
    """Prepares images as the server says, and gives [value, index, name] of the best classes of each."""
    metadata, config = metadata_of(client)
    (wanted,), (answer,) = metadata["inputs"], metadata["outputs"]
    (configured,) = config["input"]
    assert answer["datatype"] == "FP32" and config["max_batch_size"] >= len(images)
    # The configuration's dims lack the batch, the metadata's shape has it.
    assert len(wanted["shape"]) == len(configured["dims"]) + 1
    channels_first = {"FORMAT_NCHW": True, "FORMAT_NHWC": False}[configured["format"]]
    batch = np.stack([image.transpose(2, 0, 1) if channels_first else image for image in images])
    given = module.InferInput(wanted["name"], list(batch.shape), wanted["datatype"])
    given.set_data_from_numpy(batch.astype(np.float32) / 255)
    outputs = [module.InferRequestedOutput(answer["name"], class_count=num_classes)]
    found = client.infer("colours", [given], outputs=outputs).as_numpy(answer["name"])
    return [[text.decode().split(":") for text in row] for row in found]


@pytest.mark.parametrize("module", [grpcclient, httpclient], ids=["grpc", "http"])
def test_an_image_is_answered_by_name(tmp_path: pathlib.Path, module: Any) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        put(repository)
        client.load_model("colours")
        address = daemon.address if module is grpcclient else daemon.http
        with module.InferenceServerClient(address) as asking:
            best = names_of(asking, module, [square("dark blue"), square("green")], 2)
            assert [row[0][1:] for row in best] == [["2", "dark blue"], ["1", "green"]]
            assert all(len(row) == 2 for row in best)
            assert float(best[1][0][0]) > float(best[1][1][0])


def test_the_configuration_says_what_the_file_says(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        put(repository)
        client.load_model("colours")
        with httpclient.InferenceServerClient(daemon.http) as other:
            over_http = metadata_of(other)[1]
        over_grpc = metadata_of(client)[1]
        for config in (over_http, over_grpc):
            assert config["platform"] == "onnxruntime_onnx" and config["backend"] == "onnxruntime"
            assert config["max_batch_size"] == 8 and "dynamic_batching" not in config
            assert config["default_model_filename"] == "network.onnx"
            assert config["parameters"] == {"trained_on": {"string_value": "plain squares"}}
            assert [int(version) for version in config["version_policy"]["specific"]["versions"]] == [2, 3]
            assert [int(dim) for dim in config["input"][0]["dims"]] == [3, SIDE, SIDE]
            assert config["input"][0]["format"] == "FORMAT_NCHW"
            assert [int(dim) for dim in config["output"][0]["dims"]] == [3]
            assert config["output"][0]["label_filename"] == "labels.txt"


def test_labels_come_anew_with_their_file(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path) as (_, repository, client):
        put(repository, labels="rouge\n\n")  # the second has no name, the third is not there
        client.load_model("colours")
        [best] = names_of(client, grpcclient, [square("red")], 3)
        # The last digits are those of the processor's exponential function.
        assert [float(value) for value, *_ in best] == pytest.approx([0.576117, 0.211942, 0.211942], rel=1e-4)
        assert best[0][1:] == ["0", "rouge"] and sorted(row[1:] for row in best[1:]) == [["1"], ["2"]]
        repository.put("colours/labels.txt", "rot\ngr\u00fcn\nblau\n")
        client.load_model("colours")
        assert names_of(client, grpcclient, [square("green")], 1)[0][0][2] == "gr\u00fcn"
        for labels, message in (("a\n\udcff", "line 2"), ("a" * 300, "line 1"), ("\n" * (1 << 19), "labels")):
            repository.put("colours/labels.txt", labels.encode(errors="surrogateescape"))
            with pytest.raises(InferenceServerException, match=f"label_filename.*{message}"):
                client.load_model("colours")
        (repository.folder / "colours" / "labels.txt").unlink()
        (repository.folder / "colours" / "labels.txt").symlink_to("/etc/hostname")
        with pytest.raises(InferenceServerException, match="label_filename.*leads out of the repository"):
            client.load_model("colours")
        assert names_of(client, grpcclient, [square("red")], 1)[0][0][2] == "rot", "what served goes on"


def test_models_without_a_configuration_have_one(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path) as (daemon, repository, client):
        repository.put("colours.onnx", network())
        client.load_model("colours")
        with urllib.request.urlopen(f"http://{daemon.http}/v2/models/colours/config") as answer:
            config = json.loads(answer.read())
        assert config["max_batch_size"] == 0
        assert config["input"][0]["dims"] == [-1, 3, SIDE, SIDE] and config["input"][0]["format"] == "FORMAT_NONE"
        assert config["platform"] == config["backend"] == "sluice"
