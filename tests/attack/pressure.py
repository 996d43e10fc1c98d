"""What an attack takes from a daemon and from its other clients."""

from __future__ import annotations

import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))
from harness import Daemon, at, compile_digits, same  # noqa: E402

# An HTTP/2 client's first bytes.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


GREETING = PREFACE + frame(4, 0, 0)


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


def connect(daemon: Daemon, is_tls: bool = False) -> socket.socket:
    one = socket.create_connection(tcp_of(daemon), timeout=5)
    if not is_tls:
        return one
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(one)


def flood(daemon: Daemon, first: bytes, again: bytes, seconds: float, is_tls: bool = False) -> tuple[int, int]:
    """Four clients send `first`, and then `again` for as long as they are let, and connect anew when
    they are not. Bytes that the system took of them, and connections that the daemon ended."""
    end = time.monotonic() + seconds
    counts = [0, 0]

    def attack() -> None:
        while time.monotonic() < end:
            try:
                with connect(daemon, is_tls) as one:
                    one.settimeout(0.2)
                    one.sendall(first)
                    while time.monotonic() < end:
                        one.sendall(again)
                        counts[0] += len(again)
            except TimeoutError:
                continue  # nobody reads
            except OSError:
                counts[1] += 1

    threads = [threading.Thread(target=attack) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts[0], counts[1]


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
