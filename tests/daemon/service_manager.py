#!/usr/bin/env python3
"""What sluiced tells systemd, heard on a socket that stands in for systemd's.

    tests/daemon/service_manager.py BUILD_FOLDER
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from harness import BUILD, MACHINE, Daemon, Sluice, at, holds, prove, same


class Manager:
    """A service manager that records the notifications of its service."""

    def __init__(self, name: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name)
        self.socket.settimeout(60)  # only so that a failure ends

    def next(self) -> dict[str, str]:
        message = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in message.splitlines())

    def close(self) -> None:
        self.socket.close()


def daemon_reports_ready_and_stopping(folder: Path) -> None:
    manager = Manager(str(folder / "notify"))
    daemon = Daemon(folder / "d", environment={"NOTIFY_SOCKET": str(folder / "notify")})
    with daemon:
        same(manager.next(), {"READY": "1", "STATUS": "Serving 4 devices"})
        same(at(daemon).json("models"), [])
        same(daemon.stop(), 0)
        same(manager.next(), {"STOPPING": "1", "STATUS": "Finishing requests"})
    manager.close()


def log_names_each_device_with_its_address_and_links(folder: Path) -> None:
    with Daemon(folder / "d", level="4") as daemon:
        assert "device.ready" not in daemon.said(), daemon.said()
        same(daemon.stop(), 0)
    with Daemon(folder / "d", level=None) as daemon:
        events = [line.split(" info ")[1] for line in daemon.said().splitlines() if " device.ready " in line]
        devices = [(0, "1"), (1, "0,2"), (2, "1,3"), (3, "2")]
        same(events, [f'device.ready device={device} kind=sim name="simulated" address="0000:00:1{device}.0" cores=4 links="{links}"'
                      for device, links in devices])
        assert daemon.said().index("device.ready") < daemon.said().index("daemon.ready")


def daemon_refuses_to_start_without_its_huge_pages(folder: Path) -> None:
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    done = subprocess.run([str(BUILD / "bin/sluiced"), "--sim", str(folder / "machine.json"), "-g",
                           f"unix:{folder / 's'}", "--lock-folder", str(folder), "--huge-pages", "1000000"],
                          capture_output=True, text=True, check=False)
    same(done.returncode, 1)
    holds(done.stderr, "huge_pages 1000000 for each of 4 devices: huge pages: 4000000 of 2 MiB are asked for")
    holds(done.stderr, "sysctl -w vm.nr_hugepages=")


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


def missing_manager_does_not_shorten_the_drain(folder: Path) -> None:
    manager = Manager(str(folder / "notify"))
    with Daemon(folder / "d", environment={"NOTIFY_SOCKET": str(folder / "notify")}) as daemon:
        same(manager.next()["READY"], "1")
        manager.close()
        (folder / "notify").unlink()
        same(daemon.stop(), 0)
        holds(daemon.said(), "daemon.end")


def inherited_socket_is_served_and_kept(folder: Path) -> None:
    path = folder / "d" / "sluice.sock"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        for _ in range(2):  # the manager keeps it, so a restart serves the same one
            with Daemon(folder / "d", listening=[listening]) as daemon:
                same(daemon.addresses, [f"unix:{path}"])
                same(at(daemon).json("models"), [])
                same(daemon.stop(), 0)
            assert path.is_socket()


def sockets_of_all_kinds_are_served_by_their_names(folder: Path) -> None:
    path = folder / "d" / "sluice.sock"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as local, socket.create_server(("127.0.0.1", 0)) as tcp, \
            socket.create_server(("127.0.0.1", 0)) as web:
        local.bind(str(path))
        local.listen()
        names = {"LISTEN_FDNAMES": "sluiced.socket:grpc:http"}
        with Daemon(folder / "d", listening=[local, tcp, web], environment=names) as daemon:
            grpc = f"127.0.0.1:{tcp.getsockname()[1]}"
            same(daemon.addresses, [f"unix:{path}", grpc])
            for address in daemon.addresses:
                same(Sluice("--address", address).json("models"), [])
            client = http.client.HTTPConnection(*web.getsockname())
            client.request("GET", "/v2/health/ready")
            same(client.getresponse().status, 200)
            client.close()
            same(daemon.stop(), 0)


def reload_applies_safe_settings_and_names_the_others(folder: Path) -> None:
    config = folder / "config.json"
    models = folder / "models"
    models.mkdir()
    config.write_text(json.dumps({"session_models": 7, "metrics": ""}))
    manager = Manager(str(folder / "notify"))
    environment = {"NOTIFY_SOCKET": str(folder / "notify")}
    with Daemon(folder / "d", "-c", str(config), environment=environment) as daemon:
        same(manager.next()["READY"], "1")
        same(at(daemon).json("server")["model_folders"], [])

        def reload(settings: object) -> None:
            config.write_text(json.dumps(settings))
            daemon.process.send_signal(signal.SIGHUP)
            said = [manager.next()]
            while "READY" not in said[-1]:
                said.append(manager.next())
            assert {"RELOADING": "1"} in said, said

        reload({"session_models": 8, "model_folders": [str(models)], "metrics": "localhost:0", "stream_requests": 5})
        holds(daemon.said(), "daemon.reload changed=model_folders,session_models,stream_requests")
        holds(daemon.said(), "daemon.reload_left needs_restart=metrics")
        server = at(daemon).json("server")
        same((server["model_folders"], server["stream_requests"]), ([str(models)], 5))
        reload({"session_models": "many"})
        holds(daemon.said(), "daemon.reload_failed")
        same(at(daemon).json("server")["stream_requests"], 5)
        reload({"model_folders": [str(folder / "none")], "stream_requests": 6})
        same(at(daemon).json("server")["stream_requests"], 5)
        reload({})
        same(at(daemon).json("server")["model_folders"], [])
        same(daemon.stop(), 0)
    manager.close()


def a_reloaded_log_level_holds_from_then_on(folder: Path) -> None:
    config = folder / "config.json"
    config.write_text("{}")
    with Daemon(folder / "d", "-c", str(config), level=None) as daemon:
        at(daemon).json("models")
        assert "connection.open" not in daemon.said(), daemon.said()
        config.write_text('{"log_level": 6}')
        daemon.process.send_signal(signal.SIGHUP)
        while "daemon.reload changed=log_level" not in daemon.said():
            pass
        at(daemon).json("models")
        holds(daemon.said(), "connection.open")


if __name__ == "__main__":
    sys.exit(prove([
        daemon_reports_ready_and_stopping,
        log_names_each_device_with_its_address_and_links,
        daemon_refuses_to_start_without_its_huge_pages,
        an_abstract_socket_is_understood,
        the_watchdog_is_fed_until_the_end,
        another_processs_watchdog_is_not_fed,
        missing_manager_does_not_shorten_the_drain,
        inherited_socket_is_served_and_kept,
        sockets_of_all_kinds_are_served_by_their_names,
        reload_applies_safe_settings_and_names_the_others,
        a_reloaded_log_level_holds_from_then_on,
    ]))
