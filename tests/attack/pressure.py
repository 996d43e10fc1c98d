"""What an attack takes from a daemon and from its other clients."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))
from harness import Daemon, at, compile_digits, eventually, same  # noqa: E402
from metrics import get, samples  # noqa: E402


def tcp_of(daemon: Daemon) -> tuple[str, int]:
    [address] = [one for one in daemon.addresses if one.startswith("localhost:")]
    return "127.0.0.1", int(address.rpartition(":")[2])


def descriptors(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


class Watched(Daemon):
    """A daemon that counts its memory."""

    def __init__(self, folder: Path, *flags: str, level: str | None = "6") -> None:
        super().__init__(folder, "--metrics", f"unix:{folder / 'metrics.sock'}", *flags, level=level)


def heap_kib(daemon: Watched) -> int:
    """Memory that the daemon has allocated, as it counts itself. 0 where a sanitizer replaces the allocator."""
    return int(samples(get(daemon)[2])["sluice_heap_bytes"]) >> 10


#: Room of the daemon's own pools, which may still grow a little; an attack has more connections than this.
SPARE_FDS, SPARE_KIB = 8, 1024


def closes(daemon: Daemon, fds: int) -> None:
    """Waits until the daemon has no more descriptors than the `fds` of before, but for those of its pools."""
    eventually(lambda: descriptors(daemon) <= fds + SPARE_FDS,
               why=lambda: f"{descriptors(daemon)} descriptors, {fds} before")


def comes_back(daemon: Watched, fds: int, kib: int) -> None:
    """Waits until descriptors and memory are those of before; 5 % more memory may be."""
    closes(daemon, fds)
    most_kib = kib * 1.05 + SPARE_KIB
    eventually(lambda: heap_kib(daemon) <= most_kib, why=lambda: f"{heap_kib(daemon)} KiB of heap, {kib} before")
    print(f"     descriptors: {fds} before, {descriptors(daemon)} after; KiB of heap: {kib}, {heap_kib(daemon)}")


class Flood:
    """A flooder of its own processor time (SCHED_IDLE), from `with` to its end."""

    def __init__(self, daemon: Daemon, name: str, is_tls: bool = False, port: int | None = None,
                 user: int | None = None) -> None:
        """`port`: None for the one of its clients. `user`: who floods the Unix socket instead."""
        where = daemon.socket.removeprefix("unix:") if user else str(port or tcp_of(daemon)[1])
        program = (Path(__file__).resolve().parent / "flooder.py").read_text()
        self._command = ["/usr/bin/python3" if user else sys.executable, "-c", program, where, name, *(["tls"] if is_tls else [])]
        self._as = {"user": user, "group": user, "extra_groups": (), "cwd": "/"} if user else {}
        self.taken = self.connected = self.ended = 0

    def __enter__(self) -> Flood:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         **self._as)
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
