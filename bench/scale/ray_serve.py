#!/usr/bin/env python3
"""A model on three raylets of this machine: Ray Serve with onnxruntime, Ray Serve with Sluice, and the daemons behind HAProxy.

    pip install "ray[serve]"      # into .venv
    PYTHONPATH=build/release/python .venv/bin/python bench/scale/ray_serve.py [--network mobilenetv2] [--seconds 20]

All three answer the Open Inference Protocol over gRPC, and `sluice perf` puts the same closed loop on each, in turns; the
table has the medians of the rounds. The replicas of onnxruntime and of Sluice have one thread each, one on every raylet;
Serve's proxy is the head's. The third row has daemons with the model beside them, which Ray's supervisors own: Ray places,
and requests pass no Python. Memory is the proportional set size of what a row adds to the idle cluster. The processors
are shared by all of it and the load generator, so the table compares costs, and says nothing of three machines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("bench", "bench/models", "python/tests/cluster", "tests/support")]

import grpc  # noqa: E402
import make  # noqa: E402
import ray  # noqa: E402
from eventually import eventually  # noqa: E402
from harness import sluice_cli  # noqa: E402
from ports import free_port  # noqa: E402
from ray import serve  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402
from ray.serve.generated import serve_pb2, serve_pb2_grpc  # noqa: E402
from ray_nodes import agent_ports, be_patient, start_serve  # noqa: E402
from sluice import ray as on_ray  # noqa: E402
from sluice.cluster import open_inference as protocol  # noqa: E402
from sluice.ray.supervisor import NAMESPACE  # noqa: E402

NODES = 3
FLAGS = ("--map", "", "--drain-seconds", "1")


def resident_mib() -> float:
    """The proportional set size of this process's descendants: raylets, replicas, daemons and HAProxy."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    below = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in below} - below:
        below |= more
    total = 0
    for process in below - {os.getpid()}:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


class OrtReplica:
    """onnxruntime behind Serve's gRPC proxy."""

    def __init__(self, path: str, name: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._name = name

    def ModelInfer(self, request: Any) -> Any:  # noqa: N802 - a call of the protocol
        from tritonclient.grpc import service_pb2

        wanted = protocol.request_of_message(request)
        names = [output.name for output in self._session.get_outputs()]
        outputs = dict(zip(names, self._session.run(names, wanted.inputs), strict=True))
        response = service_pb2.ModelInferResponse()
        protocol.fill_response(response, self._name, wanted, outputs)
        return response

    def ModelMetadata(self, request: Any) -> Any:  # noqa: N802
        from tritonclient.grpc import service_pb2

        response = service_pb2.ModelMetadataResponse(name=self._name, platform="onnxruntime")
        for side, values in (("inputs", self._session.get_inputs()), ("outputs", self._session.get_outputs())):
            for value in values:
                shape = [dim if isinstance(dim, int) else -1 for dim in value.shape]
                getattr(response, side).add(name=value.name, datatype="FP32", shape=shape)
        return response


def applications(address: str) -> list[str]:
    """Those that Serve's gRPC proxy knows."""
    with grpc.insecure_channel(address) as channel:
        asked = serve_pb2_grpc.RayServeAPIServiceStub(channel).ListApplications(serve_pb2.ListApplicationsRequest())
    return list(asked.application_names)


@contextlib.contextmanager
def served(app: Any, name: str, port: int) -> Iterator[str]:
    serve.run(app, name=name, route_prefix=None)
    address = f"127.0.0.1:{port}"
    # The proxy hears of an application after the controller, and of its end, too: with none, or two, it asks for a name.
    eventually(lambda: applications(address) == [name])
    try:
        yield address
    finally:
        serve.delete(name)


@contextlib.contextmanager
def balanced(package: Path, nodes: list[Any], folder: Path) -> Iterator[str]:
    """Daemons that supervisors of Ray own, behind HAProxy."""
    ports = [{door: free_port() for door in ("grpc", "agent")} for _ in nodes]
    owners = [on_ray.supervisor(node.node_id, (*FLAGS, "--listen", f"127.0.0.1:{door['grpc']}", "--agent-check",
                                               f"127.0.0.1:{door['agent']}", "--models", str(package)))
              for node, door in zip(nodes, ports, strict=True)]
    ray.get([owner.address.remote() for owner in owners])
    front = f"127.0.0.1:{free_port()}"
    words = [f"127.0.0.1,grpc={door['grpc']},agent={door['agent']}" for door in ports]
    text = subprocess.run([sys.executable, "-m", "sluice.cluster", "haproxy", *words, "--grpc", front], check=True,
                          capture_output=True, text=True).stdout
    (folder / "haproxy.cfg").write_text(text)
    process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", folder / "haproxy.cfg"])
    try:
        yield front
    finally:
        process.kill()
        process.wait()


def end_daemons(nodes: list[Any]) -> None:
    """The supervisors outlive what asked for them."""
    for node in nodes:
        with contextlib.suppress(ValueError):  # none was made there
            owner = ray.get_actor(f"supervisor-{node.node_id}", namespace=NAMESPACE)
            ray.get(owner.stop.remote())
            ray.kill(owner)


def measure(name: str, address: str, options: argparse.Namespace) -> dict:
    command = [options.build / "bin/sluice", "perf", name, "--grpc", address, "--concurrency", str(options.in_flight), "--json"]
    quick = subprocess.run([*command, "--window", "1", "--windows", "3"], capture_output=True, text=True)  # warms up
    if not quick.stdout:
        raise SystemExit(f"sluice perf at {address}: {quick.stderr}")
    done = subprocess.run([*command, "--window", str(options.seconds / 3), "--windows", "3"], stdout=subprocess.PIPE, text=True)
    [row] = json.loads(done.stdout)
    if row["failed"]:
        raise SystemExit(f"{row['failed']} requests failed at {address}")
    return row


def rows_of(options: argparse.Namespace, folder: Path, cluster: Any) -> dict[str, list[dict]]:
    make.write(options.network, folder)
    model, name = folder / f"{options.network}.onnx", options.network
    package = sluice_cli.compile_model(model, folder / f"{name}.sluice")
    port = free_port()
    start_serve(proxy_location="HeadOnly", http_options={"port": free_port()},
                grpc_options={"port": port, "grpc_servicer_functions": [on_ray.GRPC_SERVICE]})
    ort = serve.deployment(OrtReplica, name=name, num_replicas=NODES, ray_actor_options={
        "num_cpus": 0, "resources": {on_ray.RESOURCE: 1}}).bind(str(model), name)
    own = on_ray.deployment(str(package), name=name, num_replicas=NODES, flags=FLAGS)
    nodes = list(cluster.worker_nodes)
    rows: dict[str, list[dict]] = {}
    for _ in range(options.rounds):
        ways = {"Serve, onnxruntime": lambda: served(ort, name, port), "Serve, Sluice": lambda: served(own, name, port),
                "HAProxy, Sluice": lambda: balanced(package, nodes, folder)}
        for way, opened in ways.items():
            eventually(lambda: ray.available_resources().get(on_ray.RESOURCE, 0) >= NODES)
            idle = resident_mib()
            with opened() as address:
                row = measure(name, address, options)
                rows.setdefault(way, []).append({**row, "mib": resident_mib() - idle})
            end_daemons(nodes)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=("mlp", "mobilenetv2"), default="mobilenetv2")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--in-flight", type=int, default=12, help="requests (default: %(default)s)")
    parser.add_argument("--build", type=lambda path: Path(path).resolve(), default=ROOT / "build/release")
    options = parser.parse_args()
    os.environ["SLUICE_PROGRAM"] = str(options.build / "bin/sluice")
    be_patient()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **agent_ports()})
    try:
        for _ in range(NODES):
            cluster.add_node(num_cpus=1, resources={on_ray.RESOURCE: 1}, **agent_ports())
        ray.init(address=cluster.address, log_to_driver=False)
        with tempfile.TemporaryDirectory(prefix="sluice-ray-serve-") as folder:
            rows = rows_of(options, Path(folder), cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()
    print(f"{options.network}, {options.in_flight} in flight, {os.cpu_count()} processors; onnxruntime, Ray {ray.__version__}\n")
    print("| way | requests/s | p50, ms | p99, ms | MiB |\n|---|--:|--:|--:|--:|")
    for way, found in rows.items():
        rate, p50, p99, mib = (statistics.median(row[key] for row in found)
                               for key in ("inferences_per_second", "p50_us", "p99_us", "mib"))
        print(f"| {way} | {rate:.1f} | {p50 / 1e3:.1f} | {p99 / 1e3:.1f} | {mib:.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
