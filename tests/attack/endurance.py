#!/usr/bin/env python3
"""Many connections and many loads, one after the other: a sluiced has afterwards what it had before.

    tests/attack/endurance.py BUILD_FOLDER [CONNECTIONS LOADS REQUESTS]

The first half warms up: threads and pools get their size, and so does the table of peers, which has a
place for each of 8,192 numbers that connections get in turn.
"""

import json
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flooder import GREETING, frame
from pressure import Neighbour, Watched, comes_back, descriptors, heap_kib, tcp_of
from harness import HANG_S, Daemon, at, compile_digits, eventually, prove, same

CONNECTIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
LOADS = int(sys.argv[3]) if len(sys.argv) > 3 else 40
OVERLOAD = int(sys.argv[4]) if len(sys.argv) > 4 else 3000


def leaves_nothing(daemon: Watched, what: str, count: int, once: Callable[[int], None]) -> None:
    for i in range(count // 2):
        once(i)
    eventually(lambda: descriptors(daemon) < 100)
    fds, kib = descriptors(daemon), heap_kib(daemon)
    for i in range(count // 2, count):
        once(i)
    print(f"     {count} {what}")
    comes_back(daemon, fds, kib)


def connections_leave_nothing(folder: Path) -> None:
    with Watched(folder / "d", "-g", "localhost:0", level="4") as daemon:
        neighbour = Neighbour(daemon, folder)
        neighbour.p99_us()

        def once(i: int) -> None:
            if i % 2 == 0:
                one = socket.create_connection(tcp_of(daemon), timeout=HANG_S)
            else:
                one = socket.socket(socket.AF_UNIX)
                one.settimeout(HANG_S)
                one.connect(daemon.socket.removeprefix("unix:"))
            with one:
                if i % 4 < 2:  # the others say nothing
                    one.sendall(GREETING + frame(6, 0, 0, b"12345678"))
                    assert one.recv(1) != b"", "the daemon hung up"

        leaves_nothing(daemon, "connections", CONNECTIONS, once)
        neighbour.p99_us()
        same(daemon.stop(), 0)


def loads_leave_nothing(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Watched(folder / "d", level="4") as daemon:
        sluice = at(daemon)
        expected = sluice.json("server")["num_free_cores"]

        def once(_: int) -> None:
            sluice.text("load", package, "--name", "again")
            sluice.text("unload", "again")

        leaves_nothing(daemon, "loads", LOADS, once)
        same(sluice.json("server")["num_free_cores"], expected)
        same(sluice.json("models"), [])
        same(daemon.stop(), 0)


def every_request_of_an_overload_has_one_answer(folder: Path) -> None:
    """Three clients, each of which alone asks for more than the model takes."""
    package = str(compile_digits(folder))
    with Daemon(folder / "d", level="4") as daemon:
        sluice = at(daemon)
        sluice.text("load", package, "--queue-limit", "16")
        asked = OVERLOAD // 3
        command = ("infer", "digits", "--input", "image=zeros", "--repeat", str(asked), "--in-flight", "200", "--json")
        with ThreadPoolExecutor() as pool:
            figures = [json.loads(done.stdout) for done in pool.map(lambda _: sluice.run(*command), range(3))]
        answered, failed = (sum(one[key] for one in figures) for key in ("answered", "failed"))
        print(f"     {answered} answered, {failed} refused, p99 {max(one['p99_ns'] for one in figures) // 1000} us")
        same(answered + failed, 3 * asked)
        assert answered > 0 and failed > 0, "it was no overload"
        [counts] = sluice.json("stats")
        same(counts["accepted"], sum(counts["answered"].values()))
        same(daemon.stop(), 0)


if __name__ == "__main__":
    sys.exit(prove([connections_leave_nothing, loads_leave_nothing,
                    every_request_of_an_overload_has_one_answer]))
