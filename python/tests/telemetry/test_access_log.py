"""The access log: a line of JSON for each request, with the id that its client gave or gets."""

from __future__ import annotations

import json
import pathlib
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS, eventually, whole_lines

grpcclient = pytest.importorskip("tritonclient.grpc")

IMAGE = np.zeros((1, 1, 8, 8), np.float32)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[daemons.Daemon]:
    folder = tmp_path_factory.mktemp("served")
    sluice.compile(DIGITS).save(folder / "digits.sluice")
    with daemons.running(folder, "--http", "localhost:0", "-g", "localhost:0", "--models",
                         str(folder / "digits.sluice"), "--access-log", str(folder / "access.log")) as running:
        yield running


def lines(served: daemons.Daemon, **wanted: Any) -> list[dict[str, Any]]:
    every = [json.loads(line) for line in whole_lines(served.folder / "access.log")]
    return [line for line in every if wanted.items() <= line.items()]


def post(served: daemons.Daemon, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"http://{served.http}{path}", json.dumps(body).encode(),
        {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


BODY = {"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": IMAGE.tolist()}]}


def test_request_over_http_has_a_line_with_the_id_of_its_client(served: daemons.Daemon) -> None:
    status, headers = post(served, "/v2/models/digits/infer", BODY, x_request_id="a-7")
    assert status == 200 and headers["x-request-id"] == "a-7"
    eventually(lambda: lines(served, request_id="a-7"))
    (line,) = lines(served, request_id="a-7")
    assert line["door"] == "http" and line["call"] == "POST /v2/models/digits/infer"
    assert line["model"] == "digits" and line["status"] == "ok" and line["http_status"] == 200
    assert line["bytes_in"] == IMAGE.nbytes and line["bytes_out"] == 40
    stages = [line[f"{stage}_ns"] for stage in ("read", "queue", "copy", "compute", "reply")]
    assert line["user"] and line["read_ns"] > 0 and line["reply_ns"] > 0
    assert line["total_ns"] >= sum(stages)


def test_request_without_an_id_gets_one(served: daemons.Daemon) -> None:
    _, headers = post(served, "/v2/models/digits/infer", BODY, x_request_id="two words")
    made = headers["x-request-id"]
    assert len(made) == 32
    eventually(lambda: lines(served, request_id=made))


def test_refused_requests_have_lines(served: daemons.Daemon) -> None:
    assert post(served, "/v2/models/nothing/infer", BODY, x_request_id="b-1")[0] == 404
    assert post(served, "/v2/elsewhere", {}, x_request_id="b-2")[0] == 404
    eventually(lambda: lines(served, request_id="b-1") and lines(served, request_id="b-2"))
    (line,) = lines(served, request_id="b-1")
    assert line["status"] == "not found" and "nothing" in line["error"]
    assert lines(served, request_id="b-2")[0]["status"] == "not found"


def test_request_over_grpc_and_the_ring_has_a_line(served: daemons.Daemon) -> None:
    with grpcclient.InferenceServerClient(served.addresses[-1]) as client:
        image = grpcclient.InferInput("image", list(IMAGE.shape), "FP32")
        image.set_data_from_numpy(IMAGE)
        client.infer("digits", [image], headers={"x-request-id": "c-1"})
    with sluice.Client(served.address) as client:
        client.find("digits")(IMAGE)
    eventually(lambda: lines(served, request_id="c-1", door="open-inference", status="ok"))
    eventually(lambda: lines(served, door="ring", model="digits", status="ok"))


def test_log_that_was_moved_away_begins_anew(served: daemons.Daemon) -> None:
    path = served.folder / "access.log"
    post(served, "/v2/models/digits/infer", BODY, x_request_id="d-1")
    eventually(lambda: lines(served, request_id="d-1"))
    path.rename(path.with_suffix(".1"))
    post(served, "/v2/models/digits/infer", BODY, x_request_id="d-2")
    eventually(path.exists)
    eventually(lambda: lines(served, request_id="d-2"))


def test_long_path_hides_no_other_request_on_stderr(tmp_path: pathlib.Path) -> None:
    said = tmp_path / "stderr"
    served = daemons.Daemon(tmp_path, "--http", "localhost:0", "--access-log", "stderr",
                            before=["sh", "-c", 'exec "$@" 2>"$0"', str(said)])

    def logged() -> dict[str, dict[str, Any]]:
        every = [json.loads(line) for line in whole_lines(said) if line.startswith("{")]
        return {line["request_id"]: line for line in every}

    try:
        # A character of control takes six bytes in JSON.
        for path, made in [("a" * 9000, "f-1"), ("%01" * 2000, "f-2"), ("next", "f-3")]:
            assert post(served, f"/v2/{path}", {}, x_request_id=made)[0] >= 400
            eventually(lambda made=made: made in logged())
        assert logged()["f-1"]["call"].startswith("POST /v2/aaa") and logged()["f-3"]["call"] == "POST /v2/next"
    finally:
        served.kill()


def test_log_that_cannot_be_written_stops_the_start(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="access_log"):
        with daemons.running(tmp_path, "--access-log", str(tmp_path / "none" / "access.log")):
            pass


def test_id_comes_back_without_a_log(tmp_path: pathlib.Path) -> None:
    with daemons.running(tmp_path, "--http", "localhost:0") as served:
        status, headers = post(served, "/v2/elsewhere", {}, x_request_id="e-1")
        assert status == 404 and headers["x-request-id"] == "e-1"
        assert "x-request-id" not in post(served, "/v2/elsewhere", {})[1]
