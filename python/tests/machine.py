"""What tests take from the machine that they run on: ports, and folders that others do not see."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import subprocess

import pytest


def free_port() -> int:
    """Below the ports that the system gives to connections and to listeners of other tests, which could take it
    before a program does."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as bound, contextlib.suppress(OSError):
            bound.bind(("", port))
            return port
    raise RuntimeError("no port is free")


def mounted(script: str, *words: object) -> list[str]:
    """The words before a command that runs in a mount namespace, after a shell's script whose $1, $2, ... are `words`.

    Skips the test where the system gives no such namespace.
    """
    namespace = ["unshare", "--mount", "sh", "-ec"]
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    tried = subprocess.run([*namespace, "mount -t tmpfs none /tmp"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace: {tried.stderr.strip()}")
    return [*namespace, f'{script}; shift {len(words)}; exec "$@"', "mounted", *map(str, words)]
