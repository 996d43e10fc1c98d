#!/usr/bin/env python3
"""Attacks on a running sluiced, each for a bounded time: the daemon lives, others are served, and what the
attack took comes back.

    tests/attack/attacks.py BUILD_FOLDER
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from pressure import PREFACE, descriptors, frame, resident_kib, tcp_of, until
from harness import BUILD, Daemon, Sluice, at, holds, prove, same


def silent_connections_keep_nobody_out(folder: Path) -> None:
    with Daemon(folder / "d", "-g", "localhost:0", "--connections-per-peer", "50") as daemon:
        before = descriptors(daemon)
        silent = [socket.create_connection(tcp_of(daemon)) for _ in range(300)]
        same(at(daemon).json("models"), [])
        holds(at(daemon).text("server"), "ready")
        assert descriptors(daemon) < before + 100, "one host has at most 50"
        for one in silent:
            one.close()
        until(lambda: descriptors(daemon) <= before + 8)
        same(Sluice("--address", f"localhost:{tcp_of(daemon)[1]}").json("models"), [])
        same(daemon.stop(), 0)


def a_daemon_that_ran_out_of_descriptors_serves_again(folder: Path) -> None:
    with Daemon(folder / "d", "-g", "localhost:0") as daemon:
        pid = daemon.process.pid
        limit = descriptors(daemon) + 70
        subprocess.run(["prlimit", f"--pid={pid}", f"--nofile={limit}:{limit}"], check=True)
        many = []
        for _ in range(200):
            try:
                many.append(socket.create_connection(tcp_of(daemon), timeout=1))
            except OSError:
                break
        time.sleep(0.3)  # the attack goes on for a while
        for one in many:
            one.close()
        client = Sluice("--address", f"localhost:{tcp_of(daemon)[1]}")
        until(lambda: client.run("models", "--json").returncode == 0)
        same(daemon.stop(), 0)


def rubbish_before_the_first_call_costs_nothing(folder: Path) -> None:
    with Daemon(folder / "d", "-g", "localhost:0") as daemon:
        at(daemon).json("models")
        before = resident_kib(daemon)
        rubbish = [b"\x00" * 4096, b"GET / HTTP/1.1\r\n\r\n", PREFACE + os.urandom(4096),
                   PREFACE + frame(4, 0, 0, b"") + frame(0, 0, 1, b"x" * 16384),
                   PREFACE + frame(4, 0, 0, b"") + frame(1, 0, 1, b"\x82") * 3]
        for i in range(200):
            with socket.create_connection(tcp_of(daemon)) as one:
                try:
                    one.sendall(rubbish[i % len(rubbish)])
                except OSError:
                    pass  # it hung up, as it may
        same(at(daemon).json("models"), [])
        assert resident_kib(daemon) < before + (64 << 10)
        same(daemon.stop(), 0)


def a_printer_on_a_full_disk_fails(_folder: Path) -> None:
    for command in (["sluice", "operators"], ["sluiced", "--print-schema"], ["sluiced", "--check-config"],
                    ["sluiced", "--help"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([str(BUILD / "bin" / command[0]), *command[1:]], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        same((command, done.returncode), (command, 1))
        assert "No space left" in done.stderr or "output is lost" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(prove([silent_connections_keep_nobody_out, a_daemon_that_ran_out_of_descriptors_serves_again,
                    rubbish_before_the_first_call_costs_nothing, a_printer_on_a_full_disk_fails]))
