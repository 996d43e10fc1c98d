"""A photo as `curl -F` and browsers send it: a form whose parts are a model's inputs."""

from __future__ import annotations

import gzip
import json
import pathlib
import struct
import subprocess
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import make_model
from onnx import TensorProto, helper, numpy_helper
from test_http import Curl

pytest.importorskip("tritonclient.grpc")

from repositories import serving  # noqa: E402

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "dark blue": (0, 0, 90)}
CONFIG = 'output { name: "colour" data_type: TYPE_FP32 dims: [ 1, 3 ] label_filename: "labels.txt" }\n'
TYPE = {"Content_Type": "multipart/form-data; boundary=b"}
PATH = "/v2/models/photos/infer"
BEST = b'[{"name": "colour", "parameters": {"classification": 1}}]'


def photos() -> Any:
    """photo u8[bytes], scale f32[3] and note string[1] to colour f32[1, 3], the mean of each channel, and said."""
    graph = helper.make_graph(
        [helper.make_node("ImageDecoder", ["photo"], ["pixels"], pixel_format="RGB"),
         helper.make_node("Cast", ["pixels"], ["floats"], to=TensorProto.FLOAT),
         helper.make_node("ReduceMean", ["floats", "sides"], ["means"], keepdims=0),
         helper.make_node("Mul", ["means", "scale"], ["scaled"]),
         helper.make_node("Reshape", ["scaled", "row"], ["colour"]),
         helper.make_node("Identity", ["note"], ["said"])],
        "photos", [helper.make_tensor_value_info("photo", TensorProto.UINT8, ["bytes"]),
                   helper.make_tensor_value_info("scale", TensorProto.FLOAT, [3]),
                   helper.make_tensor_value_info("note", TensorProto.STRING, [1])],
        [helper.make_tensor_value_info("colour", TensorProto.FLOAT, [1, 3]),
         helper.make_tensor_value_info("said", TensorProto.STRING, [1])],
        [numpy_helper.from_array(np.array([0, 1]), "sides"), numpy_helper.from_array(np.array([1, 3]), "row")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def png(colour: str) -> bytes:
    """A square of 16 by 16 pixels (the PNG specification, chapter 5)."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(COLOURS[colour]) * 16) * 16
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def part(name: str, data: bytes, more: str = "") -> bytes:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n{more}\r\n'.encode() + data + b"\r\n"


SCALE = part("scale", np.array([1, 1, 2], np.float32).tobytes())
NOTE = part("note", "gr\u00fcn".encode())


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--b--\r\n"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("forms")) as (daemon, repository, client):
        repository.put("photos/labels.txt", "\n".join(COLOURS))
        repository.put("photos/1/model.onnx", photos())
        repository.put("photos/config.pbtxt", CONFIG)
        client.load_model("photos")
        yield daemon.http


@pytest.fixture
def curl(http: str) -> Curl:
    return Curl(http)


def outputs_of(answer: tuple[int, bytes]) -> dict[str, Any]:
    assert answer[0] == 200, answer
    return {output["name"]: output["data"] for output in json.loads(answer[1])["outputs"]}


@pytest.mark.parametrize("colour", COLOURS)
def test_a_photo_goes_in_and_a_name_comes_out(http: str, tmp_path: pathlib.Path, colour: str) -> None:
    (tmp_path / "photo.png").write_bytes(png(colour))
    (tmp_path / "scale").write_bytes(np.ones(3, np.float32).tobytes())
    for protocol in ("--http1.1", "--http2-prior-knowledge"):
        done = subprocess.run(
            ["curl", "-s", protocol, f"http://{http}{PATH}", "-F", "photo=@photo.png", "-F", "scale=@scale",
             "-F", "note=" + colour, "-F", "outputs=" + BEST.decode()],
            cwd=tmp_path, capture_output=True, check=True)
        (best,) = outputs_of((200, done.stdout))["colour"]
        assert best.split(":")[2] == colour


def test_parts_are_inputs_whatever_their_order(curl: Curl) -> None:
    parts = [part("photo", png("dark blue"), "Content-Type: image/png\r\n"), SCALE, NOTE]
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        outputs = outputs_of(curl("POST", PATH, form(*(parts[i] for i in order)), **TYPE))
        assert outputs == {"colour": [0, 0, 180], "said": ["gr\u00fcn"]}
    body = gzip.compress(form(*parts))
    assert outputs_of(curl("POST", PATH, body, Content_Encoding="gzip", **TYPE))["colour"] == [0, 0, 180]


def test_json_stands_beside_files(curl: Curl) -> None:
    scale = json.dumps([{"name": "scale", "shape": [3], "datatype": "FP32", "data": [0.5, 0.5, 0.5]}]).encode()
    body = form(part("outputs", BEST), part("inputs", scale, "Content-Type: application/json\r\n"),
                part("photo", png("red")), NOTE, part("parameters", b'{"sluice_wait": true}'))
    status, answer = curl("POST", PATH, body, **TYPE)
    assert outputs_of((status, answer)) == {"colour": ["127.500000:0:red"]}
    assert "sluice_waited_for" in json.loads(answer)["parameters"]
    binary = form(part("photo", png("red")), SCALE, NOTE, part("parameters", b'{"binary_data_output": true}'))
    status, answer = curl("POST", PATH, binary, **TYPE)
    assert status == 200 and np.array([255, 0, 0], np.float32).tobytes() in answer


PHOTO = part("photo", png("red"))


@pytest.mark.parametrize("body, message", [
    (b"--\r\n\r\n", "its boundary"),
    (form(PHOTO, SCALE, NOTE).replace(b"--b", b"--" + b"b" * 71), "its boundary"),
    (form(PHOTO, SCALE, b"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n"), "part 3 of the form: it has no Content-"),
    (form(PHOTO, SCALE, NOTE, part("image", b"")), "part image: the model has no such input"),
    (form(PHOTO, SCALE, NOTE, PHOTO), "two parts of the form have the name"),
    (form(*(part(str(i), b"") for i in range(100))), "more than 6 parts"),
    (form(PHOTO, SCALE, NOTE, part("parameters", b" " * (1 << 20) + b"{}")), "at most 1048576 are read"),
    (form(PHOTO, SCALE, NOTE, part("outputs", b'[], "inputs": []')), "more than one JSON value"),
    (form(PHOTO, SCALE, NOTE, part("outputs", b"[" * 10_000)), "no JSON"),
    (form(PHOTO, SCALE, NOTE, part("outputs", b"\xff")), "no JSON"),
    (form(part("photo", b"--c\r\n", "Content-Type: multipart/mixed; boundary=c\r\n"), SCALE, NOTE), "a form itself"),
    (form(part("photo", b"aGk=", "Content-Transfer-Encoding: base64\r\n"), SCALE, NOTE), "not binary"),
    (form(PHOTO, SCALE, NOTE)[:-9], "no delimiter ends it"),
    (form(PHOTO, SCALE, NOTE) + b"GET /v2 HTTP/1.1\r\n\r\n", "does not end"),
    (form(PHOTO, SCALE), "note"),
    (form(PHOTO, part("scale", b"123"), NOTE), "scale"),
    (form(PHOTO, part("scale", bytes(4096)), NOTE), "scale"),
    (form(part("photo", b"no photo"), SCALE, NOTE), "ImageDecoder"),
])
def test_wrong_forms_are_refused(curl: Curl, body: bytes, message: str) -> None:
    status, answer = curl("POST", PATH, body, **TYPE)
    assert status >= 400, answer
    assert message in json.loads(answer)["error"]
    assert outputs_of(curl("POST", PATH, form(PHOTO, SCALE, NOTE), **TYPE))["colour"] == [255, 0, 0]


@pytest.mark.parametrize("photo", [b"no photo", b"GIF89a" + bytes(100), b"\x89PN", bytes(2)])
def test_bytes_that_no_decoder_reads_are_the_clients_fault(curl: Curl, photo: bytes) -> None:
    status, answer = curl("POST", PATH, form(part("photo", photo), SCALE, NOTE), **TYPE)
    assert status == 400 and "neither PNG nor JPEG" in json.loads(answer)["error"], answer


def test_an_input_comes_once(curl: Curl) -> None:
    """As a part or in the JSON."""
    scale = json.dumps([{"name": "scale", "shape": [3], "datatype": "FP32", "data": [1, 1, 1]}]).encode()
    status, answer = curl("POST", PATH, form(PHOTO, SCALE, NOTE, part("inputs", scale)), **TYPE)
    assert status == 400 and "scale" in json.loads(answer)["error"]


def test_other_calls_take_no_form(curl: Curl) -> None:
    for path in ("/v2/repository/models/photos/load", "/v2/repository/index", "/v1/completions"):
        assert curl("POST", path, form(PHOTO), **TYPE)[0] in (400, 404)


def test_a_model_with_an_input_named_as_a_member_gets_it(tmp_path: pathlib.Path) -> None:
    model = make_model([helper.make_node("Identity", ["inputs"], ["y"])], [("inputs", TensorProto.UINT8, ["N"])],
                       [("y", TensorProto.UINT8, ["N"])])
    with serving(tmp_path) as (daemon, repository, client):
        repository.put("m.onnx", model)
        client.load_model("m")
        answer = Curl(daemon.http)("POST", "/v2/models/m/infer", form(part("inputs", b"abc")), **TYPE)
        assert outputs_of(answer)["y"] == [97, 98, 99]
