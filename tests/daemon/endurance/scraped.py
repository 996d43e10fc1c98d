#!/usr/bin/env python3
"""A Prometheus server reads /metrics of a daemon under load, once a second: every scrape is valid, no series has a gap.

    tests/daemon/endurance/scraped.py BUILD_FOLDER [SCRAPES]

600 scrapes are ten minutes. Needs Debian's package prometheus; ends with 77 without it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Daemon, at, compile_digits, eventually, prove, same  # noqa: E402
from ports import free_port  # noqa: E402

SCRAPES = int(sys.argv[2]) if len(sys.argv) > 2 else 10
PROMETHEUS = shutil.which("prometheus")
#: Metrics of a daemon with a model: what must have a value at every scrape.
STEADY = ("sluice_ready", "sluice_cores_free", "sluice_model_requests_answered_total", "sluice_device_healthy",
          "sluice_model_request_duration_seconds", "sluice_group_core_busy_seconds_total")


class Prometheus:
    """Scrapes one target once a second."""

    def __init__(self, folder: Path, target: str) -> None:
        self._url = f"http://127.0.0.1:{free_port()}"
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "sluiced", "static_configs": [{"targets": [target]}]}]}))
        self._log = (folder / "prometheus.log").open("w")
        self._process = subprocess.Popen(
            [str(PROMETHEUS), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}",
             f"--web.listen-address={self._url.removeprefix('http://')}", "--enable-feature=native-histograms"],
            stdout=self._log, stderr=subprocess.STDOUT)

    def __enter__(self) -> Prometheus:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def query(self, expression: str) -> list[dict]:
        """What it has; nothing as long as it does not answer."""
        try:
            with urllib.request.urlopen(f"{self._url}/api/v1/query?query={urllib.parse.quote(expression)}") as answer:
                return json.load(answer)["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            assert self._process.poll() is None, "Prometheus ended"
            return []

    def values(self, expression: str) -> list[float]:
        return [float(one["value"][1]) for one in self.query(expression)]


def every_scrape_is_valid_and_without_a_gap(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        at(daemon).text("load", package)
        at(daemon).text("infer", "digits", "--input", "image=zeros")  # so that all series are there
        [line] = [line for line in daemon.said().splitlines() if "sluiced: metrics on " in line]
        is_over = threading.Event()

        def send() -> None:
            while not is_over.is_set():
                at(daemon).text("infer", "digits", "--input", "image=zeros", "--repeat", "5000", "--in-flight", "4")

        sender = threading.Thread(target=send)
        sender.start()
        try:
            with Prometheus(folder, line.partition(" on ")[2]) as server:
                span = f"[{2 * SCRAPES + 600}s]"
                scraped = f"count_over_time(up{span})"
                counts: list[float] = []
                for wanted in range(10, SCRAPES + 10, 10):  # each within the time that a wait may take
                    eventually(lambda wanted=wanted: sum(server.values(scraped)) >= wanted, why=lambda: str(counts))
                same(server.values(f"min_over_time(up{span})"), [1.0])
                same(server.values(f"min_over_time(sluice_ready{span})"), [1.0])
                # Both are asked at once: a scrape adds one to each.
                for name in STEADY:
                    gaps = server.values(f"count_over_time(up{span}) - on(job, instance) group_right() "
                                         f"min by (job, instance, name) (count_over_time({name}{span}))")
                    assert gaps and max(gaps) <= 1, (name, gaps)
                series = server.values(f"max_over_time(scrape_samples_post_metric_relabeling{span})")
                same(series, server.values(f"min_over_time(scrape_samples_post_metric_relabeling{span})"))
                counts = server.values(scraped)
                print(f"     {counts[0]:.0f} scrapes of {series[0]:.0f} samples, "
                      f"{server.values('sum(sluice_model_requests_answered_total)')[0]:.0f} requests")
        finally:
            is_over.set()
            sender.join()


if __name__ == "__main__":
    if PROMETHEUS is None:
        print("skipped: there is no prometheus; apt-get install prometheus")
        sys.exit(77)
    sys.exit(prove([every_scrape_is_valid_and_without_a_gap]))
