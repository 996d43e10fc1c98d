"""Ray on hosts of one machine: a raylet in each network namespace, with files and shared memory of its own."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

from conftest import PATIENCE, eventually
from hosts import Host
from ray_nodes import agent_ports
from sluice import ray as on_ray

PORT = 6379

#: Else `ray start` would ask programs for a token where the home folder has one.
_ENVIRONMENT = {"RAY_DISABLE_DOCKER_CPU_WARNING": "1", "RAY_AUTH_MODE": "disabled"}

#: Ray keeps one session of a machine below /tmp/ray, and its objects in /dev/shm: a host has its own.
_OWN_FILES = ('mkdir -p "$1" /tmp/ray; mount --bind "$1" /tmp/ray; mount -t tmpfs -o size=512m none /dev/shm; shift; '
              'exec "$@"')


class RayHost:
    """A raylet on a host; the first one has the head, too, and programs of the cluster run there."""

    def __init__(self, folder: pathlib.Path, host: Host, head: Host, groups: int) -> None:
        self.host = host
        self._folder = folder
        self._log = (folder / f"{host.namespace}.log").open("a")
        first = ["--head", f"--port={PORT}", "--include-dashboard=false"] if host == head else [f"--address={head.address}:{PORT}"]
        ports = {name.replace("metrics_agent", "dashboard_agent_grpc"): port for name, port in agent_ports().items()}
        self._command = [sys.executable, str(pathlib.Path(__file__).with_name("ray_nodes.py")), "start", "--block", *first,
                         *(f"--{name.replace('_', '-')}={port}" for name, port in ports.items()),
                         f"--node-ip-address={host.address}", "--num-cpus=1", "--object-store-memory=100000000",
                         "--disable-usage-stats", f'--resources={{"{on_ray.RESOURCE}": {groups}}}']
        self.start()

    def start(self) -> None:
        own = ["unshare", "--mount", "sh", "-ec", _OWN_FILES, "sh", str(self._folder / f"{self.host.namespace}-ray")]
        self._process = subprocess.Popen(self.host.words(*own, *self._command), stdout=self._log, stderr=subprocess.STDOUT,
                                         env={**os.environ, **_ENVIRONMENT}, start_new_session=True)
        eventually(lambda: self.raylet() or self._process.poll() is not None, PATIENCE, self.said)
        assert self._process.poll() is None, self.said()

    def said(self) -> str:
        return pathlib.Path(self._log.name).read_text()

    def raylet(self) -> int:
        """Its process; 0 while there is none."""
        return next(iter(processes_with("raylet", f"--node_ip_address={self.host.address}")), 0)

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        """A program of the cluster, with this host's network and files."""
        inside = ["nsenter", f"--target={self._process.pid}", "--mount", "--net", *map(str, command)]
        return subprocess.run(inside, capture_output=True, text=True, cwd="/")

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        for process in processes_with("", self.host.address):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, 9)
        self._log.close()


def processes_with(name: str, word: str) -> list[int]:
    """Processes whose program is called `name` (empty: any) with this part of a word on their command lines."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text(errors="replace").split("\0")
            is_called = not name or pathlib.Path(words[0]).name == name
            if is_called and int(folder.name) != os.getpid() and any(word in one for one in words[1:]):
                found.append(int(folder.name))
    return found


@contextlib.contextmanager
def raylets(folder: pathlib.Path, places: list[Host], groups: int) -> Iterator[list[RayHost]]:
    made: list[RayHost] = []
    try:
        for place in places:
            made.append(RayHost(folder, place, places[0], groups))
        yield made
    finally:
        for one in reversed(made):
            one.close()
