#!/usr/bin/env python3
"""`sluice timeline` against a running sluiced: the contents of the trace, and the owner of a profile.

    tests/daemon/profiles.py BUILD_FOLDER
"""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from harness import BUILD, Daemon, at, compile_digits, eventually, holds, prove, same


def events(trace: dict, phase: str) -> list:
    return [event for event in trace["traceEvents"] if event["ph"] == phase]


def infer(sluice, count: int) -> None:
    for _ in range(count):
        sluice.text("infer", "digits", "--input", "image=zeros")


def a_profile_has_every_request_and_its_stages(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        sluice.text("load", str(package))
        number = sluice.text("timeline", "--start", "--model", "digits").strip()
        infer(sluice, 3)
        holds(sluice.text("timeline", "--stop", number, "-o", str(folder / "t.json")), "ui.perfetto.dev")
        trace = json.loads((folder / "t.json").read_text())
        same(Counter(event["name"] for event in events(trace, "b")),
             Counter({"queue": 3, "request 1": 1, "request 2": 1, "request 3": 1}))
        same(len(events(trace, "e")), 6)
        slices = events(trace, "X")
        assert sum(event["name"] == "compute" for event in slices) >= 3, slices
        stats = sluice.json("stats")[0]
        summed_us = sum(event["dur"] for event in slices if event["name"] == "compute")
        assert abs(summed_us * 1e3 - stats["compute"]["sum_ns"]) < 10, (summed_us, stats)
        holds(sluice.refusal("timeline", "--stop", number), "no profile has handle")


def a_profile_has_the_spans_of_workers(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        everything = sluice.text("timeline", "--start").strip()
        sluice.text("load", str(package), "--isolation", "process")  # its worker is younger than the profile
        model = sluice.text("timeline", "--start", "--model", "digits").strip()
        infer(sluice, 3)
        for number in (everything, model):
            sluice.text("timeline", "--stop", number, "-o", str(folder / "t.json"))
            trace = json.loads((folder / "t.json").read_text())
            same(Counter(event["name"] for event in events(trace, "b")),
                 Counter({"queue": 3, "request 1": 1, "request 2": 1, "request 3": 1}))
            slices = events(trace, "X")
            assert sum(event["name"] == "compute" for event in slices) >= 3, slices
        group = sluice.json("groups")[0]["group"]
        number = sluice.text("timeline", "--start", "--group", str(group)).strip()
        infer(sluice, 1)
        sluice.text("timeline", "--stop", number, "-o", str(folder / "t.json"))
        same(len(events(json.loads((folder / "t.json").read_text()), "b")), 2)


def a_profile_of_another_model_is_empty(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        sluice.text("load", str(package))
        sluice.text("load", str(package), "--name", "other")
        number = sluice.text("timeline", "--start", "--model", "other").strip()
        infer(sluice, 1)
        sluice.text("timeline", "--stop", number, "-o", str(folder / "t.json"))
        same(json.loads((folder / "t.json").read_text())["traceEvents"], [])
        holds(sluice.refusal("timeline", "--model", "nobody"), "nobody")


def an_interrupted_profile_leaves_nothing(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        command = [str(BUILD / "bin/sluice"), "timeline", "--seconds", "600", "--address", daemon.socket]
        running = [subprocess.Popen(command, cwd=folder) for _ in range(4)]
        eventually(lambda: daemon.said().count("profile.start") >= 4)
        holds(start_or_why(sluice), "stop one of 1, 2, 3, 4")
        for one in running:
            one.send_signal(signal.SIGINT)
            one.wait()
        eventually(lambda: start_or_why(sluice) == "")


def start_or_why(sluice) -> str:
    """Starts a profile and ends it at once, or why that was refused."""
    started = sluice.run("timeline", "--start")
    if started.returncode != 0:
        return started.stderr
    sluice.text("timeline", "--stop", started.stdout.strip(), "-o", "/dev/null")
    return ""


if __name__ == "__main__":
    sys.exit(prove([
        a_profile_has_every_request_and_its_stages,
        a_profile_has_the_spans_of_workers,
        a_profile_of_another_model_is_empty,
        an_interrupted_profile_leaves_nothing,
    ]))
