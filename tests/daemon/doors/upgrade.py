#!/usr/bin/env python3
"""A new daemon in the place of a running one: nobody's request fails. Needs no service manager.

    tests/daemon/doors/upgrade.py BUILD_FOLDER
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import (  # noqa: E402
    BUILD, HANG_S, Daemon, at, compile_digits, eventually, holds, prove, same, suspend)
from service_manager import Manager  # noqa: E402

GRPC_CLIENTS = 32
HTTP_CLIENTS = 32
#: Suspends each successor of a daemon before it looks for devices.
HOLD = {"LD_PRELOAD": str(BUILD / "test_plugins/libsluice_hold_successor.so")}


class Serving(Daemon):
    """Several daemons in turn, of which `process` is the first; the log is of all of them."""

    def successors(self) -> list[int]:
        return [int(number) for number in re.findall(r"daemon\.leave successor=(\d+)", self.said())]

    def upgrade(self, of: int | None = None) -> int:
        """Starts a successor and waits until the daemon before it has ended; the process."""
        before = len(self.successors())
        leaver = of or self.process.pid
        os.kill(leaver, signal.SIGUSR2)
        eventually(lambda: len(self.successors()) > before, why=self.said)
        eventually(lambda: not is_running(leaver), why=self.said)
        return self.successors()[-1]

    def held_successor(self) -> int:
        """A successor that is suspended before it has begun; its predecessor serves on. The daemon needs `HOLD`."""
        leaver = self.process.pid
        os.kill(leaver, signal.SIGUSR2)
        eventually(lambda: any(map(is_suspended, started_by(leaver))), why=self.said)
        [successor] = started_by(leaver)
        suspend(successor)
        return successor

    def __exit__(self, *arguments: object) -> None:
        for process in self.successors():
            if is_running(process):
                os.kill(process, signal.SIGKILL)
        super().__exit__(*arguments)


def started_by(process: int) -> list[int]:
    """The successors of a daemon that are not the service."""
    mark = f"\0SLUICED_PREDECESSOR={process}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            # Its first process ends at once.
            is_child = f"\nPPid:\t{process}\n" in (path.parent / "status").read_text()
            if mark in path.read_bytes() and not is_child:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def is_running(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_suspended(process: int) -> bool:
    return "\nState:\tT" in Path(f"/proc/{process}/status").read_text()


def ends(process: int) -> None:
    os.kill(process, signal.SIGTERM)
    eventually(lambda: not is_running(process))


class HttpClients:
    """Closed loops over HTTP, a connection each, which is opened again only when the server said that it closes it."""

    def __init__(self, address: str, model: str, count: int) -> None:
        self.answers = [0] * count
        self.failures: list[str] = []
        self._is_over = threading.Event()
        self._address = address
        body = {"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [0.5] * 64}]}
        self._body = json.dumps(body)
        self._path = f"/v2/models/{model}/infer"
        self._threads = [threading.Thread(target=self._loop, args=(i,)) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def _loop(self, number: int) -> None:
        connection = None
        while not self._is_over.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection(self._address, timeout=HANG_S)
                connection.request("POST", self._path, self._body)
                reply = connection.getresponse()
                text = reply.read()
                if reply.status != 200:
                    self.failures.append(f"{reply.status} {text!r}")
                if reply.getheader("Connection") == "close":
                    connection.close()
                    connection = None
                self.answers[number] += 1
            except OSError as error:
                self.failures.append(repr(error))
                connection = None
            except http.client.HTTPException as error:
                self.failures.append(repr(error))
                connection = None

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


class GrpcClients:
    """Processes that each keep several requests in flight over a connection, one after another until `stop`."""

    def __init__(self, address: str, model: str, count: int) -> None:
        self.said: list[str] = []
        self._is_over = threading.Event()
        # Three windows, so that all of their requests count.
        self._command = [str(BUILD / "bin/sluice"), "perf", model, "--grpc", address, "--concurrency",
                         str(GRPC_CLIENTS // count), "--window", "1", "--windows", "3", "--json"]
        self._threads = [threading.Thread(target=self._loop) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _loop(self) -> None:
        while not self._is_over.is_set():
            done = subprocess.run(self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.said.append(done.stdout)

    def stop(self) -> None:
        """Waits for their ends."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def rows(self) -> list[dict]:
        return [json.loads(one)[0] for one in self.said]


def nobodys_request_fails_under_64_clients(folder: Path) -> None:
    package = str(compile_digits(folder))
    flags = ("--http", "localhost:0", "-g", "localhost:0", "--models", package, "--drain-seconds", "60")
    with Serving(folder / "d", *flags, level="5") as daemon:
        [address] = [address for address in daemon.addresses if address.startswith("localhost:")]
        clients = HttpClients(daemon.door("http"), "digits", HTTP_CLIENTS)
        callers = GrpcClients(address, "digits", 8)
        process = daemon.process.pid
        try:
            for _ in range(4):
                before = list(clients.answers)
                eventually(lambda: all(now > then + 40 for now, then in zip(clients.answers, before)), why=daemon.said)
                process = daemon.upgrade(process)
        finally:
            callers.stop()
            clients.stop()
        rows = callers.rows()
        same(clients.failures, [])
        same({(row["failed"], row["unsent"]) for row in rows}, {(0, 0)})
        answered = sum(row["answered"] for row in rows)
        print(f"     4 upgrades: {sum(clients.answers)} answers over HTTP, {answered} over gRPC, none failed")
        assert answered > 0
        ends(process)


def what_clients_deployed_is_there_and_ports_stay(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Serving(folder / "d", "--http", "localhost:0", "--state-file", str(folder / "state")) as daemon:
        door = daemon.door("http")
        at(daemon).json("load", package, "--name", "kept")
        process = daemon.upgrade()
        same(daemon.door("http"), door)
        same(at(daemon).json("infer", "kept", "--input", "image=zeros")["code"], 0)
        same(at(daemon).json("server")["process"], process)
        process = daemon.upgrade(process)  # the successor's locks are its own
        same([model["name"] for model in at(daemon).json("models")], ["kept"])
        at(daemon).json("load", package, "--name", "later")
        ends(process)
        assert not (folder / "d/sluice.sock").exists(), "the last one removes the socket"
    with Daemon(folder / "d", "--state-file", str(folder / "state")) as daemon:
        same(sorted(model["name"] for model in at(daemon).json("models")), ["kept", "later"])


def a_successor_that_cannot_serve_changes_nothing(folder: Path) -> None:
    package, config = str(compile_digits(folder)), folder / "sluiced.json"
    config.write_text("{}")
    with Serving(folder / "d", "-c", str(config), "--state-file", str(folder / "state")) as daemon:
        at(daemon).json("load", package)
        config.write_text('{"session_models": "many"}')
        daemon.process.send_signal(signal.SIGUSR2)
        eventually(lambda: "daemon.successor_failed" in daemon.said(), why=daemon.said)
        # It fails after it has the sockets, whose paths stay.
        config.write_text(json.dumps({"metrics": f"unix:{folder / 'nowhere/metrics'}"}))
        daemon.process.send_signal(signal.SIGUSR2)
        eventually(lambda: daemon.said().count("daemon.successor_failed") == 2, why=daemon.said)
        same(at(daemon).json("infer", "digits", "--input", "image=zeros")["code"], 0)
        at(daemon).json("load", package, "--name", "later")  # deployments are kept again
        config.write_text("{}")
        process = daemon.upgrade()
        same(len(at(daemon).json("models")), 2)
        ends(process)


def a_daemon_that_is_stopped_meanwhile_leaves_no_successor(folder: Path) -> None:
    with Serving(folder / "d", environment=HOLD) as daemon:
        process, successor = daemon.process.pid, daemon.held_successor()
        os.kill(process, signal.SIGTERM)
        eventually(lambda: not is_running(process), why=daemon.said)
        os.kill(successor, signal.SIGCONT)  # its report comes too late
        eventually(lambda: not is_running(successor), why=daemon.said)
        holds(daemon.said(), "wants no successor any more")
        assert not (folder / "d/sluice.sock").exists(), "nobody listens"


def what_clients_removed_meanwhile_stays_away(folder: Path) -> None:
    package = str(compile_digits(folder))
    state = ("--state-file", str(folder / "state"))
    with Serving(folder / "d", *state, environment=HOLD) as daemon:
        for name in ("kept", "gone"):
            at(daemon).json("load", package, "--name", name)
        process, successor = daemon.process.pid, daemon.held_successor()
        at(daemon).text("unload", "gone")
        os.kill(successor, signal.SIGKILL)
        eventually(lambda: "daemon.successor_failed" in daemon.said(), why=daemon.said)
        ends(process)
    with Daemon(folder / "d", *state) as daemon:
        same([model["name"] for model in at(daemon).json("models")], ["kept"])


def the_manager_hears_which_process_serves(folder: Path) -> None:
    manager = Manager(str(folder / "notify"))
    environment = {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "2000000"}
    path = folder / "d" / "sluice.sock"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        with Serving(folder / "d", environment=environment, listening=[listening]) as daemon:
            same(manager.next()["READY"], "1")
            process = daemon.upgrade()
            said = manager.next()
            while "MAINPID" not in said:
                same(said, {"WATCHDOG": "1"})
                said = manager.next()
            same((said["MAINPID"], said["READY"]), (str(process), "1"))
            same(manager.next(), {"WATCHDOG": "1"})  # of the successor: the other one has ended
            same(at(daemon).json("models"), [])
            ends(process)
            assert path.is_socket(), "the manager's socket stays"
            while "STOPPING" not in manager.next():
                pass
    manager.close()


if __name__ == "__main__":
    sys.exit(prove([
        nobodys_request_fails_under_64_clients,
        what_clients_deployed_is_there_and_ports_stay,
        a_successor_that_cannot_serve_changes_nothing,
        a_daemon_that_is_stopped_meanwhile_leaves_no_successor,
        what_clients_removed_meanwhile_stays_away,
        the_manager_hears_which_process_serves,
    ]))
