#!/usr/bin/env python3
"""What sluiced tells systemd, heard on a socket that stands in for systemd's.

    tests/daemon/service_manager.py BUILD_FOLDER
"""

import os
import signal
import socket
import sys
from pathlib import Path

from harness import Daemon, at, holds, prove, same


class Manager:
    """Takes what a service tells its manager."""

    def __init__(self, name: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name)
        self.socket.settimeout(60)  # only so that a failure ends

    def next(self) -> dict[str, str]:
        message = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in message.splitlines())

    def close(self) -> None:
        self.socket.close()


def it_says_ready_when_it_serves_and_stopping_when_it_ends(folder: Path) -> None:
    manager = Manager(str(folder / "notify"))
    daemon = Daemon(folder / "d", environment={"NOTIFY_SOCKET": str(folder / "notify")})
    with daemon:
        same(manager.next(), {"READY": "1", "STATUS": "Serving 4 devices"})
        same(at(daemon).json("models"), [])
        same(daemon.stop(), 0)
        same(manager.next(), {"STOPPING": "1", "STATUS": "Finishing requests"})
    manager.close()


def an_abstract_socket_is_understood(folder: Path) -> None:
    name = f"sluice-test-{os.getpid()}"
    manager = Manager("\0" + name)
    with Daemon(folder / "d", environment={"NOTIFY_SOCKET": "@" + name}):
        same(manager.next()["READY"], "1")
    manager.close()


def the_watchdog_is_fed_until_the_end(folder: Path) -> None:
    manager = Manager(str(folder / "notify"))
    environment = {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "20000"}
    with Daemon(folder / "d", environment=environment) as daemon:
        same(manager.next()["READY"], "1")
        for _ in range(5):
            same(manager.next(), {"WATCHDOG": "1"})
        daemon.process.send_signal(signal.SIGTERM)
        while "STOPPING" not in manager.next():
            pass
        same(daemon.process.wait(), 0)
    manager.close()


def another_processs_watchdog_is_not_fed(folder: Path) -> None:
    manager = Manager(str(folder / "notify"))
    environment = {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
    with Daemon(folder / "d", environment=environment) as daemon:
        same(manager.next()["READY"], "1")
        for _ in range(5):
            at(daemon).json("models")
        same(daemon.stop(), 0)
        same(manager.next().get("STOPPING"), "1")
    manager.close()


def a_manager_that_is_gone_does_not_cut_the_drain_short(folder: Path) -> None:
    manager = Manager(str(folder / "notify"))
    with Daemon(folder / "d", environment={"NOTIFY_SOCKET": str(folder / "notify")}) as daemon:
        same(manager.next()["READY"], "1")
        manager.close()
        (folder / "notify").unlink()
        same(daemon.stop(), 0)
        holds(daemon.said(), "daemon.end")


def a_reload_signal_ends_nothing(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        daemon.process.send_signal(signal.SIGHUP)
        same(at(daemon).json("models"), [])
        same(daemon.stop(), 0)


if __name__ == "__main__":
    sys.exit(prove([
        it_says_ready_when_it_serves_and_stopping_when_it_ends,
        an_abstract_socket_is_understood,
        the_watchdog_is_fed_until_the_end,
        another_processs_watchdog_is_not_fed,
        a_manager_that_is_gone_does_not_cut_the_drain_short,
        a_reload_signal_ends_nothing,
    ]))
