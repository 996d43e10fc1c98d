"""A `sluiced` that ends with the process that started it."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence

from ..commands import program
from ..errors import NotFound, Unavailable

_PR_SET_PDEATHSIG = 1  # of prctl(2)


def daemon_program() -> str:
    """`sluiced`: $SLUICED_PROGRAM, the one beside the program `sluice`, or the first on the PATH."""
    own = os.environ.get("SLUICED_PROGRAM", "")
    try:
        beside = pathlib.Path(program()).with_name("sluiced")
    except NotFound:
        beside = pathlib.Path()
    found = own or (str(beside) if beside.is_file() else shutil.which("sluiced"))
    if not found:
        raise NotFound("the program `sluiced` is not installed; set SLUICED_PROGRAM to its path")
    return found


class OwnedDaemon:
    """A daemon at a Unix socket in `folder`. Started again when it dies, until `stop`; any thread may ask.

    The kernel kills it when the thread that made it ends, so the thread must live as long as its process: a raylet
    that is killed takes its workers, and these their daemons.
    """

    def __init__(self, folder: pathlib.Path, flags: Sequence[str] = ()) -> None:
        self.address = f"unix:{folder / 'sluice.sock'}"
        self.num_restarts = 0
        self._command = [daemon_program(), "--log-console", "--listen", self.address, "--socket-group", "",
                         "--lock-folder", str(folder / "locks"), *flags]
        self._libc = ctypes.CDLL(None)
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False
        self._lock = threading.Lock()
        self._start()

    @property
    def process(self) -> int:
        """The daemon's process; 0 while there is none."""
        running = self._process
        return running.pid if running is not None and running.poll() is None else 0

    def revive(self) -> bool:
        """Starts the daemon if it died. False if it lives, or was stopped. Unavailable if it does not start."""
        with self._lock:
            if self._is_stopped or self.process:
                return False
            self.num_restarts += 1
            self._start()
            return True

    def stop(self, drain: float = 10) -> None:
        """Lets it finish, and kills it after `drain` seconds."""
        with self._lock:
            self._is_stopped = True
            running = self._process
        if running is None:
            return
        running.terminate()
        try:
            running.wait(drain)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()

    def _die_with_parent(self) -> None:
        self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def _start(self) -> None:
        # Ray's workers set no signal mask that the daemon would inherit.
        running = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   preexec_fn=self._die_with_parent)  # noqa: PLW1509 - one call of libc
        said = []
        assert running.stdout is not None
        for line in running.stdout:
            said.append(line)
            if "listening on " in line:
                threading.Thread(target=running.stdout.read, daemon=True).start()  # an unread pipe fills up
                self._process = running
                return
        running.wait()
        raise Unavailable(f"sluiced did not start: {''.join(said[-5:])}")
