"""Ports for programs that a test starts and that cannot be asked which one they took."""

from __future__ import annotations

import contextlib
import random
import socket

#: Below the ports that the system gives to connections and to listeners of other tests, which could take one before a
#: program does. Each is given once: two programs of a test would choose the same one of a few thousand now and then.
_ports = iter(random.sample(range(20000, 32000), 12000))


def free_port() -> int:
    """One that nobody listens on, and that no earlier call in this process returned."""
    for port in _ports:
        with socket.socket() as bound, contextlib.suppress(OSError):
            bound.bind(("", port))
            return port
    raise RuntimeError("no port is free")
