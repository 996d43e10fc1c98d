#!/usr/bin/env python3
"""Kernels that never return, in a sluiced on this machine's processors.

    tests/attack/hang/hangs.py BUILD_FOLDER

In the daemon's own process such a kernel keeps its thread, so the daemon ends with a report; a worker
process is killed, and the daemon goes on.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "daemon"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import BUILD, DIGITS, Daemon, Sluice, at, eventually, holds, prove, same  # noqa: E402

PLUGINS = {"SLUICE_BACKEND_PATH": str(BUILD / "hanging_plugin")}
INPUT = ("--input", "image=zeros")
HUNG = 3


class OnProcessors(Daemon):
    def __init__(self, folder: Path, *flags: str) -> None:
        super().__init__(folder, "--drain-seconds", "1", "--map", "", *flags, environment=PLUGINS)
        where = self._command.index("--sim")
        del self._command[where:where + 2]


def package_with(folder: Path, backends: str) -> str:
    package = folder / f"{backends.partition(',')[0]}.sluice"
    Sluice(environment=PLUGINS).text("compile", str(DIGITS), "--backend", backends, "-o", str(package))
    return str(package)


def run_hung(daemon: Daemon, package: str, *options: str) -> subprocess.Popen:
    """A client whose request never ends."""
    at(daemon).text("load", package, "--name", "hung", *options)
    client = subprocess.Popen([str(BUILD / "bin/sluice"), "infer", "hung", *INPUT, "--address", daemon.socket],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    eventually(lambda: at(daemon).json("stats")[0]["accepted"] or client.poll() is not None)
    assert client.poll() is None, client.stderr.read()
    return client


def sigterm_ends_a_daemon_with_a_hung_kernel(folder: Path) -> None:
    package = package_with(folder, "hanging,cpu,reference")
    with OnProcessors(folder / "d", "--hang-seconds", "2") as daemon:
        client = run_hung(daemon, package)
        same(daemon.stop(), HUNG)
        holds(daemon.said(), 'daemon.hung waits_for="the end of the daemon, model \\"hung\\""')
        client.wait()


def an_unload_that_hangs_ends_the_daemon_with_a_report(folder: Path) -> None:
    package = package_with(folder, "hanging,cpu,reference")
    with OnProcessors(folder / "d", "--hang-seconds", "2") as daemon:
        client = run_hung(daemon, package)
        holds(at(daemon).refusal("unload", "hung"), "unavailable")
        same(daemon.process.wait(), HUNG)
        holds(daemon.said(), 'daemon.hung waits_for="an unload of model')
        holds(daemon.said(), "exiting, so that its cores are free again")
        client.wait()


def a_worker_that_hangs_is_killed_and_the_daemon_lives(folder: Path) -> None:
    package, good = package_with(folder, "hanging,cpu,reference"), package_with(folder, "cpu,reference")
    with OnProcessors(folder / "d", "--hang-seconds", "600") as daemon:
        client = run_hung(daemon, package, "--isolation", "process")
        at(daemon).text("unload", "hung")
        same(client.wait(), 1)
        at(daemon).text("load", good, "--name", "good", "--isolation", "process")
        at(daemon).text("infer", "good", *INPUT)
        same(daemon.stop(), 0)


def said_why(client: subprocess.Popen) -> str:
    same(client.wait(), 1)
    return client.stderr.read()


def a_run_that_ignores_its_stop_ends_its_worker_and_the_daemon_lives(folder: Path) -> None:
    package, good = package_with(folder, "hanging,cpu,reference"), package_with(folder, "cpu,reference")
    with OnProcessors(folder / "d", "--hang-seconds", "600", "--worker-silence", "4") as daemon:
        # A limit of time stops the run, of a model and of a function in a cell.
        client = run_hung(daemon, package, "--isolation", "process", "--max-run", "0.1")
        holds(said_why(client), "was ended because a run went on for")
        at(daemon).text("unload", "hung")
        at(daemon).text("deploy", package, "--name", "in-a-cell", "--cell", "--max-run", "0.1")
        holds(at(daemon).refusal("infer", "in-a-cell", *INPUT), "was ended because a run went on for")
        # The next request waits for the next process, and hangs in it as well.
        holds(at(daemon).refusal("infer", "in-a-cell", *INPUT), "was ended because a run went on for")
        at(daemon).text("unload", "in-a-cell")
        # So does a client that goes away.
        client = run_hung(daemon, package, "--isolation", "process")
        client.terminate()
        client.wait()
        eventually(lambda: any(group["num_worker_restarts"] for group in at(daemon).json("groups")))
        at(daemon).text("unload", "hung")
        at(daemon).text("load", good, "--name", "good", "--isolation", "process")
        at(daemon).text("infer", "good", *INPUT)
        same(daemon.stop(), 0)


def run_hung_in_session(daemon: Daemon, package: str, isolation: str) -> subprocess.Popen:
    """A client whose session owns the model and the group, and whose request never ends."""
    client = subprocess.Popen([str(BUILD / "test/attack_hung_client"), daemon.socket, package, isolation],
                              stderr=subprocess.PIPE, text=True)
    eventually(lambda: any(one["accepted"] for one in at(daemon).json("stats")) or client.poll() is not None)
    assert client.poll() is None, client.stderr.read()
    return client


def a_session_that_ends_with_a_hung_kernel_ends_the_daemon_with_a_report(folder: Path) -> None:
    package = package_with(folder, "hanging,cpu,reference")
    with OnProcessors(folder / "d", "--hang-seconds", "2") as daemon:
        client = run_hung_in_session(daemon, package, "stream")
        client.kill()
        client.wait()
        same(daemon.process.wait(), HUNG)
        holds(daemon.said(), 'daemon.hung waits_for="the end of a session, with model')
        holds(daemon.said(), "exiting, so that its cores are free again")


def a_session_that_ends_with_a_hung_worker_frees_its_cores(folder: Path) -> None:
    package = package_with(folder, "hanging,cpu,reference")
    with OnProcessors(folder / "d", "--hang-seconds", "600") as daemon:
        free = at(daemon).json("server")["num_free_cores"]
        client = run_hung_in_session(daemon, package, "process")
        assert at(daemon).json("server")["num_free_cores"] < free, "the model holds no core"
        client.kill()
        client.wait()
        # A worker has 10 s to cancel a request, and 10 s more to end.
        eventually(lambda: at(daemon).json("server")["num_free_cores"] == free)
        same(at(daemon).json("models"), [])
        same(at(daemon).json("sessions"), [])
        same(daemon.stop(), 0)


if __name__ == "__main__":
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: a model of two backends needs two cores")
        sys.exit(77)
    sys.exit(prove([
        sigterm_ends_a_daemon_with_a_hung_kernel,
        an_unload_that_hangs_ends_the_daemon_with_a_report,
        a_worker_that_hangs_is_killed_and_the_daemon_lives,
        a_run_that_ignores_its_stop_ends_its_worker_and_the_daemon_lives,
        a_session_that_ends_with_a_hung_kernel_ends_the_daemon_with_a_report,
        a_session_that_ends_with_a_hung_worker_frees_its_cores,
    ]))
