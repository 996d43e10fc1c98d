#!/usr/bin/env python3
"""Requests per second and 99th percentiles of `sluice serve` beside tritonserver and MLServer, by one client.

    python3 -m venv TRITON && TRITON/bin/pip install nvidia-pytriton==0.7.0 onnxruntime
    python3 -m venv ML && ML/bin/pip install mlserver==1.7.1 onnxruntime
    .venv/bin/python bench/serving.py --triton TRITON/bin/python --mlserver ML/bin/python --json FILE    # 15 minutes
    .venv/bin/python bench/serving.py --from FILE --plot docs/serving.svg    # the table and a picture of stored figures

The servers have the same files (identity, an MLP, MobileNetV2), one thread per run, and run all the time; `sluice perf` asks one
after another, so a change of the machine's speed meets all of them. tritonserver is the one of PyTriton, with
onnxruntime behind its "python" backend, because no other comes from PyPI. Sluice and tritonserver join requests.
MLServer takes no binary tensors over HTTP; it is asked over gRPC alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "models")]

import make  # noqa: E402
from harness import serving_plot  # noqa: E402

NETWORKS = ("identity", "mlp", "mobilenetv2")
WIDTH = 16  # of identity
START_SECONDS = 120


def write_models(folder: Path) -> None:
    """The networks with any number of rows."""
    folder.mkdir()
    for name in NETWORKS:
        if name == "identity":
            x, y = (helper.make_tensor_value_info(one, TensorProto.FLOAT, ["N", WIDTH]) for one in "xy")
            graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], name, [x], [y])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                      folder / f"{name}.onnx")
            continue
        model = onnx.load(make.write(name, folder))
        for value in [*model.graph.input, *model.graph.output]:
            value.type.tensor_type.shape.dim[0].dim_param = "N"
        del model.graph.value_info[:]
        onnx.save(model, folder / f"{name}.onnx")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Server:
    """A server that runs until the end of a `with` block. `grpc` and `http` are its addresses."""

    def __init__(self, name: str, command: list[object], grpc: int, http: int, log: Path) -> None:
        self.name, self.grpc, self.http = name, f"127.0.0.1:{grpc}", f"127.0.0.1:{http}"
        self._log = log
        with log.open("w") as output:
            self._process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output,
                                             env={**os.environ, "OMP_NUM_THREADS": "1"})

    def wait(self) -> None:
        """Until every model is ready."""
        end = time.monotonic() + START_SECONDS
        for model in NETWORKS:
            while not self._is_ready(model):
                if self._process.poll() is not None or time.monotonic() > end:
                    self.end()
                    raise SystemExit(f"{self.name} does not start:\n{self._log.read_text()[-3000:]}")
                time.sleep(0.2)

    def _is_ready(self, model: str) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.http}/v2/models/{model}/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def end(self) -> None:
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()
        self._process.wait()


def write_repository(models: Path, folder: Path) -> None:
    for file in models.glob("*.onnx"):
        (folder / file.stem / "1").mkdir(parents=True)
        (folder / file.stem / "config.pbtxt").write_text("max_batch_size: 64\ndynamic_batching { }\n")
        (folder / file.stem / "1" / "model.onnx").write_bytes(file.read_bytes())


@contextlib.contextmanager
def servers(options: argparse.Namespace, folder: Path) -> Iterator[list[Server]]:
    models = folder / "models"
    write_models(models)
    write_repository(models, folder / "sluice")
    here = Path(__file__).with_name("serving")
    ports = free_ports(6)
    started = [Server("Sluice", [options.build / "bin/sluice", "serve", folder / "sluice", "--grpc", f"localhost:{ports[0]}",
                                 "--http", f"localhost:{ports[1]}"], ports[0], ports[1], folder / "sluice.log")]
    if options.triton:
        started.append(Server("tritonserver", [
            options.triton, here / "triton_network.py", models, folder / "triton", 1, f"--grpc-port={ports[2]}",
            f"--http-port={ports[3]}", "--grpc-address=127.0.0.1", "--http-address=127.0.0.1"],
            ports[2], ports[3], folder / "triton.log"))  # fmt: skip
    if options.mlserver:
        started.append(Server("MLServer", [options.mlserver, here / "mlserver_network.py", models, folder / "mlserver", 1,
                                           ports[5], ports[4]], ports[4], ports[5], folder / "mlserver.log"))
    try:
        for server in started:
            server.wait()
        yield started
    finally:
        for server in started:
            server.end()


def measure(options: argparse.Namespace, server: Server, network: str, protocol: str, concurrency: int) -> dict:
    """The figures of `sluice perf`: of one load, whether its windows agreed or not."""
    address = server.grpc if protocol == "gRPC" else server.http
    command = [options.build / "bin/sluice", "perf", network, "--grpc" if protocol == "gRPC" else "--http", address,
               "--concurrency", concurrency, "--window", options.seconds, "--windows", 3, "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"{server.name}, {network}, {protocol}: {done.stderr}")
    (figures,) = json.loads(done.stdout)
    if figures["failed"]:
        print(f"{server.name}, {network}, {protocol}, {concurrency}: {figures['failed']} failed: {done.stderr}", file=sys.stderr)
    return figures


def rows_of(options: argparse.Namespace, running: list[Server]) -> list[dict]:
    """Medians over the rounds, a row per network, protocol and concurrency; the servers take turns."""
    rows = []
    for network in NETWORKS:
        for protocol in ("gRPC", "HTTP"):
            asked = [server for server in running if protocol == "gRPC" or server.name != "MLServer"]
            for concurrency in options.concurrency:
                turns = [{server.name: measure(options, server, network, protocol, concurrency) for server in asked}
                         for _ in range(options.rounds)]
                figures = {server.name: {key: statistics.median(turn[server.name][key] for turn in turns)
                                         for key in ("inferences_per_second", "p50_us", "p99_us")} for server in asked}
                rows.append({"network": network, "protocol": protocol, "concurrency": concurrency, "servers": figures})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def markdown(rows: list[dict]) -> str:
    names = list(rows[0]["servers"])
    lines = ["| network | protocol | clients | " + " | ".join(f"{name}, per s | p99, ms" for name in names) + " |",
             "|---|---|--:|" + "--:|--:|" * len(names)]
    for row in rows:
        cells = [f"{row['servers'][name]['inferences_per_second']:,.0f} | {row['servers'][name]['p99_us'] / 1000:.2f}"
                 if name in row["servers"] else "– | –" for name in names]
        lines.append(f"| {row['network']} | {row['protocol']} | {row['concurrency']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(rows: list[dict]) -> str:
    lines = []
    for name in rows[0]["servers"]:
        if name == "Sluice":
            continue
        both = [(row["servers"]["Sluice"], row["servers"][name]) for row in rows if name in row["servers"]]
        rates = [ours["inferences_per_second"] / theirs["inferences_per_second"] for ours, theirs in both]
        tails = [ours["p99_us"] / theirs["p99_us"] for ours, theirs in both]
        lines.append(f"Sluice beside {name}: {np.exp(np.mean(np.log(rates))):.2f} times the requests (at least {min(rates):.2f}), "
                     f"{np.exp(np.mean(np.log(tails))):.2f} of the 99th percentile (at most {max(tails):.2f})")
    pairs = {(row["network"], row["concurrency"], row["protocol"]): row["servers"]["Sluice"]["inferences_per_second"] for row in rows}
    slowest = max(pairs[network, clients, "gRPC"] / rate for (network, clients, protocol), rate in pairs.items() if protocol == "HTTP")
    lines.append(f"Sluice over gRPC has at most {slowest:.2f} times the requests of Sluice over HTTP")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--triton", type=Path, help="Python that has nvidia-pytriton and onnxruntime")
    parser.add_argument("--mlserver", type=Path, help="Python that has mlserver and onnxruntime")
    parser.add_argument("--concurrency", type=lambda text: [int(word) for word in text.split(",")], default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=1, help="of each of three windows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--from", dest="stored", type=Path, help="figures that --json stored, instead of a measurement")
    parser.add_argument("--json", type=Path, help="where the figures are stored")
    parser.add_argument("--plot", type=Path, help="where a picture of the figures is written, as SVG")
    options = parser.parse_args()
    if options.stored:
        rows = json.loads(options.stored.read_text())
    else:
        with tempfile.TemporaryDirectory() as folder, servers(options, Path(folder)) as running:
            rows = rows_of(options, running)
    print(markdown(rows))
    print(summary(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    if options.plot:
        serving_plot.draw(rows, options.plot)


if __name__ == "__main__":
    main()
