#!/usr/bin/env python3
"""/metrics of a running sluiced, as Prometheus would read it.

    tests/daemon/metrics.py BUILD_FOLDER
"""

import http.client
import socket
import sys
from pathlib import Path

from harness import Daemon, at, compile_digits, holds, prove, same


class LocalConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def connection_to(daemon: Daemon) -> http.client.HTTPConnection:
    address = daemon.door("metrics")
    if address.startswith("unix:"):
        return LocalConnection(address.removeprefix("unix:"))
    return http.client.HTTPConnection(address)


def get(daemon: Daemon, path: str = "/metrics", method: str = "GET") -> tuple[int, str, str]:
    """Status, type and body."""
    connection = connection_to(daemon)
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.headers["Content-Type"], answer.read().decode()


def samples(text: str) -> dict[str, float]:
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def requests_are_counted(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        sluice = at(daemon)
        model = sluice.json("load", package)
        for _ in range(3):
            sluice.text("infer", "digits", "--input", "image=zeros")
        status, kind, text = get(daemon)
        same((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        found = samples(text)
        labels = f'{{model="{model["model"]:#x}",name="digits"'
        group = f'{{group="{model["group"]}"'
        for owner, these in (("model", labels), ("group", group), ("device", '{device="0"')):
            same(found[f'sluice_{owner}_requests_answered_total{these},code="ok"}}'], 3)
            same(found[f'sluice_{owner}_request_duration_seconds_bucket{these},le="+Inf"}}'], 3)
            assert found[f"sluice_{owner}_request_duration_seconds_sum{these}}}"] > 0
        assert found['sluice_device_core_busy_seconds_total{device="0"}'] > 0
        same(found['sluice_device_core_busy_seconds_total{device="3"}'], 0)
        same(found["sluice_cores"] - found["sluice_cores_free"],
             sum(found[f'sluice_device_cores_reserved{{device="{i}"}}'] for i in range(4)))
        sluice.text("unload", "digits")
        after = samples(get(daemon)[2])
        assert not [name for name in after if name.startswith("sluice_model_requests")], "it is gone"
        same(after['sluice_device_requests_answered_total{device="0",code="ok"}'], 3)


def names_of_models_that_are_not_there_make_no_series(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--metrics", "localhost:0", "--http", "localhost:0") as daemon:
        at(daemon).text("load", package)
        before = samples(get(daemon)[2]).keys()
        [line] = [line for line in daemon.said().splitlines() if "sluiced: http on " in line]
        connection = http.client.HTTPConnection(line.partition(" on ")[2])
        for i in range(10_000):
            connection.request("POST", f"/v2/models/no-such-model-{i}/infer", '{"inputs": []}')
            answer = connection.getresponse()
            assert answer.status in (400, 404), answer.status
            answer.read()
        same(samples(get(daemon)[2]).keys() - before, set())


def series_end_with_their_model(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        sluice = at(daemon)
        sluice.text("load", package, "--name", "first")
        sluice.text("unload", "first")
        before = samples(get(daemon)[2]).keys()
        for i in range(12):
            sluice.text("load", package, "--name", f"model-{i}")
            sluice.text("unload", f"model-{i}")
        after = samples(get(daemon)[2]).keys()
        same({name for name in after - before if "model" in name}, set())


def unix_socket_has_the_configured_mode_and_is_removed_at_exit(folder: Path) -> None:
    path = folder / "metrics.sock"
    with Daemon(folder / "d", "--metrics", f"unix:{path}", "--socket-mode", "0600") as daemon:
        same(path.stat().st_mode & 0o777, 0o600)
        same(samples(get(daemon)[2])["sluice_ready"], 1)
        same(daemon.stop(), 0)
    assert not path.exists()


def other_paths_and_methods_are_refused(folder: Path) -> None:
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        same(get(daemon, "/")[0], 404)
        same(get(daemon, "/metrics", "POST")[0], 405)
        same(get(daemon, "/metrics?name[]=x")[0], 200)


def silent_client_does_not_block_shutdown(folder: Path) -> None:
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        connection = connection_to(daemon)
        connection.connect()
        connection.sock.sendall(b"GET /metr")
        same(daemon.stop(), 0)
        same(connection.sock.recv(1), b"")


def metrics_are_served_only_if_configured(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        assert "metrics on" not in daemon.said()
        holds(daemon.said(), "listening on")


def functions_of_one_package_count_its_constants_once(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        sluice, held = at(daemon), []
        for name in ("one", "two"):
            sluice.text("deploy", package, "--name", name)
            sluice.text("infer", name, "--input", "image=zeros")
            held.append({key: value for key, value in samples(get(daemon)[2]).items()
                         if key.startswith("sluice_device_memory_bytes{") and "constants" in key})
        assert sum(held[0].values()) > 0, held
        same(held[1], held[0])


if __name__ == "__main__":
    sys.exit(prove([
        requests_are_counted,
        names_of_models_that_are_not_there_make_no_series,
        series_end_with_their_model,
        unix_socket_has_the_configured_mode_and_is_removed_at_exit,
        other_paths_and_methods_are_refused,
        silent_client_does_not_block_shutdown,
        metrics_are_served_only_if_configured,
        functions_of_one_package_count_its_constants_once,
    ]))
