"""A `sluiced` of the build, on the processors of this machine."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence

import pytest
from eventually import suspend


def program() -> pathlib.Path:
    path = pathlib.Path(os.environ["SLUICE_PROGRAM"]).with_name("sluiced")
    if not path.exists():
        pytest.skip("the daemon is not built")
    return path


class Daemon:
    def __init__(self, folder: pathlib.Path, *flags: str, before: Sequence[str] = ()) -> None:
        """`before`: words of the command line that start the daemon elsewhere, as on another host."""
        self.folder = folder
        self.address = f"unix:{folder / 'sluice.sock'}"
        self._process = subprocess.Popen(
            [*before, program(), "-x", "-m", "", "-g", self.address, "--lock-folder", folder / "locks",
             "--model-folders", folder, *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "SLUICE_CACHE_DIR": str(folder / "cache")})
        said = []
        assert self._process.stdout is not None
        self.exchange = ""  # HOST:PORT for other daemons
        self.http = ""  # HOST:PORT
        self.agent = ""  # HOST:PORT
        self.addresses: list[str] = []
        last = ("agent check on " if "--agent-check" in flags else
                "http on " if "--http" in flags else
                "exchange on " if "--exchange-listen" in flags else "listening on ")
        for line in self._process.stdout:
            said.append(line)
            self.exchange = line.partition("exchange on ")[2].strip() or self.exchange
            self.http = line.partition("http on ")[2].strip() or self.http
            self.agent = line.partition("agent check on ")[2].strip() or self.agent
            self.addresses = line.partition("listening on ")[2].strip().split(", ") if "listening on" in line else (
                self.addresses)
            if last in line:
                # A pipe that nobody empties is full after some hundred lines.
                threading.Thread(target=self._process.stdout.read, daemon=True).start()
                return
        raise RuntimeError("".join(said))

    def terminate(self) -> None:
        """Asks it to end, and waits for nothing."""
        self._process.terminate()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def suspend(self) -> None:
        """It answers nothing until `resume`."""
        suspend(self._process.pid)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self.has_ended():
            return
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def running(folder: pathlib.Path, *flags: str) -> Iterator[Daemon]:
    daemon = Daemon(folder, *flags)
    try:
        yield daemon
    finally:
        daemon.kill()
