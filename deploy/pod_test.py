#!/usr/bin/env python3
"""The pod of deploy/kubernetes/deployment.yaml, played by `podman kube play`: its daemon serves, is confined as the
manifest says, and drains.

    deploy/pod_test.py BUILD_FOLDER [IMAGE.tar]     # deploy/image.py's image of the package; default: of the build's files

The whole test runs in a mount and a network namespace of its own, with podman's pod in the same network, so that the
manifest's ports are free. What podman 4.3 has no counterpart for is left out: `ports`, which a pod in its engine's network
cannot have, and two of the three replicas. podman knows no gRPC probes, and would send HTTP ones by a curl in the image:
the test asks the probes' questions itself.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import image
import yaml

import image_test
from eventually import eventually

MANIFEST = Path(__file__).resolve().parent / "kubernetes/deployment.yaml"
NAME = "sluice:0.1.0"  # as the manifest has it
CONTAINER = "sluice-pod-0-sluiced"
INSIDE = "--inside"
PROGRAMS = ("podman", "runc", "catatonit", "ip", "unshare")


class Podman:
    """With a store of its own below the folder."""

    def __init__(self, folder: Path) -> None:
        self._own = ["podman", "--root", f"{folder}/store", "--runroot", "/run/podman", "--storage-driver", "vfs",
                     "--cgroup-manager", "cgroupfs", "--runtime", "runc"]
        # A container may not raise the limits of this process.
        (folder / "containers.conf").write_text('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n')
        self._environment = {**os.environ, "CONTAINERS_CONF": f"{folder}/containers.conf"}

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._own, *map(str, words)], capture_output=True, text=True, env=self._environment)

    def text(self, *words: object) -> str:
        done = self.run(*words)
        assert done.returncode == 0, f"podman {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout

    def said(self) -> str:
        """The log of the pod's daemon."""
        logged = self.run("logs", CONTAINER)
        return logged.stdout + logged.stderr

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command of the image, in the pod's container."""
        return self.run("exec", CONTAINER, *command)

    def facts(self) -> dict[str, Any]:
        [facts] = json.loads(self.text("inspect", CONTAINER))
        return dict(facts)


def manifest() -> list[dict[str, Any]]:
    documents = list(yaml.safe_load_all(MANIFEST.read_text()))
    for document in documents:
        if document["kind"] != "Deployment":
            continue
        document["spec"]["replicas"] = 1
        [container] = document["spec"]["template"]["spec"]["containers"]
        assert container["image"] == NAME
        del container["ports"]
    return documents


@contextlib.contextmanager
def played(folder: Path) -> Iterator[Podman]:
    """The pod, with the digits in its claim `models`, once it is ready."""
    archive = Path(sys.argv[2])
    if sys.argv[2] == INSIDE:
        archive = folder / "image.tar"
        image.write_image(image_test.installed(folder), archive, NAME)
    podman = Podman(folder)
    podman.text("load", "-i", archive)
    podman.text("volume", "create", "models")
    models = podman.text("volume", "inspect", "models", "--format", "{{.Mountpoint}}").strip()
    shutil.copy(image_test.DIGITS, models)
    pod = folder / "pod.yaml"
    pod.write_text(yaml.safe_dump_all(manifest()))
    try:
        podman.text("kube", "play", "--network=host", pod)
        eventually(lambda: has_ended(podman) or asked("/v2/models/digits/ready") == 200, why=podman.said)
        assert not has_ended(podman), podman.said()
        yield podman
    finally:
        podman.run("pod", "rm", "--all", "--force", "--time", "0")


def has_ended(podman: Podman) -> bool:
    """podman starts it again then, as the engine would."""
    facts = podman.facts()
    return bool(facts["State"]["Status"] == "exited" or facts["RestartCount"] > 0)


def asked(path: str, body: dict[str, Any] | None = None) -> int:
    """The status of the daemon's HTTP; 0 while it does not answer."""
    connection = http.client.HTTPConnection("127.0.0.1:8000", timeout=60)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None,
                           {"Content-Type": "application/json"} if body else {})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def agent() -> str:
    with socket.create_connection(("127.0.0.1", 8003), timeout=60) as connection:
        return connection.makefile().readline()


def infer() -> int:
    image_of_zeros = {"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": [0.0] * 64}
    return asked("/v2/models/digits/infer", {"inputs": [image_of_zeros]})


def the_pod_serves(folder: Path) -> None:
    with played(folder) as podman:
        assert asked("/v2/health/live") == 200 and asked("/v2/health/ready") == 200
        assert infer() == 200 and " up " in f" {agent()}", agent()
        for command in (["server"], ["infer", "digits", "--input", "image=random"], ["capacity", "--json"]):
            done = podman.inside("/usr/bin/sluice", *command)
            assert done.returncode == 0, done.stderr


def the_pod_is_confined_as_the_manifest_says(folder: Path) -> None:
    with played(folder) as podman:
        facts = podman.facts()
        lines = Path(f"/proc/{facts['State']['Pid']}/status").read_text().splitlines()
        status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        assert set(status["Uid"]) == {str(image.USER)}, status["Uid"]
        assert {status[name][0] for name in ("CapPrm", "CapEff", "CapBnd")} == {"0" * 16}
        assert (status["NoNewPrivs"], status["Seccomp"]) == (["1"], ["2"])
        assert facts["HostConfig"]["Memory"] == 2 << 30 and facts["HostConfig"]["ReadonlyRootfs"]
        writable = {mount["Destination"]: mount["RW"] for mount in facts["Mounts"]}
        assert not writable["/models"] and not writable["/etc/sluiced"] and writable["/run/sluice"], writable


def the_pod_drains(folder: Path) -> None:
    """SIGTERM: not ready at once, but it serves and lives; then it ends by itself within the pod's grace."""
    [pod] = [document["spec"]["template"]["spec"] for document in manifest() if document["kind"] == "Deployment"]
    with played(folder) as podman, ThreadPoolExecutor() as threads:
        stopping = threads.submit(podman.text, "stop", "--time", pod["terminationGracePeriodSeconds"], CONTAINER)
        eventually(lambda: asked("/v2/health/ready") == 503 or stopping.done(), why=podman.said)
        assert infer() == 200 and asked("/v2/health/live") == 200 and agent().startswith("drain"), podman.said()
        stopping.result()
        assert podman.facts()["State"]["ExitCode"] == 0, podman.said()


def run_claims(claims: list[Callable[[Path], None]]) -> int:
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for claim in claims:
        folder = Path(tempfile.mkdtemp(prefix="sluice-pod-"))
        try:
            claim(folder)
        finally:
            shutil.rmtree(folder)
        print(f"ok   {claim.__name__}", flush=True)
    return 0


def main() -> int:
    if sys.argv[-1] == INSIDE:
        return run_claims([the_pod_serves, the_pod_is_confined_as_the_manifest_says, the_pod_drains])
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed; in Debian: podman, runc, catatonit, iproute2")
        return 77
    own = ["unshare", "--mount", "--net"]
    tried = subprocess.run([*own, "true"], capture_output=True, text=True)
    if os.geteuid() != 0 or tried.returncode != 0:
        print(f"skipped: needs root and namespaces for podman's containers {tried.stderr.strip()}")
        return 77
    return subprocess.run([*own, sys.executable, __file__, *sys.argv[1:], INSIDE]).returncode


if __name__ == "__main__":
    sys.exit(main())
