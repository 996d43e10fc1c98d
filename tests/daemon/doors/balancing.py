#!/usr/bin/env python3
"""What balancers and cluster engines see of a running sluiced: weight, drain, connection age, capacity.

    tests/daemon/doors/balancing.py BUILD_FOLDER
"""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import BUILD, Daemon, Sluice, at, compile_digits, eventually, holds, prove, same  # noqa: E402


def agent_line(daemon: Daemon) -> str:
    """What the daemon says to a balancer's agent check, until it closes the connection."""
    host, _, port = daemon.door("agent check").rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        return connection.makefile().read()


def agent_of(folder: Path, *flags: str) -> Daemon:
    daemon = Daemon(folder, "--agent-check", "localhost:0", *flags)
    daemon.start()
    return daemon


def a_daemon_says_its_weight_and_its_drain(folder: Path) -> None:
    package = str(compile_digits(folder))
    daemon = agent_of(folder / "d", "--drain-notice-seconds", "3600")
    try:
        sluice = at(daemon)
        same(agent_line(daemon), "ready up 100%\n")
        sluice.json("load", package)
        daemon.process.send_signal(signal.SIGTERM)
        eventually(lambda: agent_line(daemon) == "drain\n")
        # Balancers have not looked yet: what they still send is answered.
        same(sluice.json("infer", "digits", "--input", "image=zeros")["code"], 0)
        server = sluice.run("server", "--json")
        same((server.returncode, json.loads(server.stdout)["state"]), (1, "draining"))
        daemon.process.send_signal(signal.SIGTERM)  # a second one ends the notice
        same(daemon.process.wait(), 1)
    finally:
        daemon.__exit__()


def a_full_line_leaves_the_least_weight(folder: Path) -> None:
    package = str(compile_digits(folder))
    daemon = agent_of(folder / "d")
    try:
        sluice = at(daemon)
        sluice.json("load", package, "--queue-limit", "4")
        load = subprocess.Popen([str(BUILD / "bin/sluice"), "infer", "digits", "--input", "image=random", "--repeat",
                                 "100000000", "--in-flight", "4", "--address", daemon.socket],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: agent_line(daemon) != "ready up 100%\n")
        finally:
            load.kill()
            load.wait()
        eventually(lambda: agent_line(daemon) == "ready up 100%\n")
    finally:
        daemon.__exit__()


def the_agent_check_needs_a_port(folder: Path) -> None:
    done = subprocess.run([str(BUILD / "bin/sluiced"), "--agent-check", "unix:/x", "--check-config"],
                          capture_output=True, text=True, check=False)
    same(done.returncode, 1)
    holds(done.stderr, "agent_check")


def plain_doors_need_consent(folder: Path) -> None:
    def checked(*flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(BUILD / "bin/sluiced"), "--http", "0.0.0.0:8000", *flags, "--check-config"],
                              capture_output=True, text=True, check=False)

    refused = checked()
    same(refused.returncode, 1)
    holds(refused.stderr, "listen_plain")
    same(checked("--listen-plain").returncode, 0)


def an_old_connection_is_replaced_and_its_calls_end_well(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--connection-age-seconds", "1", level="6") as daemon:
        sluice = at(daemon)
        sluice.json("load", package)
        command = [str(BUILD / "bin/sluice"), "monitor", "--interval", "1", "--count", "5", "--address", daemon.socket]
        before = daemon.said().count("connection.open")
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        same(len(done.stdout.splitlines()), 5)
        connections = daemon.said().count("connection.open") - before
        assert connections >= 2, f"{connections} connections in five seconds"


def capacity_is_of_the_daemon_or_of_the_machine(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        free = sluice.json("capacity")
        same((free["source"], free["is_ready"], free["num_cores"], free["num_free_cores"]), ("daemon", True, 16, 16))
        model = sluice.json("load", package)
        taken = sluice.json("capacity")
        same(taken["num_free_cores"], 16 - len(taken["groups"][0]["cores"]))
        same(sum(device["num_free_cores"] for device in taken["devices"]), taken["num_free_cores"])
        [needs] = taken["models"]
        same((needs["model"], needs["group"]), (model["model"], taken["groups"][0]["group"]))
        same(needs["needs_cores"], len(taken["groups"][0]["cores"]))
        same(needs["needs_memory_bytes"], model["footprint"]["total_bytes"])
        holds(sluice.text("capacity"), "digits")
    holds(Sluice("--address", daemon.socket).refusal("capacity"), daemon.socket)  # whoever names one wants that one
    machine = Sluice().json("capacity")
    if machine["source"] == "machine":  # unless a daemon runs on the machine of this test
        same((machine["models"], machine["is_ready"]), ([], False))
        holds(Sluice().text("capacity"), "no daemon answers here")
        assert machine["num_free_cores"] == machine["num_cores"] >= 1, machine
        assert machine["num_cores"] <= (os.cpu_count() or 1) or len(machine["devices"]) > 1, machine


if __name__ == "__main__":
    sys.exit(prove([a_daemon_says_its_weight_and_its_drain, a_full_line_leaves_the_least_weight,
                    the_agent_check_needs_a_port, plain_doors_need_consent,
                    an_old_connection_is_replaced_and_its_calls_end_well, capacity_is_of_the_daemon_or_of_the_machine]))
