"""Spans that a collector gets: their parents, their times, and the requests that are sampled."""

from __future__ import annotations

import concurrent.futures
import pathlib
import secrets
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS, PATIENCE, eventually
from machine import mounted

from collector import Collector, attributes, collecting

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")

IMAGE = np.zeros((1, 1, 8, 8), np.float32)


class Caller:
    """A span of somebody else's."""

    def __init__(self, is_sampled: bool = True) -> None:
        self.trace, self.span = secrets.token_hex(16), secrets.token_hex(8)
        self.traceparent = f"00-{self.trace}-{self.span}-0{int(is_sampled)}"


@pytest.fixture(scope="module", params=["http", "grpc"])
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    with collecting() as made:
        made.chosen = getattr(made, request.param)
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[daemons.Daemon]:
    folder = tmp_path_factory.mktemp("served")
    sluice.compile(DIGITS).save(folder / "digits.sluice")
    with daemons.running(folder, "--http", "localhost:0", "-g", "localhost:0", "--models",
                         str(folder / "digits.sluice"), "--otlp", collector.chosen) as running:
        yield running


def by_ring(served: daemons.Daemon, caller: Caller) -> None:
    with sluice.Client(served.address) as client:
        model = client.find("digits")
        model.run({model.inputs[0].name: IMAGE}, traceparent=caller.traceparent)


def by_grpc(served: daemons.Daemon, caller: Caller) -> None:
    with sluice.Client(served.addresses[-1]) as client:
        model = client.find("digits")
        model.run({model.inputs[0].name: IMAGE}, traceparent=caller.traceparent)


def by_stream(served: daemons.Daemon, caller: Caller) -> None:
    with sluice.Client(served.addresses[-1]) as client:
        client.find("digits").submit(IMAGE, traceparent=caller.traceparent).result(PATIENCE)


def infer(module: Any, address: str, headers: dict[str, str], name: str = "digits") -> Any:
    with module.InferenceServerClient(address) as client:
        image = module.InferInput("image", list(IMAGE.shape), "FP32")
        image.set_data_from_numpy(IMAGE)
        return client.infer(name, [image], headers=headers)


def by_open_grpc(served: daemons.Daemon, caller: Caller) -> None:
    infer(grpcclient, served.addresses[-1], {"traceparent": caller.traceparent, "tracestate": "a=1"})


def by_open_stream(served: daemons.Daemon, caller: Caller) -> None:
    answers: list[Any] = []
    with grpcclient.InferenceServerClient(served.addresses[-1]) as client:
        image = grpcclient.InferInput("image", list(IMAGE.shape), "FP32")
        image.set_data_from_numpy(IMAGE)
        client.start_stream(lambda result, error: answers.append((result, error)),
                            headers={"traceparent": caller.traceparent, "tracestate": "a=1"})
        client.async_stream_infer("digits", [image])
        client.stop_stream()
    assert len(answers) == 1 and answers[0][1] is None


def by_http(served: daemons.Daemon, caller: Caller) -> None:
    infer(httpclient, served.http, {"traceparent": caller.traceparent, "tracestate": "a=1"})


@pytest.mark.parametrize(("door", "call"), [("ring", by_ring), ("grpc", by_grpc), ("grpc-stream", by_stream),
                                            ("http", by_http), ("open-inference", by_open_grpc),
                                            ("open-inference-stream", by_open_stream)])
def test_request_is_below_its_callers_span(served: daemons.Daemon, collector: Collector, door: str,
                                           call: Callable[[daemons.Daemon, Caller], None]) -> None:
    caller = Caller()
    call(served, caller)
    eventually(lambda: "reply" in collector.of_trace(caller.trace))
    spans = collector.of_trace(caller.trace)
    request = spans.pop("request")
    assert request.name == "infer digits" and request.kind == request.SPAN_KIND_SERVER
    assert request.parent_span_id.hex() == caller.span and request.status.code != request.status.STATUS_CODE_ERROR
    said = attributes(request)
    assert said["sluice.door"] == door and said["sluice.request.bytes"] == IMAGE.nbytes
    assert request.trace_state == ("a=1" if door.startswith(("open", "http")) else "")
    # Each is a child of the request, and begins where the one before it has ended.
    assert {"queue", "segment 0", "reply"} <= set(spans)
    assert all(span.parent_span_id == request.span_id for span in spans.values())
    ordered = sorted(spans.values(), key=lambda span: span.start_time_unix_nano)
    assert [span.name for span in ordered][:1] + [span.name for span in ordered][-1:] == ["queue", "reply"]
    times = [request.start_time_unix_nano]
    for span in ordered:
        times += [span.start_time_unix_nano, span.end_time_unix_nano]
    assert times == sorted(times) and times[-1] <= request.end_time_unix_nano
    assert attributes(spans["segment 0"])["sluice.backend"] == "cpu"
    assert collector.services == {"sluiced"}


def test_request_that_nobody_chose_has_no_spans(served: daemons.Daemon, collector: Collector) -> None:
    refused, chosen = Caller(is_sampled=False), Caller()
    by_http(served, refused)
    by_http(served, chosen)
    eventually(lambda: collector.of_trace(chosen.trace))
    assert not collector.of_trace(refused.trace)


def test_refused_request_has_its_error(served: daemons.Daemon, collector: Collector) -> None:
    caller = Caller()
    with httpclient.InferenceServerClient(served.http) as client:
        image = httpclient.InferInput("image", [1, 1, 9, 9], "FP32")
        image.set_data_from_numpy(np.zeros((1, 1, 9, 9), np.float32))
        with pytest.raises(Exception, match="image"):
            client.infer("digits", [image], headers={"traceparent": caller.traceparent})
    eventually(lambda: collector.of_trace(caller.trace))
    spans = collector.of_trace(caller.trace)
    assert set(spans) <= {"request", "reply"}
    status = spans["request"].status
    assert status.code == status.STATUS_CODE_ERROR and "image" in status.message


def test_joined_requests_share_a_batch(served: daemons.Daemon, collector: Collector) -> None:
    callers = [Caller(), Caller()]
    with sluice.Client(served.address) as client:
        # Both rows are there at once, or the first waits for the second.
        joined = client.load(sluice.compile(DIGITS), name="joined", batch_rows=2, max_delay=30)
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            runs = [threads.submit(joined.run, {"image": IMAGE}, traceparent=caller.traceparent)
                    for caller in callers]
            for run in runs:
                run.result()
    for caller in callers:
        eventually(lambda caller=caller: "reply" in collector.of_trace(caller.trace))
        spans = collector.of_trace(caller.trace)
        assert spans["batch"].parent_span_id == spans["request"].span_id
        assert spans["segment 0"].parent_span_id == spans["batch"].span_id
        assert spans["queue"].parent_span_id == spans["request"].span_id


def metrics(served: daemons.Daemon) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{served.http}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def test_collector_that_refuses_costs_spans_and_no_request(served: daemons.Daemon, collector: Collector) -> None:
    before = metrics(served)["sluice_trace_spans_lost_total"]
    collector.refuses = True
    try:
        by_http(served, Caller())
        eventually(lambda: metrics(served)["sluice_trace_spans_lost_total"] > before)
    finally:
        collector.refuses = False
    before = metrics(served)["sluice_trace_spans_sent_total"]
    caller = Caller()
    by_http(served, caller)
    eventually(lambda: "reply" in collector.of_trace(caller.trace))
    num_spans = len(collector.of_trace(caller.trace))
    # The daemon counts them after the collector has answered.
    eventually(lambda: metrics(served)["sluice_trace_spans_sent_total"] >= before + num_spans)


def test_slow_requests_are_traced_whatever_was_decided(tmp_path: pathlib.Path, slow: sluice.Model) -> None:
    slow.save(tmp_path / "slow.sluice")
    x = np.ones(64, np.float32)
    with collecting() as collector, daemons.running(
            tmp_path, "--models", str(tmp_path / "slow.sluice"), "--otlp", collector.grpc,
            "--trace-slower-ms", "100") as served, sluice.Client(served.address) as client:
        model = client.find("slow")
        quick, late = Caller(is_sampled=False), Caller(is_sampled=False)
        model.run({"n": np.int64(1), "x": x}, traceparent=quick.traceparent)
        model.run({"n": np.int64(3_000_000), "x": x}, traceparent=late.traceparent)
        eventually(lambda: collector.of_trace(late.trace))
        request = collector.of_trace(late.trace)["request"]
        took_ns = request.end_time_unix_nano - request.start_time_unix_nano
        assert took_ns >= 100_000_000
        if collector.of_trace(quick.trace):  # a busy machine may be slow at anything
            request = collector.of_trace(quick.trace)["request"]
            assert request.end_time_unix_nano - request.start_time_unix_nano >= 100_000_000


def test_rate_traces_requests_without_a_caller(tmp_path: pathlib.Path) -> None:
    sluice.compile(DIGITS).save(tmp_path / "digits.sluice")
    with collecting() as collector, daemons.running(
            tmp_path, "--models", str(tmp_path / "digits.sluice"), "--otlp", collector.http,
            "--trace-rate", "1") as served, sluice.Client(served.address) as client:
        client.find("digits")(IMAGE)
        eventually(lambda: collector.spans)
        assert not [span for span in collector.spans if span.name.startswith("infer") and span.parent_span_id]


@pytest.mark.parametrize("first", [
    "127.0.0.1 127.0.0.2",  # nobody listens at the first address of the name
    "127.0.0.3"])  # nor at its only one, until it gets another
def test_collector_is_found_at_any_address_of_its_name(tmp_path: pathlib.Path, first: str) -> None:
    sluice.compile(DIGITS).save(tmp_path / "digits.sluice")
    hosts = tmp_path / "hosts"

    def set_hosts(addresses: str) -> None:
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{one} otel.test\n" for one in addresses.split()))

    set_hosts(first)
    before = mounted('mount --bind "$1" /etc/hosts', hosts)
    with collecting("127.0.0.2") as collector:
        served = daemons.Daemon(
            tmp_path, "--http", "localhost:0", "--models", str(tmp_path / "digits.sluice"), "--trace-rate", "1",
            "--listen-plain", "--otlp", f"http://otel.test:{collector.http.rpartition(':')[2]}", before=before)
        try:
            with sluice.Client(served.address) as client:
                model = client.find("digits")
                model(IMAGE)
                if "127.0.0.2" not in first:
                    eventually(lambda: metrics(served)["sluice_trace_spans_lost_total"] > 0)
                    set_hosts("127.0.0.2")
                    model(IMAGE)
                eventually(lambda: collector.spans)
        finally:
            served.kill()


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_collector_that_answers_nothing_does_not_hold_the_end(tmp_path: pathlib.Path, scheme: str) -> None:
    sluice.compile(DIGITS).save(tmp_path / "digits.sluice")
    # The kernel takes connections and bytes; nobody reads them. All messages would take 10 s each.
    with socket.create_server(("127.0.0.1", 0)) as silent, daemons.running(
            tmp_path, "--models", str(tmp_path / "digits.sluice"), "--trace-rate", "1",
            "--otlp", f"{scheme}://127.0.0.1:{silent.getsockname()[1]}") as served:
        with sluice.Client(served.address) as client:
            model = client.find("digits")
            for _ in range(8192):
                model(IMAGE)
        served.terminate()
        eventually(served.has_ended, limit_s=60)


@pytest.mark.parametrize("bad", ["localhost:4318", "https://localhost:4318", "grpc://localhost:4317/x",
                                 "http://localhost", "http://collector.example:4318"])
def test_address_that_is_no_collectors_is_refused(tmp_path: pathlib.Path, bad: str) -> None:
    with pytest.raises(RuntimeError, match="otlp"):
        with daemons.running(tmp_path, "--otlp", bad):
            pass


def test_traceparent_that_is_none_is_refused_before_it_is_sent(served: daemons.Daemon) -> None:
    with sluice.Client(served.address) as client:
        with pytest.raises(sluice.InvalidArgument, match="traceparent"):
            client.find("digits").run({"image": IMAGE}, traceparent="00-1-2-3")
