"""HAProxy before three daemons, with the configuration that `python -m sluice.cluster haproxy` writes, and its clients."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

import daemon as daemons
import numpy as np
import pytest
import sluice
from conftest import PATIENCE, eventually, make_model
from hosts import Host
from onnx import TensorProto, helper
from ports import free_port

grpcclient = pytest.importorskip("tritonclient.grpc")

REQUESTS = int(os.environ.get("SLUICE_REQUESTS", "1200"))
CLIENTS = 4


def haproxy() -> str:
    path = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if path is None:
        pytest.skip("haproxy is not installed")
    return path


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


class Balancer:
    """HAProxy before three daemons; the daemons are made again on the ports that they had.

    `places`: the hosts that the daemons run on, by default all on this one. `doors`: of the daemons.
    """

    def __init__(self, folder: pathlib.Path, *options: str, places: Sequence[Host] = (),
                 doors: Sequence[str] = ("grpc", "http", "agent")) -> None:
        self.folder = folder
        self.places = places
        self.http, self.grpc = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.ports = [{door: free_port() for door in doors} for _ in range(3)]
        self.nodes: list[daemons.Daemon] = []
        self.packages: dict[int, pathlib.Path] = {}  # of nodes that have another one than `start` makes
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start_node(self, number: int) -> daemons.Daemon:
        ports = self.ports[number]
        folder = self.folder / f"n{number}"
        folder.mkdir(exist_ok=True)
        host = self.places[number].address if self.places else "localhost"
        node = daemons.Daemon(folder, "-g", f"{host}:{ports['grpc']}", "--http", f"{host}:{ports['http']}",
                              *(["--agent-check", f"{host}:{ports['agent']}"] if "agent" in ports else []),
                              "--drain-notice-seconds", "5", "--models", str(self.packages.get(number, self.folder / "m.sluice")),
                              *(["--listen-plain", "--http-hosts", "*"] if self.places else []),
                              before=self.places[number].words() if self.places else ())
        self.nodes[number:number + 1] = [node]
        return node

    def start(self) -> None:
        doubled = make_model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", TensorProto.FLOAT, ["N"])],
                             [("y", TensorProto.FLOAT, ["N"])])
        sluice.compile(doubled).save(self.folder / "m.sluice")
        for number in range(3):
            self.start_node(number)
        addresses = [place.address for place in self.places] or ["127.0.0.1"] * 3
        nodes = [",".join([address, *(f"{door}={port}" for door, port in ports.items())])
                 for address, ports in zip(addresses, self.ports, strict=True)]
        done = subprocess.run([sys.executable, "-m", "sluice.cluster", "haproxy", *nodes, "--http", self.http,
                               "--grpc", self.grpc, *self._options], capture_output=True, text=True, check=True)
        self.stats = self.folder / "stats.sock"
        text = done.stdout.replace("global\n", f"global\n    stats socket {self.stats} level admin\n", 1)
        path = self.folder / "haproxy.cfg"
        path.write_text(text)
        self._process = subprocess.Popen([haproxy(), "-db", "-f", path])
        eventually(lambda: self.states("http_stateless") == ["UP"] * 3 and self.states("grpc_stateless") == ["UP"] * 3,
                   PATIENCE, lambda: str(self.states("grpc_stateless")))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for node in self.nodes:
            node.kill()

    def rows(self, backend: str) -> list[dict[str, str]]:
        """HAProxy's figures of the daemons in a backend."""
        if not self.stats.exists():
            return []
        with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
            connection.connect(str(self.stats))
            connection.sendall(b"show stat\n")
            header, *lines = connection.makefile().read().strip().lstrip("# ").splitlines()
            names = header.split(",")
            rows = [dict(zip(names, line.split(","), strict=False)) for line in lines]
            return [row for row in rows if row["pxname"] == backend and row["svname"].startswith("n")]
        return []

    def states(self, backend: str) -> list[str]:
        return [row["status"] for row in self.rows(backend)]

    def totals(self, backend: str) -> list[int]:
        return [int(row["stot"]) for row in self.rows(backend)]


def infer_http(connection: http.client.HTTPConnection, model: str = "m") -> int:
    body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}]})
    connection.request("POST", f"/v2/models/{model}/infer", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status == 200:
        assert json.loads(text)["outputs"][0]["data"] == [2, 4]
    return answer.status


def send_http(address: str, count: int) -> list[str]:
    """Errors of so many requests over one connection, made again only when the balancer closed it between two."""
    errors, connection = [], http.client.HTTPConnection(address, timeout=PATIENCE)
    for _ in range(count):
        try:
            status = infer_http(connection)
            if status != 200:
                errors.append(f"status {status}")
        except (OSError, http.client.HTTPException) as error:
            errors.append(repr(error))
            connection.close()
    connection.close()
    return errors


def send_grpc(address: str, count: int, num_values: int = 2, compression: str | None = None) -> list[str]:
    errors = []
    values = np.arange(1, num_values + 1, dtype=np.float32)
    x = grpcclient.InferInput("x", [num_values], "FP32")
    x.set_data_from_numpy(values)
    with grpcclient.InferenceServerClient(address) as client:
        for _ in range(count):
            try:
                answer = client.infer("m", [x], compression_algorithm=compression).as_numpy("y")
                assert np.array_equal(answer, values * 2)
            except grpcclient.InferenceServerException as error:
                errors.append(str(error))
    return errors


def while_sending(send: Callable[[str, int], list[str]], address: str, meanwhile: Callable[[], None]) -> list[str]:
    """The errors of REQUESTS requests of several clients; `meanwhile` begins when a third of them may be under way."""
    errors: list[str] = []
    threads = [threading.Thread(target=lambda: errors.extend(send(address, REQUESTS // CLIENTS)))
               for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join()
    return errors
