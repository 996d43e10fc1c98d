#!/usr/bin/env python3
"""Requests per second of one, two and three hosts behind HAProxy, for an MLP and MobileNetV2.

    sudo PYTHONPATH=build/release/python .venv/bin/python bench/scale/spread.py [--share 0.1] [--seconds 10] [--rounds 3]

A host is a network namespace with a `sluiced` that a control group holds to a share of one processor, so that three hosts,
HAProxy and the load generator fit on two. The figures say how well requests are spread, and nothing of a machine's speed.
`of linear` is the rate over that of one host, divided by the number of hosts. Requests go over HTTP in a closed loop,
`--in-flight` for each host. Numbers of hosts take turns, and the table has the medians of the rounds. Beside each stand
the share of the time in which processors were idle, and whether the load generator was at its limit: a row without idle
time shows the limit of the test machine. Needs root, haproxy and iproute2. Exits 1 below 0.9 of linear.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("bench", "bench/models", "python/tests/cluster", "tests/support")]

import make  # noqa: E402
import pytest  # noqa: E402
from eventually import eventually  # noqa: E402
from harness import sluice_cli  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from hosts import Host, hosts  # noqa: E402

NETWORKS = ("mlp", "mobilenetv2")
GOAL = 0.9
PERIOD_US = 20_000  # in which a host gets its share: short beside a request's time
HTTP, AGENT, FRONT = 8000, 8003, 8080


class ShareOfProcessor:
    """A control group, version 1 or 2, below that of this process."""

    def __init__(self, name: str, share: float) -> None:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        old = [path for _, kinds, path in lines if "cpu" in kinds.split(",")]
        new = [path for _, kinds, path in lines if not kinds]
        quota_us = int(share * PERIOD_US)
        outer = Path("/sys/fs/cgroup/cpu") / old[0].lstrip("/") if old else Path("/sys/fs/cgroup") / new[0].lstrip("/")
        self.path = outer / f"sluice-{name}-{os.getpid()}"
        self.path.mkdir()
        if old:
            (self.path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.path / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (self.path / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")

    def take(self, process: int) -> None:
        (self.path / "cgroup.procs").write_text(str(process))

    def close(self) -> None:
        def is_gone() -> bool:
            with contextlib.suppress(OSError):
                self.path.rmdir()
            return not self.path.exists()

        eventually(is_gone)  # not before the kernel has buried its processes


@contextlib.contextmanager
def serving(places: Sequence[Host], build: Path, package: Path, share: float) -> Iterator[None]:
    """A daemon on each host, held to its share once it has the model."""
    with contextlib.ExitStack() as stack:
        for i, place in enumerate(places):
            group = ShareOfProcessor(f"host{i}", share)
            stack.callback(group.close)
            flags = ["--http", f"{place.address}:{HTTP}", "--agent-check", f"{place.address}:{AGENT}", "--listen-plain",
                     "--http-hosts", "*", "--models", package]
            words = place.words("taskset", "--cpu-list", str(i % (os.cpu_count() or 1)))
            daemon = stack.enter_context(Daemon(build, package.parent / f"host{i}", *flags, before=words))
            group.take(daemon.process.pid)
        yield


def states(stats: Path) -> list[str]:
    """HAProxy's of the hosts that take requests without state."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(stats))
        connection.sendall(b"show stat\n")
        header, *lines = connection.makefile().read().strip().lstrip("# ").splitlines()
        rows = [dict(zip(header.split(","), line.split(","))) for line in lines]
        return [row["status"] for row in rows if row["pxname"] == "http_stateless" and row["svname"].startswith("n")]
    return []


@contextlib.contextmanager
def balanced(places: Sequence[Host], folder: Path) -> Iterator[str]:
    """HAProxy before the hosts; its address."""
    front, stats = f"127.0.0.1:{FRONT}", folder / "stats.sock"
    nodes = [f"{place.address},http={HTTP},agent={AGENT}" for place in places]
    text = subprocess.run([sys.executable, "-m", "sluice.cluster", "haproxy", *nodes, "--http", front], check=True,
                          capture_output=True, text=True).stdout
    (folder / "haproxy.cfg").write_text(text.replace("global\n", f"global\n    stats socket {stats} level admin\n", 1))
    haproxy = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if haproxy is None:
        raise SystemExit("haproxy is not installed")
    process = subprocess.Popen([haproxy, "-db", "-f", folder / "haproxy.cfg"])
    try:
        eventually(lambda: states(stats) == ["UP"] * len(places), why=lambda: str(states(stats)))
        yield front
    finally:
        process.kill()
        process.wait()


def processor_times() -> tuple[int, int]:
    """Idle time and all time of the processors, since the start of the machine."""
    times = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return times[3] + times[4], sum(times)


def measure(build: Path, name: str, front: str, in_flight: int, seconds: float) -> dict:
    """A row of `sluice perf`, with the share of idle time."""
    before = processor_times()
    done = subprocess.run([build / "bin/sluice", "perf", name, "--http", front, "--concurrency", str(in_flight), "--window",
                           str(seconds / 3), "--windows", "3", "--json"], stdout=subprocess.PIPE, text=True)
    after = processor_times()
    if not done.stdout:
        raise SystemExit(f"sluice perf {name}: {done.returncode}")
    [row] = json.loads(done.stdout)
    if row["failed"]:
        raise SystemExit(f"{name}: {row['failed']} requests failed")
    return {**row, "idle": (after[0] - before[0]) / (after[1] - before[1])}


def measure_network(name: str, options: argparse.Namespace, folder: Path) -> list[list[dict]]:
    """By number of hosts: a row of each round."""
    make.write(name, folder)
    package = sluice_cli.compile_model(folder / f"{name}.onnx", folder / f"{name}.sluice")
    rows: list[list[dict]] = [[] for _ in range(options.hosts)]
    with hosts(options.hosts) as places, serving(places, options.build, package, options.share):
        for _ in range(options.rounds):
            for count in range(1, options.hosts + 1):
                with balanced(places[:count], folder) as front:
                    rows[count - 1].append(measure(options.build, name, front, options.in_flight * count, options.seconds))
    return rows


def table_of(name: str, rows: list[list[dict]]) -> tuple[list[str], float]:
    """Lines of the table, and the least share of linear."""
    def median(count: int, value: Callable[[dict], float]) -> float:
        return statistics.median(value(row) for row in rows[count - 1])

    lines, least = [], 1.0
    for count in range(1, len(rows) + 1):
        rate = median(count, lambda row: row["inferences_per_second"])
        linear = rate / median(1, lambda row: row["inferences_per_second"]) / count
        least = min(least, linear)
        limited = sum(bool(row["generator_limit"]) for row in rows[count - 1])
        lines.append(f"| {name} | {count} | {rate:.1f} | {linear:.2f} | {median(count, lambda row: row['p99_us']) / 1e3:.1f} | "
                     f"{100 * median(count, lambda row: row['idle']):.0f} | {limited} of {len(rows[count - 1])} |")
    return lines, least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.1, help="of a processor, for a host (default: %(default)s)")
    parser.add_argument("--hosts", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--in-flight", type=int, default=8, help="requests, for each host (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--network", action="append", choices=NETWORKS, help="default: both (repeatable)")
    parser.add_argument("--build", type=lambda path: Path(path).resolve(), default=ROOT / "build/release")
    options = parser.parse_args()
    lines, least = [], 1.0
    for name in options.network or NETWORKS:
        with tempfile.TemporaryDirectory(prefix="sluice-spread-") as folder:
            more, of_linear = table_of(name, measure_network(name, options, Path(folder)))
        lines += more
        least = min(least, of_linear)
    print(f"{options.share:g} of a processor for each host; {os.cpu_count()} processors for hosts, HAProxy and generator\n")
    print("| network | hosts | requests/s | of linear | p99, ms | idle, % | rounds at the generator's limit |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    print("\n".join(lines))
    return 0 if least >= GOAL else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pytest.skip.Exception as why:
        raise SystemExit(f"spread.py: {why}") from None
