"""/metrics as monitoring reads it: Prometheus's own parsers, a Prometheus that scrapes, exemplars of traces."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import DIGITS, eventually
from ports import free_port

from collector import Collector, collecting

IMAGE = np.zeros((1, 1, 8, 8), np.float32)
OPEN = "application/openmetrics-text;version=1.0.0"
PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[daemons.Daemon]:
    folder = tmp_path_factory.mktemp("served")
    sluice.compile(DIGITS).save(folder / "digits.sluice")
    with daemons.running(folder, "--http", "localhost:0", "--models", str(folder / "digits.sluice"),
                         "--otlp", collector.http, "--trace-rate", "1") as running:
        with sluice.Client(running.address) as client:
            for _ in range(20):
                client.find("digits")(IMAGE)
        yield running


def metrics(served: daemons.Daemon, accept: str = "") -> tuple[str, bytes]:
    request = urllib.request.Request(f"http://{served.http}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Content-Type"], answer.read()


def installed(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed; Debian's package prometheus has it")
    return path


def test_text_passes_promtool(served: daemons.Daemon) -> None:
    kind, text = metrics(served)
    assert kind.startswith("text/plain; version=0.0.4")
    said = subprocess.run([installed("promtool"), "check", "metrics"], input=text, capture_output=True)
    # Triton's counters lack the end that promtool asks for.
    found = [line for line in said.stderr.decode().splitlines() if not line.startswith(("nv_inference_", "nv_cache_"))]
    assert not found


def test_openmetrics_has_the_trace_of_a_request(served: daemons.Daemon, collector: Collector) -> None:
    def marked() -> list[str]:
        kind, text = metrics(served, OPEN)
        assert kind.startswith(OPEN.replace(";", "; ")) and text.endswith(b"# EOF\n")
        return [line for line in text.decode().splitlines() if " # {" in line]

    eventually(marked)
    (line,) = marked()
    assert line.startswith("sluice_model_request_duration_seconds_bucket{")
    trace = line.partition('trace_id="')[2].partition('"')[0]
    eventually(lambda: collector.of_trace(trace))


def families(message: bytes) -> dict[str, bytes]:
    """Delimited messages by the name of their family, which is their first field."""
    found, at = {}, 0
    while at < len(message):
        size = shift = 0
        while True:
            byte = message[at]
            at += 1
            size |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                break
        family = message[at:at + size]
        assert family[0] == 0x0a and len(family) == size
        found[family[2:2 + family[1]].decode()] = family
        at += size
    return found


def test_protobuf_has_every_family_of_the_text(served: daemons.Daemon) -> None:
    kind, message = metrics(served, PROTOBUF)
    assert "io.prometheus.client.MetricFamily" in kind
    text = metrics(served)[1].decode()
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    assert set(families(message)) == named


def test_prometheus_scrapes_native_histograms(served: daemons.Daemon, tmp_path: pathlib.Path) -> None:
    program = installed("prometheus")
    address = f"localhost:{free_port()}"
    config = tmp_path / "prometheus.yml"
    config.write_text("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: sluiced\n"
                      f"  static_configs: [{{targets: ['{served.http}']}}]\n")
    prometheus = subprocess.Popen(
        [program, f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data",
         f"--web.listen-address={address}", "--enable-feature=native-histograms,exemplar-storage"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(query: str) -> list[float]:
        url = f"http://{address}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(url) as answer:
                return [float(one["value"][1]) for one in json.load(answer)["data"]["result"]]
        except OSError:
            return []  # it has not begun to listen

    try:
        eventually(lambda: ask("up") == [1.0])
        # A function of native histograms alone.
        eventually(lambda: ask('histogram_count(sluice_model_request_duration_seconds{name="digits"})') == [20.0])
        (median,) = ask('histogram_quantile(0.5, sluice_model_request_duration_seconds{name="digits"})')
        (mean,) = ask('histogram_sum(sluice_model_request_duration_seconds{name="digits"}) / 20')
        assert 0 < median and 0 < mean
        assert ask("sluice_ready") == [1.0]
    finally:
        prometheus.terminate()
        prometheus.wait()
