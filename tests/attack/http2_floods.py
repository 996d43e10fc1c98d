#!/usr/bin/env python3
"""Floods of HTTP/2 frames over TCP and the Unix socket, before any call is authenticated. The daemon lives, its other clients are
served, and memory and descriptors come back. Prints the neighbour's p99 before and during each flood;
neighbours_p99.py judges it, on a machine that does nothing else.

    tests/attack/http2_floods.py BUILD_FOLDER [SECONDS]      # of each flood; 0.5 by default
"""

import os
import shutil
import socket
import sys
import threading
from pathlib import Path

from flooder import FLOODS, GREETING, PREFACE, connect, frame
from pressure import Flood, Neighbour, Watched, closes, comes_back, descriptors, heap_kib, tcp_of
from harness import Daemon, Sluice, at, eventually, pause_for, prove, same
from roles import ALICE
from tcp_access import Authority

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
#: The most that a flood may add, while it goes on.
MOST_MIB = 32


def watch_memory(daemon: Watched, is_over: threading.Event) -> list[int]:
    seen = []
    while not is_over.is_set():
        seen.append(heap_kib(daemon))
        pause_for(0.05)
    return seen


def measured_flood(daemon: Watched, neighbour: Neighbour, name: str, is_tls: bool = False,
                   port: int | None = None, user: int | None = None) -> None:
    before_us, before_kib = neighbour.p99_us(), heap_kib(daemon)
    is_over = threading.Event()
    seen: list[int] = []
    watching = threading.Thread(target=lambda: seen.extend(watch_memory(daemon, is_over)))
    watching.start()
    with Flood(daemon, name, is_tls, port, user) as attack:
        during_us = neighbour.p99_us()
        pause_for(SECONDS)
    is_over.set()
    watching.join()
    grown_mib = (max(seen) - before_kib) / 1024
    print(f"     {name}: {attack.taken / 2**20:.1f} MiB taken, {attack.connected} connections, {attack.ended} ended, "
          f"{grown_mib:.1f} MiB more, neighbour's p99 {before_us:.0f} us before, {during_us:.0f} us during")
    assert grown_mib < MOST_MIB, f"{name} took {grown_mib} MiB"


def floods_take_nothing(folder: Path) -> None:
    (folder / "tokens").write_text("secret\n")
    with Watched(folder / "d", "-g", "localhost:0", "--token-file", str(folder / "tokens"), level="4") as daemon:
        neighbour = Neighbour(daemon, folder)
        friend = Sluice("--address", f"localhost:{tcp_of(daemon)[1]}", "--token", "secret")
        # Tables grow to their bounds, and the allocator with them. Rapid reset begins, while the daemon
        # does not hold this host's connections yet.
        for name in ("rapid reset", *FLOODS):
            with Flood(daemon, name):
                pause_for(SECONDS)
        same(len(friend.json("models")), 1)
        neighbour.p99_us(20_000)  # statistics have their size
        fds, kib = descriptors(daemon), heap_kib(daemon)
        for name in FLOODS:
            measured_flood(daemon, neighbour, name)
        same(len(friend.json("models")), 1)
        comes_back(daemon, fds, kib)
        same(daemon.stop(), 0)


def floods_of_the_http_door_take_nothing(folder: Path) -> None:
    with Watched(folder / "d", "--http", "localhost:0", level="4") as daemon:
        port = int(daemon.door("http").rpartition(":")[2])
        neighbour = Neighbour(daemon, folder)
        for name in FLOODS:  # tables grow to their bounds
            with Flood(daemon, name, port=port):
                pause_for(SECONDS)
        neighbour.p99_us(20_000)  # statistics have their size
        fds, kib = descriptors(daemon), heap_kib(daemon)
        for name in FLOODS:
            measured_flood(daemon, neighbour, name, port=port)
        with socket.create_connection(("localhost", port)) as one:
            one.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            same(one.recv(12), b"HTTP/1.1 200")
        refused = at(daemon).json("server")["health"]["num_refused_connections"]
        assert refused > 0, "no connection was ended"
        comes_back(daemon, fds, kib)
        same(daemon.stop(), 0)


def floods_over_tls_take_nothing(folder: Path) -> None:
    if shutil.which("openssl") is None:
        print("     skipped: no openssl")
        return
    certificate, key = Authority(folder, "ca").sign("server")
    with Watched(folder / "d", "-g", "localhost:0", "--tls-certificate", certificate, "--tls-key", key,
                "--connections-per-peer", "50", level="4") as daemon:
        neighbour = Neighbour(daemon, folder)
        neighbour.p99_us()
        fds = descriptors(daemon)
        silent = [socket.create_connection(tcp_of(daemon)) for _ in range(200)]
        eventually(lambda: descriptors(daemon) < fds + 60, why="connections over TLS count")
        for one in silent:
            one.close()
        for name in ("continuation", "ping", "rubbish"):
            measured_flood(daemon, neighbour, name, is_tls=True)
        closes(daemon, fds)
        same(daemon.stop(), 0)


def floods_of_another_user_take_nothing(folder: Path) -> None:
    """Over the Unix socket, which the mode lets every user reach."""
    if os.geteuid() != 0:
        print("     skipped: only root can start clients of other users")
        return
    folder.chmod(0o755)
    (folder / "d").mkdir(mode=0o755)
    with Watched(folder / "d", "--socket-mode", "0666", level="4") as daemon:
        neighbour = Neighbour(daemon, folder)
        for name in ("continuation", "rapid reset", "ping"):
            with Flood(daemon, name, user=ALICE):
                pause_for(SECONDS)
        neighbour.p99_us(20_000)  # statistics have their size
        fds, kib = descriptors(daemon), heap_kib(daemon)
        for name in ("continuation", "empty continuation", "rapid reset", "ping", "comes and goes"):
            measured_flood(daemon, neighbour, name, user=ALICE)
        refused = at(daemon).json("server")["health"]["num_refused_connections"]
        assert refused > 0, "no connection was ended"
        comes_back(daemon, fds, kib)
        same(daemon.stop(), 0)


def slow_clients_end(folder: Path) -> None:
    with Daemon(folder / "d", "-g", "localhost:0") as daemon:
        at(daemon).json("models")
        before = descriptors(daemon)
        slow = [connect(tcp_of(daemon)) for _ in range(30)]
        for i, one in enumerate(slow):
            one.sendall([b"", PREFACE[:5], PREFACE, GREETING + frame(1, 0, 1, b"\x82")][i % 4])
        eventually(lambda: descriptors(daemon) > before)  # the daemon has accepted some
        same(at(daemon).json("models"), [])
        closes(daemon, before)
        for one in slow:
            one.close()
        same(daemon.stop(), 0)


if __name__ == "__main__":
    sys.exit(prove([floods_take_nothing, floods_of_the_http_door_take_nothing, floods_over_tls_take_nothing,
                    floods_of_another_user_take_nothing, slow_clients_end]))
