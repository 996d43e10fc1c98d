#!/usr/bin/env python3
"""Attacks on a running sluiced, each for a bounded time: the daemon lives, others are served, and what the
attack took comes back.

    tests/attack/attacks.py BUILD_FOLDER
"""

import http.client
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from flooder import PREFACE, frame
from pressure import Watched, closes, descriptors, heap_kib, tcp_of
from harness import BUILD, HANG_S, Daemon, Sluice, at, compile_digits, eventually, holds, pause_for, prove, same


def silent_connections_keep_nobody_out(folder: Path) -> None:
    with Daemon(folder / "d", "-g", "localhost:0", "--connections-per-peer", "50") as daemon:
        before = descriptors(daemon)
        silent = [socket.create_connection(tcp_of(daemon)) for _ in range(300)]
        same(at(daemon).json("models"), [])
        holds(at(daemon).text("server"), "ready")
        # The system accepts a connection for the daemon before the daemon looks at it.
        eventually(lambda: at(daemon).json("server")["health"]["num_refused_connections"] >= 240)
        # Those that were refused are closing still.
        eventually(lambda: at(daemon).json("server")["health"]["descriptors"] < before + 100,
                   why="one host has at most 50")
        for one in silent:
            one.close()
        closes(daemon, before)
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
        pause_for(0.3)  # the attack goes on for a while
        for one in many:
            one.close()
        client = Sluice("--address", f"localhost:{tcp_of(daemon)[1]}")
        eventually(lambda: client.run("models", "--json").returncode == 0)
        same(daemon.stop(), 0)


def rubbish_before_the_first_call_costs_nothing(folder: Path) -> None:
    with Watched(folder / "d", "-g", "localhost:0") as daemon:
        at(daemon).json("models")
        before = heap_kib(daemon)
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
        eventually(lambda: heap_kib(daemon) < before + (8 << 10), why="rubbish costs memory")
        same(daemon.stop(), 0)


def descriptors_sent_to_the_main_socket_do_not_stay(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        at(daemon).json("models")
        before = descriptors(daemon)
        read, write = os.pipe()
        sent = refused = 0
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(daemon.socket.removeprefix("unix:"))
            one.settimeout(HANG_S)
            one.sendall(PREFACE + frame(4, 0, 0))
            for _ in range(50):
                try:
                    socket.send_fds(one, [frame(6, 0, 0, b"12345678")], [write] * 20)
                    sent += 1
                except OSError:
                    refused += 1
            os.close(write)
            # Whoever holds a copy of the other end keeps the pipe open.
            os.set_blocking(read, False)
            eventually(lambda: is_at_end(read))
            closes(daemon, before)
        os.close(read)
        print(f"     {sent} messages with 20 descriptors were taken, {refused} refused")
        same(daemon.stop(), 0)


def is_at_end(pipe: int) -> bool:
    try:
        return os.read(pipe, 1) == b""
    except BlockingIOError:
        return False


def silent_scrapers_starve_nobody(folder: Path) -> None:
    """40 connections a second to /metrics that say nothing, for three seconds; a scraper among them."""
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        port = int(daemon.door("metrics").rpartition(":")[2])
        silent = []
        for i in range(120):
            silent.append(socket.create_connection(("127.0.0.1", port)))
            if i % 10 == 0:
                scraper = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)
                scraper.request("GET", "/metrics")
                same(scraper.getresponse().status, 200)
            pause_for(1 / 40)
        for one in silent:
            one.close()
        same(daemon.stop(), 0)


def a_lost_device_is_reset(folder: Path) -> None:
    machine = {"devices": [{"count": 2, "cores": 2, "bus_address": "0000:00:1{}.0"}],
               "links": [{"a": 0, "b": 1}], "faults": [{"kind": "lost_device", "device": 0}]}
    package = str(compile_digits(folder))
    (folder / "lost.json").write_text(json.dumps(machine))
    with Daemon(folder / "d", "--sim", str(folder / "lost.json")) as daemon:
        sluice = at(daemon)
        holds(sluice.refusal("load", package), "lost")
        holds(sluice.refusal("reset", "--device", "7"), "no device 7")
        holds(sluice.refusal("reset"), "name a model, or a device")
        holds(sluice.text("reset", "--device", "0"), "device 0 is reset")
        sluice.text("load", package)
        sluice.text("infer", "digits", "--input", "image=zeros")
        same(sluice.json("reset", "--device", "1"), [])
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
                    rubbish_before_the_first_call_costs_nothing,
                    descriptors_sent_to_the_main_socket_do_not_stay, silent_scrapers_starve_nobody,
                    a_lost_device_is_reset,
                    a_printer_on_a_full_disk_fails]))
