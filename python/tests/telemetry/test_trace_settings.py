"""Trace settings over gRPC and HTTP, as Triton's client reads and changes them, and the spans that follow."""

from __future__ import annotations

import pathlib
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS, eventually

from collector import Collector, collecting

grpcclient = pytest.importorskip("tritonclient.grpc")
httpclient = pytest.importorskip("tritonclient.http")
from tritonclient.utils import InferenceServerException  # noqa: E402

DEFAULT = {"trace_level": ["TIMESTAMPS"], "trace_rate": "0", "trace_mode": "opentelemetry", "trace_count": "-1",
           "log_frequency": "0", "trace_file": ""}
IMAGE = np.zeros((1, 1, 8, 8), np.float32)


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture
def served(tmp_path: pathlib.Path, collector: Collector) -> Iterator[daemons.Daemon]:
    sluice.compile(DIGITS).save(tmp_path / "digits.sluice")
    with daemons.running(tmp_path, "--http", "localhost:0", "--models", str(tmp_path / "digits.sluice"),
                         "--otlp", collector.http) as running:
        yield running


@pytest.fixture(params=[grpcclient, httpclient], ids=["grpc", "http"])
def client(served: daemons.Daemon, request: pytest.FixtureRequest) -> Iterator[Any]:
    with request.param.InferenceServerClient(served.address if request.param is grpcclient else served.http) as made:
        yield made


def settings(answer: Any) -> dict[str, Any]:
    if isinstance(answer, dict):
        return answer
    return {name: list(one.value) if name == "trace_level" else one.value[0]
            for name, one in answer.settings.items()}


def test_requests_become_spans_as_the_settings_say(served: daemons.Daemon, client: Any, collector: Collector) -> None:
    assert settings(client.get_trace_settings()) == DEFAULT
    assert settings(client.get_trace_settings("digits")) == DEFAULT
    assert settings(client.update_trace_settings(settings={"trace_rate": "1"})) == DEFAULT | {"trace_rate": "1"}
    with sluice.Client(served.address) as caller:
        model = caller.find("digits")
        before = len(collector.spans)
        model(IMAGE)
        eventually(lambda: any(span.name.startswith("infer ") for span in collector.spans[before:]))
        off = {"trace_level": ["OFF"], "trace_rate": "1"}
        assert settings(client.update_trace_settings(settings=off)) == DEFAULT | off
        eventually(lambda: any(span.name == "reply" for span in collector.spans[before:]))
        before = len(collector.spans)
        for _ in range(3):
            model(IMAGE)
        client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
        model(IMAGE)
        eventually(lambda: any(span.name == "reply" for span in collector.spans[before:]))
        assert sum(span.name.startswith("infer ") for span in collector.spans[before:]) == 1


@pytest.mark.parametrize("wrong", [
    {"trace_rate": "-1"}, {"trace_rate": "many"}, {"trace_rate": None}, {"trace_level": ["TENSORS"]},
    {"trace_mode": "triton"}, {"trace_file": "/tmp/owned"}, {"trace_count": "5"}, {"colour": "red"}])
def test_what_the_daemon_does_not_have_is_refused_and_changes_nothing(client: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InferenceServerException, match=next(iter(wrong))):
        client.update_trace_settings(settings={"trace_level": ["OFF"]} | wrong)
    with pytest.raises(InferenceServerException, match="share"):
        client.update_trace_settings("digits", {"trace_level": ["OFF"]})
    with pytest.raises(InferenceServerException, match="nowhere"):
        client.get_trace_settings("nowhere")
    assert settings(client.get_trace_settings()) == DEFAULT


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"trace_rate": 1}', b'{"trace_level": [["OFF"]]}',
                                  b'{"a": ' + b"[" * 100_000, b'{"\xff": "1"}'])
def test_bodies_that_are_no_settings_are_refused(served: daemons.Daemon, body: bytes) -> None:
    request = urllib.request.Request(f"http://{served.http}/v2/trace/setting", body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    assert error.value.code == 400


def test_daemon_without_a_collector_says_so(tmp_path: pathlib.Path) -> None:
    with daemons.running(tmp_path, "--http", "localhost:0") as served:
        with httpclient.InferenceServerClient(served.http) as client:
            assert client.get_trace_settings()["trace_level"] == ["OFF"]
            with pytest.raises(InferenceServerException, match="--otlp"):
                client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})


def test_watchers_read_and_owners_change(tmp_path: pathlib.Path) -> None:
    (tmp_path / "tokens").write_text("watcher monitor\nsender inference\nowner\n")
    with daemons.running(tmp_path, "--http", "localhost:0", "--token-file", str(tmp_path / "tokens")) as served:
        def answered(token: str, change: bytes | None) -> int:
            fields = {"Authorization": f"Bearer {token}"}
            request = urllib.request.Request(f"http://{served.http}/v2/trace/setting", change, fields)
            try:
                with urllib.request.urlopen(request) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as error:
                return error.code

        assert [answered(token, None) for token in ("none", "sender", "watcher", "owner")] == [401, 403, 200, 200]
        change = b'{"trace_rate": "5"}'
        assert [answered(token, change) for token in ("none", "sender", "watcher", "owner")] == [401, 403, 403, 200]
