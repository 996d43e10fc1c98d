"""What curl sends, and what this daemon alone says over HTTP; test_behaviour.py has what any server says."""

from __future__ import annotations

import gzip
import http.client
import json
import pathlib
import subprocess
import zlib
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS, same_type
from onnx import TensorProto
from test_grpc import words

httpclient = pytest.importorskip("tritonclient.http")
InferenceServerException = pytest.importorskip("tritonclient.utils").InferenceServerException


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[daemons.Daemon]:
    folder = tmp_path_factory.mktemp("served")
    sluice.compile(DIGITS).save(folder / "digits.sluice")
    sluice.compile(words()).save(folder / "words.sluice")
    with daemons.running(folder, "--http", "localhost:0") as running:
        with httpclient.InferenceServerClient(running.http) as client:
            for name in ("digits", "words"):
                client.load_model(name)
        yield running


@pytest.fixture
def client(served: daemons.Daemon) -> Iterator[Any]:
    with httpclient.InferenceServerClient(served.http) as made:
        yield made


def tensor(name: str, value: np.ndarray, datatype: str, binary: bool = True) -> Any:
    made = httpclient.InferInput(name, list(value.shape), datatype)
    made.set_data_from_numpy(value, binary_data=binary)
    return made


class Curl:
    """Requests by hand, on one connection."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        data = json.dumps(body) if isinstance(body, dict) else body
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, data, names)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def curl(served: daemons.Daemon) -> Curl:
    return Curl(served.http)


def test_server_and_models_describe_themselves(client: Any, curl: Curl) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("digits") and not client.is_model_ready("absent")
    assert client.get_server_metadata()["name"] == "sluice"
    metadata = client.get_model_metadata("words")
    assert metadata["inputs"][0] == {"name": "n", "datatype": "INT64", "shape": [-1, 2]}
    assert client.get_model_config("digits")["max_batch_size"] == 0
    assert {model["name"] for model in client.get_model_repository_index()} == {"digits", "words"}
    status, body = curl("GET", "/v2/health/ready")
    assert (status, json.loads(body)) == (200, {"live": True, "ready": True})


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False])
def test_answers_are_those_of_the_model_here(client: Any, image: np.ndarray, binary_in: bool,
                                             binary_out: bool) -> None:
    expected = sluice.compile(DIGITS)(image)
    wanted = [httpclient.InferRequestedOutput("probabilities", binary_data=binary_out)]
    result = client.infer("digits", [tensor("image", image, "FP32", binary_in)], outputs=wanted, request_id="7")
    np.testing.assert_array_equal(result.as_numpy("probabilities"), expected)
    assert result.get_response()["id"] == "7"


def test_json_by_hand_is_answered_in_json(curl: Curl) -> None:
    request = {"inputs": [{"name": "n", "shape": [2, 2], "datatype": "INT64", "data": [[1, 2], [3, 2**60]]},
                          {"name": "w", "shape": [1], "datatype": "BYTES", "data": ["a"]}]}
    for _ in range(3):  # on one connection
        status, body = curl("POST", "/v2/models/words/versions/1/infer", request)
        assert status == 200, body
        answer = json.loads(body)
        assert answer["model_name"] == "words" and answer["outputs"][1]["data"] == ["a"]
        assert answer["outputs"][0] == {"name": "twice", "datatype": "INT64", "shape": [2, 2],
                                        "data": [2, 4, 6, 2**61]}


def test_long_json_is_answered_as_short_json(curl: Curl, image: np.ndarray) -> None:
    images = np.tile(image, (1500, 1, 1, 1))
    status, body = curl("POST", "/v2/models/digits/infer", {"inputs": [{
        "name": "image", "shape": list(images.shape), "datatype": "FP32", "data": images.flatten().tolist()}]})
    assert status == 200, body
    output = json.loads(body)["outputs"][0]
    expected = sluice.compile(DIGITS)(images)
    np.testing.assert_allclose(np.array(output["data"], np.float32).reshape(output["shape"]), expected, rtol=1e-5)
    status, body = curl("POST", "/v2/models/digits/infer", b"[" * 1_000_000)
    assert status == 400 and "JSON" in json.loads(body)["error"]


def test_numbers_of_json_beyond_64_bits_are_floats(curl: Curl) -> None:
    image = {"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [10**20, -10**19, *[0.5] * 62]}
    status, body = curl("POST", "/v2/models/digits/infer", {"inputs": [image], "id": "9" * 30 + '"'})
    assert status == 200 and json.loads(body)["id"] == "9" * 30 + '"', body
    words = [{"name": "n", "shape": [1, 2], "datatype": "INT64", "data": [10**20, 1]},
             {"name": "w", "shape": [1], "datatype": "BYTES", "data": ["a"]}]
    status, body = curl("POST", "/v2/models/words/infer", {"inputs": words})
    assert status == 400 and b"does not fit" in body
    beyond = json.dumps({"inputs": [image]}).replace("0.5", "1e400")
    status, body = curl("POST", "/v2/models/digits/infer", beyond.encode())
    assert status == 400 and b"beyond the range" in body
    status, body = curl("POST", "/v2/models/digits/infer", {"inputs": [image], "parameters": {"timeout": -5}})
    assert status == 400 and b"timeout" in body


def test_a_body_without_json_is_the_only_input(curl: Curl, image: np.ndarray) -> None:
    status, body = curl("POST", "/v2/models/digits/infer", image.tobytes(), Inference_Header_Content_Length="0")
    assert status == 200, body
    expected = sluice.compile(DIGITS)(image)
    assert body.endswith(expected.tobytes())


def test_compressed_bodies_are_inflated_within_the_limit(served: daemons.Daemon, curl: Curl,
                                                         image: np.ndarray) -> None:
    path, size = "/v2/models/digits/infer", 64 << 20
    right = json.dumps({"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32",
                                    "parameters": {"binary_data_size": 256}}]}).encode()
    whole = gzip.compress(right + image[:1].tobytes())
    status, body = curl("POST", path, whole, Content_Encoding="gzip", Inference_Header_Content_Length=str(len(right)))
    assert status == 200, body
    for data, coding, expected in [
        (whole[:-9], "gzip", 400), (whole + b"x", "gzip", 400), (whole, "deflate", 400), (right, "gzip", 400),
        (zlib.compress(bytes(size + 1)), "deflate", 413), (gzip.compress(bytes(3 * size)), "gzip", 413),
        (gzip.compress(bytes(size)), "gzip", 400), (b"", "gzip", 400),
    ]:
        status, body = curl("POST", path, data, Content_Encoding=coding)
        assert (status, set(json.loads(body))) == (expected, {"error"}), body
    for coding in ("br", "gzip, gzip"):
        assert Curl(served.http)("POST", path, whole, Content_Encoding=coding)[0] == 415


def test_models_come_and_go_by_name(client: Any, served: daemons.Daemon, curl: Curl) -> None:
    (served.folder / "a b.sluice").write_bytes((served.folder / "digits.sluice").read_bytes())
    assert curl("POST", "/v2/repository/models/a%20b/load")[0] == 200
    assert curl("GET", "/v2/models/a%20b/ready")[0] == 200
    client.unload_model("a b")
    assert curl("GET", "/v2/models/a%20b/ready")[0] == 404
    with pytest.raises(InferenceServerException, match="no model folder has"):
        client.load_model("absent")


@pytest.mark.parametrize("path", ["models/%ff/ready", "models/%ff", "models/%c3%28/config", "models/a%ff/stats",
                                  "repository/models/%ff/load", "models/%ff/infer", "%ff", "health/%80"])
def test_paths_that_are_no_text_are_refused(curl: Curl, path: str) -> None:
    for method in ("GET", "POST"):
        status, body = curl(method, f"/v2/{path}")
        assert (status, "not UTF-8" in json.loads(body)["error"]) == (400, True)


def wrong(change: dict[str, Any]) -> dict[str, Any]:
    entry = {"name": "n", "shape": [1, 2], "datatype": "INT64", "data": [1, 2]} | change
    words_in = {"name": "w", "shape": [0], "datatype": "BYTES", "data": []}
    return {"inputs": [{name: value for name, value in entry.items() if value is not None}, words_in]}


@pytest.mark.parametrize("body, message", [
    (b"", "no JSON"),
    (b"{", "no JSON"),
    (b"[]", "no JSON object"),
    (b"{\"inputs\": 3}", "is no list"),
    (b"{\"inputs\": [3]}", "an entry is no object"),
    (b"{}", "is missing"),
    (b"{\"inputs\":" + b"[" * 10_000 + b"]" * 10_000 + b"}", "no JSON"),
    (b"{\"id\": 3}", "wrong kind"),
    (b"\xff\xfe", "no JSON"),
    (wrong({"name": "z"}), "no input z"),
    (wrong({"shape": None}), "no list"),
    (wrong({"shape": [1, 3]}), "has 24 bytes, 16 came"),
    (wrong({"shape": [-1, -2]}), "negative or too large"),
    (wrong({"shape": [2**62, 4]}), "negative or too large"),
    (wrong({"datatype": "INT"}), "is no datatype"),
    (wrong({"datatype": "FP16"}), "send binary data"),
    (wrong({"data": [1.5, 2]}), "no whole number"),
    (wrong({"data": [1, 2**63]}), "no whole number"),
    (wrong({"data": [1, 2**64]}), "does not fit the type"),
    (wrong({"data": [True, 2]}), "no whole number"),
    (wrong({"data": None}), "neither"),
    (wrong({"parameters": {"binary_data_size": 16}}), "\\\"data\\\" and"),
    (wrong({"data": None, "parameters": {"binary_data_size": 16}}), "0 bytes are left"),
    (wrong({"data": None, "parameters": {"binary_data_size": -1}}), "wrong kind"),
    (wrong({"parameters": {"shared_memory_region": "r"}}), "a size above 0"),
    (wrong({}) | {"outputs": [{"name": "z"}]}, "no output"),
    (wrong({}) | {"parameters": {"sequence_id": 3}}, "no sequences"),
])
def test_wrong_requests_are_refused_by_name(curl: Curl, body: Any, message: str) -> None:
    status, answer = curl("POST", "/v2/models/words/infer", body)
    assert status == 400, answer
    assert message in answer.decode(), answer
    assert set(json.loads(answer)) == {"error"}
    assert curl("POST", "/v2/models/words/infer", wrong({}))[0] == 200  # the connection goes on


@pytest.mark.parametrize("method, path, status", [
    ("GET", "/", 200), ("GET", "/v2x", 404), ("GET", "/v2/none", 404), ("GET", "/v2/models/absent", 404),
    ("GET", "/v2/models/words/versions/2", 404), ("GET", "/v2/models/words/infer", 405),
    ("GET", "/v2/models/%zz", 400), ("PUT", "/v2", 405), ("DELETE", "/v2/models/words", 405),
    ("POST", "/v2/models/absent/infer", 404), ("POST", "/v2/models/words", 404),
    ("POST", "/v2/repository/models/..%2Fwords/load", 400), ("GET", "/v2/", 200), ("HEAD", "/v2", 200),
    ("GET", "/metrics", 200), ("GET", "/v2/models/words/config", 200), ("POST", "/v2/repository/index", 200),
])
def test_paths_have_their_status(curl: Curl, method: str, path: str, status: int) -> None:
    assert curl(method, path)[0] == status


def test_tokens_and_roles_hold_over_http(tmp_path: pathlib.Path) -> None:
    sluice.compile(words()).save(tmp_path / "words.sluice")
    tokens = tmp_path / "tokens"
    tokens.write_text("all-of-it-0123456789 control,inference,monitor all\nonly-infer-0123456789 inference one\n")
    tokens.chmod(0o600)
    with daemons.running(tmp_path, "--http", "localhost:0", "--token-file", str(tokens)) as daemon:
        curl = Curl(daemon.http)
        whole, part = ({"Authorization": f"Bearer {secret}"}
                       for secret in ("all-of-it-0123456789", "only-infer-0123456789"))
        load = ("POST", "/v2/repository/models/words/load")
        infer = ("POST", "/v2/models/words/infer", wrong({}))
        assert curl(*load)[0] == 401
        assert curl(*load, Authorization="Bearer guessed")[0] == 401
        assert curl(*load, **part)[0] == 403
        assert curl(*load, **whole)[0] == 200
        assert curl(*load, Authorization=whole["Authorization"].lower())[0] == 200
        refused = http.client.HTTPConnection(daemon.http)
        refused.request(*load)
        assert refused.getresponse().getheader("WWW-Authenticate") == "Bearer"
        assert curl(*infer)[0] == 401
        assert curl(*infer, **part)[0] == 200
        assert curl("GET", "/v2/models/stats", **part)[0] == 403
        assert curl("GET", "/v2/models/stats", **whole)[0] == 200
        # Probes have no token, and learn no more than that.
        assert [curl("GET", f"/v2/health/{what}")[0] for what in ("live", "ready")] == [200, 200]
        assert [curl("GET", path)[0] for path in ("/v2", "/v2/models/words/ready", "/v2/health")] == [401] * 3
        bomb = gzip.compress(bytes(200 << 20))
        assert curl(*infer[:2], bomb, Content_Encoding="gzip")[0] == 401  # before a byte is inflated
        assert curl(*infer[:2], bomb, Content_Encoding="gzip", **part)[0] == 413


def test_null_is_as_good_as_no_member(curl: Curl) -> None:
    """Clients of Java, Go and C# write the members that they leave out so."""
    body = wrong({})
    body["inputs"][0]["parameters"] = None
    body |= {"id": None, "outputs": None, "parameters": {"sequence_id": None, "timeout": None}}
    status, answer = curl("POST", "/v2/models/words/infer", body)
    assert status == 200 and "id" not in json.loads(answer)
    body["outputs"] = [{"name": json.loads(answer)["outputs"][0]["name"], "parameters": None}]
    assert curl("POST", "/v2/models/words/infer", body)[0] == 200


def test_whole_numbers_may_be_written_with_a_point(curl: Curl) -> None:
    body = wrong({})
    wanted = curl("POST", "/v2/models/words/infer", body)
    assert wanted[0] == 200
    for tensor_ in body["inputs"]:
        tensor_["shape"] = [float(size) for size in tensor_["shape"]]
        if tensor_["datatype"] == "INT64":
            tensor_["data"] = [float(value) for value in np.ravel(tensor_["data"])]
    body["parameters"] = {"priority": 1.0, "timeout": 6e8}
    assert curl("POST", "/v2/models/words/infer", body) == wanted
    body["outputs"] = [{"name": "twice", "parameters": {"classification": 1.0}}]
    status, answer = curl("POST", "/v2/models/words/infer", body)
    assert status == 200 and json.loads(answer)["outputs"][0]["data"] == ["4:1"]
    body["parameters"]["sequence_id"] = 3.0
    assert b"no sequences" in curl("POST", "/v2/models/words/infer", body)[1]
    for parameters in ({"priority": 0.5}, {"priority": -1.0}, {"timeout": 1e300}, {"sequence_id": 3.5}):
        assert curl("POST", "/v2/models/words/infer", body | {"parameters": parameters})[0] == 400
    del body["parameters"]
    body["inputs"][0]["shape"][0] = 1.5
    assert curl("POST", "/v2/models/words/infer", body)[0] == 400


def test_a_byte_order_mark_is_passed_over(curl: Curl) -> None:
    marked = b"\xef\xbb\xbf" + json.dumps(wrong({})).encode()
    assert curl("POST", "/v2/models/words/infer", marked)[0] == 200
    assert curl("POST", "/v2/models/words/infer", b"\xef\xbb" + marked[3:])[0] == 400


def test_the_last_of_equal_members_counts(curl: Curl) -> None:
    body = json.dumps(wrong({})).replace('"shape": [1, 2]', '"shape": [7], "shape": [1, 2]')
    status, answer = curl("POST", "/v2/models/words/infer", body[:-1] + ', "id": "a", "id": "b"}')
    assert (status, json.loads(answer)["id"]) == (200, "b")


def test_a_body_without_json_may_be_a_text(tmp_path: pathlib.Path) -> None:
    """Raw binary requests of Triton: the client sends no length before the text."""
    text, f32 = TensorProto.STRING, TensorProto.FLOAT
    for name, element, shape in (("one", text, [1]), ("open", text, ["N", 1]), ("many", text, [2]), ("number", f32, [1])):
        same_type(element, shape=tuple(shape)).save(tmp_path / f"{name}.sluice")
    with daemons.running(tmp_path, "--http", "localhost:0") as running:
        curl = Curl(running.http)
        raw = {"Inference_Header_Content_Length": "0", "Content_Type": "application/octet-stream"}
        for name in ("one", "open", "many", "number"):
            assert curl("POST", f"/v2/repository/models/{name}/load")[0] == 200
        for given in (b"a name: \xe6\x97\xa5\x00", b"", b"x" * 70_000):
            for name in ("one", "open"):
                status, answer = curl("POST", f"/v2/models/{name}/infer", given, **raw)
                assert status == 200 and answer.endswith(len(given).to_bytes(4, "little") + given)
        status, answer = curl("POST", "/v2/models/many/infer", b"a", **raw)
        assert status == 400 and "2 of them" in json.loads(answer)["error"]
        assert curl("POST", "/v2/models/number/infer", np.float32(7).tobytes(), **raw)[0] == 200


def test_numbers_that_json_lacks_are_named(curl: Curl) -> None:
    for number in ("NaN", "-Infinity"):
        body = f'{{"inputs":[{{"name":"image","shape":[1,1],"datatype":"FP32","data":[{number}]}}]}}'
        status, answer = curl("POST", "/v2/models/digits/infer", body)
        assert status == 400 and "no NaN and no Infinity; send binary data" in json.loads(answer)["error"]


def test_an_index_takes_a_short_body(curl: Curl) -> None:
    assert curl("POST", "/v2/repository/index", {"ready": True})[0] == 200
    assert curl("POST", "/v2/repository/index", b"[" * 1_000_000)[0] == 400
    assert curl("POST", "/v2/repository/index", b"[]")[0] == 400


@pytest.mark.parametrize(("host", "status"), [
    ("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]", 200), ("10.1.2.3:8000", 200), ("rebound.example", 421),
    ("localhost.example", 421), ("10.1.2.3.example", 421)])
def test_other_hosts_are_not_answered(served: daemons.Daemon, host: str, status: int) -> None:
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Host: {host}",
                           f"http://{served.http}/v2/health/live"], capture_output=True, text=True, check=True)
    assert done.stdout == str(status)


@pytest.mark.parametrize(("method", "path"), [
    ("POST", "/v2/repository/models/digits/unload"), ("POST", "/v1/completions"), ("POST", "/page/models/1/profile"),
    ("POST", "/v2/systemsharedmemory/unregister"), ("GET", "/page/events"), ("OPTIONS", "/v2"), ("GET", "/metrics")])
def test_pages_of_other_sites_are_refused(served: daemons.Daemon, curl: Curl, method: str, path: str) -> None:
    for origin in ("http://evil.example", "null", "http://localhost.evil.example", "http://10.1.2.3"):
        status, answer = curl(method, path, Origin=origin, Content_Type="text/plain")
        assert status == 403 and origin in json.loads(answer)["error"]
    assert curl("GET", "/v2/models/digits/ready", Origin=f"http://{served.http}")[0] == 200


def test_hosts_of_the_operator_are_answered(tmp_path: pathlib.Path) -> None:
    with daemons.running(tmp_path, "--http", "localhost:0", "--http-hosts", "models.example") as running:
        curl = Curl(running.http)
        assert curl("GET", "/v2/health/live", Host="models.example:80")[0] == 200
        assert curl("GET", "/", Host="rebound.example")[0] == 421
