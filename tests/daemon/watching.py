#!/usr/bin/env python3
"""`sluice monitor` and `sluice top` against a running sluiced, top on a terminal of its own.

    tests/daemon/watching.py BUILD_FOLDER
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tarfile
import termios
from pathlib import Path

from harness import BUILD, Daemon, Sluice, at, compile_digits, holds, prove, same

FRAME = "\x1b[H"


def busy(daemon: Daemon, package: Path) -> None:
    """A model that has answered three requests."""
    sluice = at(daemon)
    sluice.text("load", str(package))
    for _ in range(3):
        sluice.text("infer", "digits", "--input", "image=zeros")


def monitor_prints_a_line_of_json_per_interval(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        busy(daemon, package)
        lines = at(daemon).text("monitor", "--interval", "0.05", "--count", "3").splitlines()
        same(len(lines), 3)
        seen = [json.loads(line) for line in lines]
        for line in seen:
            same([(one["name"], one["num_requests"], one["num_errors"]) for one in line["models"]], [("digits", 3, 0)])
            same([device["device"] for device in line["devices"]], [0, 1, 2, 3])
            same(line["groups"][0]["active_model"], "digits")
            assert line["interval_s"] >= 0.05, line
        assert seen[0]["time_s"] < seen[2]["time_s"]


def monitor_counts_requests_between_its_lines(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        at(daemon).text("load", str(package))
        watcher = subprocess.Popen([str(BUILD / "bin/sluice"), "monitor", "--interval", "0.05", "--address",
                                    daemon.socket], stdout=subprocess.PIPE, text=True)
        with watcher:
            same(json.loads(watcher.stdout.readline())["requests_per_s"], 0)
            at(daemon).text("infer", "digits", "--input", "image=zeros")
            line = json.loads(watcher.stdout.readline())
            while line["requests_per_s"] == 0:
                line = json.loads(watcher.stdout.readline())
            same(line["models"][0]["num_requests"], 1)
            assert line["models"][0]["p50_ns"] > 0
            assert 0 < line["models"][0]["interval_p50_ns"] <= line["models"][0]["interval_p99_ns"], line
            watcher.stdout.close()
            same(watcher.wait(), -signal.SIGPIPE)


def monitor_ends_when_the_daemon_does(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        watcher = subprocess.Popen([str(BUILD / "bin/sluice"), "monitor", "--interval", "0.05", "--address",
                                    daemon.socket], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with watcher:
            json.loads(watcher.stdout.readline())
            same(daemon.stop(), 0)
            same(watcher.wait(), 1)
            holds(watcher.stderr.read(), "sluice monitor: ")


def top_prints_one_plain_frame(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        busy(daemon, package)
        wide = Sluice("--address", daemon.socket, environment={"COLUMNS": "140"})
        frame = wide.text("top", "--once", "--interval", "0.05")
        for part in ("sluiced 0.1.0  ready", "cores free", "0000:00:10.0", "digits", "started", "P99"):
            holds(frame, part)
        assert "\x1b" not in frame, frame
        narrow = Sluice("--address", daemon.socket, environment={"COLUMNS": "40"})
        lines = narrow.text("top", "--once", "--interval", "0.05").splitlines()
        assert max(len(line) for line in lines) <= 40, lines
        holds("\n".join(lines), "digits")


class Screen:
    """`sluice top` on a pseudo terminal."""

    def __init__(self, daemon: Daemon, width: int, height: int) -> None:
        self.terminal, other = pty.openpty()
        self.resize(width, height)
        self.before = termios.tcgetattr(other)
        command = [str(BUILD / "bin/sluice"), "top", "--interval", "0.05", "--address", daemon.socket]
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other,
                                        start_new_session=True)
        self._other = other
        self.said = ""

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read_some(self) -> None:
        if select.select([self.terminal], [], [], 60)[0]:
            self.said += os.read(self.terminal, 65536).decode()

    def frames(self, count: int) -> list[str]:
        """So many more whole frames."""
        start = len(self.said)
        while self.said[start:].count(FRAME) < count + 2:
            self.read_some()
        return self.said[start:].split(FRAME)[1:count + 1]

    def end(self) -> tuple[int, str]:
        """Exit code and last output; checks that the terminal was restored."""
        while self.process.poll() is None:
            if select.select([self.terminal], [], [], 0.01)[0]:
                self.said += os.read(self.terminal, 65536).decode()
        while select.select([self.terminal], [], [], 0)[0]:
            self.said += os.read(self.terminal, 65536).decode()
        same(termios.tcgetattr(self._other), self.before)
        os.close(self._other)
        os.close(self.terminal)
        return self.process.returncode, self.said


def top_redraws_in_place_and_q_restores_the_terminal(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        busy(daemon, package)
        screen = Screen(daemon, 100, 30)
        for frame in screen.frames(3):
            holds(frame, "digits")
            assert "\x1b[2J" not in frame, "it clears before it draws, which flickers"
            same(frame.count("\x1b[J"), 1)
        os.write(screen.terminal, b"\x1b[Ax")  # an arrow and a key of no meaning
        screen.frames(1)
        os.write(screen.terminal, b"q")
        code, said = screen.end()
        same(code, 0)
        assert said.startswith("\x1b[?1049h") and said.endswith("\x1b[?1049l"), said[-200:]


def top_follows_the_size_of_its_terminal(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        busy(daemon, package)
        screen = Screen(daemon, 140, 30)
        holds(screen.frames(1)[0], "BUS ADDRESS")
        screen.resize(40, 12)
        screen.process.send_signal(signal.SIGWINCH)
        while "BUS ADDRESS" in (frame := screen.frames(1)[0]):
            pass
        same(frame.count("\r\n") < 12, True)
        screen.process.send_signal(signal.SIGTERM)
        same(screen.end()[0], 0)


def top_restores_the_terminal_when_the_daemon_dies(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        screen = Screen(daemon, 80, 24)
        screen.frames(1)
        daemon.kill()
        code, said = screen.end()
        same(code, 1)
        holds(said.partition("\x1b[?1049l")[2], "no daemon answers")


def top_without_a_terminal_names_the_alternative(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        holds(at(daemon).refusal("top"), "--once")


def bundle_of(sluice: Sluice, config: Path, tar: Path) -> dict[str, str]:
    sluice.text("server", "--bundle", str(tar), "--config", str(config))
    with tarfile.open(tar) as archive:
        assert all(member.isfile() and member.size <= 1 << 20 for member in archive)
        return {Path(member.name).name: archive.extractfile(member).read().decode() for member in archive}


def a_bundle_says_what_support_asks_and_no_secret(folder: Path) -> None:
    tokens, config = folder / "tokens", folder / "sluiced.json"
    tokens.write_text("s3cret inference,monitor alice\n")
    config.write_text(json.dumps({"token_file": str(tokens), "metrics": f"unix:{folder / 'metrics'}"}))
    with Daemon(folder / "d", "-c", str(config), "-g", "localhost:0") as daemon:
        busy(daemon, compile_digits(folder))
        door = next(address for address in daemon.addresses if address.startswith("localhost:"))
        files = bundle_of(Sluice("--address", door, "--token", "s3cret"), config, folder / "alice.tar")
        same((folder / "alice.tar").stat().st_mode & 0o777, 0o600)
        same(json.loads(files["models.json"])[0]["name"], "digits")
        same(json.loads(files["server.json"])["state"], "ready")
        same(len(json.loads(files["activity.json"])["models"]), 1)
        same(json.loads(files["settings.json"])["token_file"]["value"], str(tokens))
        holds(files["metrics.txt"], "sluice_model_requests_accepted_total")
        holds(files["doctor.txt"], "processor")
        for name, text in files.items():
            assert "s3cret" not in text, name
        same(daemon.stop(), 0)
    # Support asks for one when a daemon does not start.
    files = bundle_of(at(daemon), config, folder / "down.tar")
    holds(files["errors.txt"], "server.json: ")
    holds(files["errors.txt"], "metrics.txt: ")
    assert "server.json" not in files
    holds(files["system.txt"], "Linux")


if __name__ == "__main__":
    sys.exit(prove([
        a_bundle_says_what_support_asks_and_no_secret,
        monitor_prints_a_line_of_json_per_interval,
        monitor_counts_requests_between_its_lines,
        monitor_ends_when_the_daemon_does,
        top_prints_one_plain_frame,
        top_redraws_in_place_and_q_restores_the_terminal,
        top_follows_the_size_of_its_terminal,
        top_restores_the_terminal_when_the_daemon_dies,
        top_without_a_terminal_names_the_alternative,
    ]))
