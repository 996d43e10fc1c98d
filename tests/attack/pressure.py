"""What an attack takes from a daemon and from its other clients."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))
from harness import Daemon, at, compile_digits, same  # noqa: E402


def tcp_of(daemon: Daemon) -> tuple[str, int]:
    [address] = [one for one in daemon.addresses if one.startswith("localhost:")]
    return "127.0.0.1", int(address.rpartition(":")[2])


def descriptors(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def resident_kib(daemon: Daemon) -> int:
    pages = int(Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") >> 10


def until(what: Callable[[], bool], limit_s: float = 20) -> None:
    """Looks again until it is so."""
    end = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end, "it never became so"
        time.sleep(0.02)


class Flood:
    """A flooder of its own processor time (SCHED_IDLE), from `with` to its end."""

    def __init__(self, daemon: Daemon, name: str, is_tls: bool = False, port: int | None = None) -> None:
        """`port`: None for the one of its clients."""
        port = port or tcp_of(daemon)[1]
        program = Path(__file__).resolve().parent / "flooder.py"
        self._command = [sys.executable, str(program), str(port), name, *(["tls"] if is_tls else [])]
        self.taken = self.connected = self.ended = 0

    def __enter__(self) -> Flood:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        same(self._process.stdout.readline(), "flooding\n")
        return self

    def __exit__(self, *_: object) -> None:
        # On a busy machine the system would run its end as rarely as its floods.
        for thread in os.listdir(f"/proc/{self._process.pid}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))
        said, _ = self._process.communicate()
        self.taken, self.connected, self.ended = (int(word) for word in said.split())


class Neighbour:
    """A client over the Unix socket, that infers while others attack."""

    def __init__(self, daemon: Daemon, folder: Path) -> None:
        self._sluice = at(daemon)
        self._sluice.text("load", str(compile_digits(folder)), "--name", "digits")

    def p99_us(self, requests: int = 300) -> float:
        """All requests must be answered."""
        figures = self._sluice.json("infer", "digits", "--input", "image=random", "--repeat", str(requests))
        same(figures["failed"], 0)
        return figures["p99_ns"] / 1000
