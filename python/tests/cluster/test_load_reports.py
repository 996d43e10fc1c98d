"""ORCA's load reports: the stream, and the field of an HTTP answer."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import pathlib
import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import pytest
import sluice
from conftest import DIGITS, PATIENCE, eventually
from protos import Protos

grpc = pytest.importorskip("grpc")
service_pb2 = pytest.importorskip("tritonclient.grpc.service_pb2")

STREAM = "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics"
INFER = "/inference.GRPCInferenceService/ModelInfer"


@pytest.fixture(scope="module")
def api() -> Protos:
    return Protos("orca/service.proto")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[daemons.Daemon]:
    """Over TCP it wants a token."""
    folder = tmp_path_factory.mktemp("loaded")
    sluice.compile(DIGITS).save(folder / "digits.sluice")
    (folder / "tokens").write_text("knock inference guest\n")
    with daemons.running(folder, "-g", "localhost:0", "--http", "localhost:0", "--models", str(folder / "digits.sluice"),
                         "--token-file", str(folder / "tokens")) as running:
        yield running


def request() -> Any:
    made = service_pb2.ModelInferRequest(model_name="digits")
    made.inputs.add(name="image", datatype="FP32", shape=[1, 1, 8, 8])
    made.raw_input_contents.append(bytes(256))
    return made


@contextlib.contextmanager
def channel(running: daemons.Daemon) -> Iterator[Any]:
    [address] = [one for one in running.addresses if not one.startswith("unix:")]
    with grpc.insecure_channel(address) as made:
        yield made


def infer(made: Any) -> None:
    call = made.unary_unary(INFER, lambda m: m.SerializeToString(), service_pb2.ModelInferResponse.FromString)
    assert call(request(), timeout=PATIENCE, metadata=[("authorization", "Bearer knock")]).outputs


def test_the_stream_tells_the_rate_of_requests_without_a_token(loaded: daemons.Daemon, api: Protos) -> None:
    wanted = api.message("xds.service.orca.v3.OrcaLoadReportRequest")(report_interval={"seconds": 1})
    report = api.message("xds.data.orca.v3.OrcaLoadReport")
    is_over = threading.Event()

    def send() -> None:
        with channel(loaded) as made:
            while not is_over.is_set():
                infer(made)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with channel(loaded) as made:
            call = made.unary_stream(STREAM, wanted.SerializeToString, report.FromString)(wanted, timeout=PATIENCE)
            reports = []
            for one in call:
                reports.append(one)
                assert 0 <= one.application_utilization <= 1 and one.eps == 0
                if one.rps_fractional > 0 and one.application_utilization > 0:
                    break
            call.cancel()
    finally:
        is_over.set()
        sender.join()
    assert len(reports) > 1, "the first report comes at once, before there is a rate"


def test_one_connection_takes_not_all_streams(tmp_path: pathlib.Path, api: Protos) -> None:
    """Streams of reports and of the daemon's health, which need no token."""
    wanted = api.message("xds.service.orca.v3.OrcaLoadReportRequest")(report_interval={"seconds": 3600})
    own = [("grpc.use_local_subchannel_pool", 1)]  # channels share connections otherwise
    with daemons.running(tmp_path) as running, grpc.insecure_channel(running.address, options=own) as greedy, \
            grpc.insecure_channel(running.address, options=own) as other:
        for method, message in ((STREAM, wanted.SerializeToString()), ("/grpc.health.v1.Health/Watch", b"")):

            def begin(made: Any, method: str = method, message: bytes = message) -> Any:
                """The stream, once it was answered; bytes in, bytes out."""
                call = made.unary_stream(method)(message, timeout=PATIENCE)
                assert next(call) is not None
                return call

            calls = [begin(greedy) for _ in range(16)]
            with pytest.raises(grpc.RpcError) as refused:
                begin(greedy)
            assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "over this connection" in refused.value.details()
            begin(other).cancel()
            calls.pop().cancel()

            def has_room() -> bool:
                try:
                    calls.append(begin(greedy))
                except grpc.RpcError as error:
                    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
                    return False
                return True

            eventually(has_room, PATIENCE)  # the daemon sees the end of a call at its next look
            for call in calls:
                call.cancel()


def test_streams_end_with_their_daemon(tmp_path: pathlib.Path, api: Protos) -> None:
    """Though the next report is an hour away."""
    wanted = api.message("xds.service.orca.v3.OrcaLoadReportRequest")(report_interval={"seconds": 3600})
    report = api.message("xds.data.orca.v3.OrcaLoadReport")
    with daemons.running(tmp_path, "--drain-seconds", "0") as running, grpc.insecure_channel(running.address) as made:
        call = made.unary_stream(STREAM, wanted.SerializeToString, report.FromString)(wanted, timeout=PATIENCE)
        assert next(call) is not None
        running.terminate()
        eventually(running.has_ended, PATIENCE)
        with pytest.raises(grpc.RpcError):
            next(call)


def ask_http(running: daemons.Daemon, **fields: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(running.http, timeout=PATIENCE)
    body = json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": [0] * 64}]})
    connection.request("POST", "/v2/models/digits/infer", body,
                       {"Authorization": "Bearer knock", **{name.replace("_", "-"): text for name, text in fields.items()}})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    return answer


def test_an_http_answer_has_the_report_in_the_form_that_was_asked(loaded: daemons.Daemon) -> None:
    assert ask_http(loaded).getheader("endpoint-load-metrics") is None
    assert ask_http(loaded, endpoint_load_metrics_format="xml").getheader("endpoint-load-metrics") is None
    text = str(ask_http(loaded, endpoint_load_metrics_format="text").getheader("endpoint-load-metrics"))
    assert text.startswith("TEXT ")
    pairs = dict(pair.split("=") for pair in text.removeprefix("TEXT ").split(", "))
    said = str(ask_http(loaded, endpoint_load_metrics_format="json").getheader("endpoint-load-metrics"))
    assert said.startswith("JSON ")
    report = json.loads(said.removeprefix("JSON "))
    assert set(pairs) == set(report) == {"application_utilization", "rps_fractional", "eps"}
    assert 0 <= float(pairs["application_utilization"]) <= 1 and 0 <= report["application_utilization"] <= 1


def test_a_call_has_the_report_in_its_trailers(loaded: daemons.Daemon, api: Protos, tmp_path: pathlib.Path) -> None:
    """gRPC's own client keeps the field for its policies, so another client of HTTP/2 looks."""
    curl = shutil.which("curl")
    if curl is None or "HTTP2" not in subprocess.run([curl, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("there is no curl with HTTP/2")
    [address] = [one for one in loaded.addresses if not one.startswith("unix:")]
    message = request().SerializeToString()
    (tmp_path / "message").write_bytes(struct.pack(">BI", 0, len(message)) + message)
    fields = ["content-type: application/grpc", "te: trailers", "authorization: Bearer knock"]
    said = subprocess.run([curl, "-s", "--http2-prior-knowledge", "--max-time", str(PATIENCE), "-D", "-", "-o", tmp_path / "answer",
                           *(word for field in fields for word in ("-H", field)),
                           "--data-binary", f"@{tmp_path / 'message'}", f"http://{address}{INFER}"],
                          capture_output=True, text=True, check=True).stdout
    trailers = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
    assert trailers["grpc-status"].strip() == "0"
    value = trailers["endpoint-load-metrics-bin"].strip()
    report = api.message("xds.data.orca.v3.OrcaLoadReport").FromString(base64.b64decode(value + "=" * (-len(value) % 4)))
    assert 0 <= report.application_utilization <= 1 and report.eps == 0
