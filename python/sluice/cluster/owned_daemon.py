"""A `sluiced` that ends with the process that started it."""

from __future__ import annotations

import collections
import ctypes
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from ..commands import program
from ..errors import NotFound, Unavailable

_PR_SET_PDEATHSIG = 1  # of prctl(2)

#: Seconds until a daemon that says nothing is killed. It finds devices and may compile no models meanwhile.
_START_PATIENCE = 60.0


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

    It reads no settings of the machine, which are for the daemon of the system. What it logs goes to stderr.

    The kernel kills it when the thread that made it ends, so the thread must live as long as its process: a raylet
    that is killed takes its workers, and these their daemons.
    """

    def __init__(self, folder: pathlib.Path, flags: Sequence[str] = ()) -> None:
        self.address = f"unix:{folder / 'sluice.sock'}"
        self.num_restarts = 0
        settings = folder / "sluiced.json"
        settings.write_text("{}\n")
        self._command = [daemon_program(), "--config", str(settings), "--log-console", "--listen", self.address,
                         "--socket-group", "", "--lock-folder", str(folder / "locks"), *flags]
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

    def _start(self) -> None:
        parent = os.getpid()

        def die_with_parent() -> None:
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # which ended before the call
                os.kill(os.getpid(), signal.SIGKILL)

        # Ray's workers set no signal mask that the daemon would inherit.
        running = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", preexec_fn=die_with_parent)  # noqa: PLW1509 - calls of libc
        said: collections.deque[str] = collections.deque(maxlen=5)
        serves: queue.SimpleQueue[bool] = queue.SimpleQueue()
        threading.Thread(target=_pass_on, args=(running, said, serves), name="sluice-daemon", daemon=True).start()
        try:
            is_serving = serves.get(timeout=_START_PATIENCE)
        except queue.Empty:
            is_serving = False
            said.append(f"no word in {_START_PATIENCE:g} seconds")
        if not is_serving:
            running.kill()
            running.wait()
            raise Unavailable(f"sluiced did not start: {''.join(said)}")
        self._process = running


def _pass_on(running: subprocess.Popen[str], said: collections.deque[str], serves: queue.SimpleQueue[bool]) -> None:
    """Reads what the daemon says, as an unread pipe fills up, and keeps the last lines."""
    assert running.stdout is not None
    with running.stdout:
        for line in running.stdout:
            said.append(line)
            sys.stderr.write(line)
            if "listening on " in line:
                serves.put(True)
    serves.put(False)
