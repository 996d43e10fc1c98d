"""A sluiced of this build on simulated devices, the commands that talk to it, and claims about them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from certificates import Authority  # noqa: E402, F401 - as the next
from eventually import HANG_S, eventually, pause_for, suspend  # noqa: E402, F401 - the scripts take them from here

BUILD = Path(sys.argv[1]).resolve()
DIGITS = ROOT / "examples/digits/digits.onnx"

# Four devices of four cores in a chain; several models may be loaded on one core group. Their log would count
# as the daemon's memory: it grows to 16 MiB with the requests.
MACHINE = {
    "max_log_bytes": 0,
    "devices": [{"count": 4, "cores": 4, "exclusive_cores": False, "bus_address": "0000:00:1{}.0"}],
    "links": [{"a": 0, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 3}],
}


class Daemon:
    """Runs from `with` to its end, or to `stop` or `kill`."""

    def __init__(self, folder: Path, *flags: str, environment: dict[str, str] | None = None,
                 listening: list[socket.socket] | None = None, level: str | None = "6", is_simulated: bool = True) -> None:
        """`listening`: sockets that a service manager passes on; the daemon then gets no other address.
        `is_simulated`: false for the processors of this machine."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._listening = listening or []
        self.socket = f"unix:{folder / 'sluice.sock'}"
        self.log = folder / "sluiced.log"
        (folder / "machine.json").write_text(json.dumps(MACHINE))
        machine = ["--sim", str(folder / "machine.json")] if is_simulated else []
        self._command = [str(BUILD / "bin/sluiced"), *machine, "-g", self.socket, "--lock-folder", str(folder / "locks"),
                         "-x", *(["-l", level] if level else []), *flags]
        self._environment = {**os.environ, **(environment or {})}
        if self._listening:
            at = self._command.index("-g")
            hand_over = "".join(f"exec {3 + i}<&{one.fileno()};" for i, one in enumerate(self._listening))
            self._command = ["bash", "-c", f'{hand_over} export LISTEN_PID=$$; exec "$@"', "bash",
                             *self._command[:at], *self._command[at + 2:]]
            self._environment["LISTEN_FDS"] = str(len(self._listening))
        self.addresses: list[str] = []

    def __enter__(self) -> Daemon:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        self._output.close()

    def start(self) -> None:
        self._output = self.log.open("w")
        self.process = subprocess.Popen(self._command, stdout=self._output, stderr=subprocess.STDOUT,
                                        env=self._environment,
                                        pass_fds=[one.fileno() for one in self._listening])
        eventually(lambda: "sluiced: listening on" in self.said() or self.process.poll() is not None, why=self.said)
        assert self.process.poll() is None, f"sluiced ended:\n{self.said()}"
        line = next(line for line in self.said().splitlines() if "sluiced: listening on" in line)
        self.addresses = line.partition("listening on ")[2].split(", ")

    def said(self) -> str:
        return self.log.read_text()

    def door(self, name: str) -> str:
        """The address that it says of "http", "metrics", "agent check" or "exchange"; of several daemons in turn, the last."""
        def said() -> list[str]:
            whole = self.said().split("\n")[:-1]
            return [line.partition(" on ")[2] for line in whole if line.startswith(f"sluiced: {name} on ")]

        eventually(lambda: said() != [] or self.process.poll() is not None, why=self.said)
        return said()[-1]

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Sluice:
    """The `sluice` command with options that all its calls share."""

    def __init__(self, *options: str, environment: dict[str, str] | None = None) -> None:
        self._options = options
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
        self._environment.update(environment or {})

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(BUILD / "bin/sluice"), *arguments, *self._options], capture_output=True,
                              text=True, env=self._environment, stdin=subprocess.DEVNULL, check=False)

    def text(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, f"sluice {' '.join(arguments)}: {done.returncode}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments: str):
        printed = self.text(*arguments, "--json")
        try:
            return json.loads(printed)
        except ValueError as error:
            raise AssertionError(f"sluice {' '.join(arguments)} --json printed {printed!r}") from error

    def refusal(self, *arguments: str, code: int = 1) -> str:
        """What it says on stderr; it must end with `code`, and print nothing."""
        done = self.run(*arguments)
        assert (done.returncode, done.stdout) == (code, ""), f"sluice {' '.join(arguments)}: {done}"
        return done.stderr


def set_sensors(sysfs: Path, address: str, **values: int) -> None:
    """Sets a device on the bus, in a made-up tree: temp1_input=71_400. A reader sees the old file or the new one."""
    hwmon = sysfs / "bus/pci/devices" / address / "hwmon/hwmon0"
    hwmon.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (hwmon / "new").write_text(f"{value}\n")
        (hwmon / "new").rename(hwmon / name)


def at(daemon: Daemon) -> Sluice:
    return Sluice("--address", daemon.socket)


def compile_digits(folder: Path, *options: str, name: str = "digits") -> Path:
    """The network of examples/digits for the simulated devices."""
    package = folder / f"{name}.sluice"
    Sluice().text("compile", str(DIGITS), "--backend", "sim", "-o", str(package), *options)
    return package


def is_sanitized() -> bool:
    """Whether this build has a sanitizer, which replaces the allocator and slows everything down."""
    return bool(re.search(r"^SLUICE_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))


def same(got: object, expected: object) -> None:
    assert got == expected, f"got {got!r}, expected {expected!r}"


def holds(text: str, part: str) -> None:
    assert part in text, f"no {part!r} in {text!r}"


def prove(claims: list[Callable[[Path], None]]) -> int:
    """Calls each claim with a folder of its own; prints a line per claim and the totals."""
    failed = 0
    for claim in claims:
        folder = Path(tempfile.mkdtemp(prefix="sluice-"))
        try:
            claim(folder)
            print(f"ok   {claim.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {claim.__name__}\n{traceback.format_exc()}", flush=True)
            for log in folder.rglob("*.log"):
                print(log.read_text())
        finally:
            shutil.rmtree(folder)
    print(f"{len(claims) - failed} passed, {failed} failed")
    return 1 if failed else 0
