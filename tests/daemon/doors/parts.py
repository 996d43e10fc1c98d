#!/usr/bin/env python3
"""Daemons that share one processor of this machine, which their map divides into devices of a core.

    tests/daemon/doors/parts.py BUILD_FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import BUILD, DIGITS, Daemon, Sluice, at, eventually, holds, prove, same  # noqa: E402


def divided(folder: Path) -> tuple[Path, list[list[int]]]:
    """A map of this machine with a device for each core, four at most, in a chain, and their processors."""
    machine = Sluice().json("ls")
    cores = [core for device in machine["devices"] for core in device["cpus"]][:4]
    whole = machine["devices"][0]
    machine["devices"] = [{**whole, "id": i, "num_cores": 1, "cpus": [core], "caches": []} for i, core in enumerate(cores)]
    machine["links"] = [{"from": i, "to": i + 1, "kind": "numa"} for i in range(len(cores) - 1)]
    path = folder / "parts.json"
    path.write_text(json.dumps(machine))
    return path, cores


def affinities(daemon: Daemon) -> list[str]:
    """Where its threads may run."""
    said = subprocess.run(["taskset", "-acp", str(daemon.process.pid)], capture_output=True, text=True, check=False).stdout
    return [line.rpartition(": ")[2] for line in said.splitlines()]


def daemons_share_a_processor_by_parts(folder: Path) -> None:
    parts, cores = divided(folder)
    if len(cores) < 2:
        print("(one core: nothing to divide)")
        return
    package = str(folder / "digits.sluice")
    Sluice().text("compile", str(DIGITS), "-o", package)
    locks = folder / "locks"

    def part(i: int) -> Daemon:
        return Daemon(folder / f"d{i}", "-m", str(parts), "-t", str(i), "--lock-folder", str(locks), is_simulated=False)

    daemons = [part(i) for i in range(len(cores))]
    try:
        for daemon in daemons:
            daemon.start()
        for i, daemon in enumerate(daemons):
            same([one["num_cores"] for one in at(daemon).json("capacity")["devices"]], [1])
            at(daemon).text("load", package)
            at(daemon).text("infer", "digits", "--input", "image=random", "--repeat", "10")
            only = ",".join(map(str, cores[i]))
            others = {",".join(map(str, core)) for core in cores} - {only}
            eventually(lambda: only in affinities(daemon), why=lambda: str(affinities(daemon)))
            same(others.intersection(affinities(daemon)), set())
        refused = subprocess.run([str(BUILD / "bin/sluiced"), "-m", str(parts), "-t", "0", "--lock-folder", str(locks), "-g",
                                  f"unix:{folder / 's'}"], capture_output=True, text=True, check=False)
        same(refused.returncode, 1)
        holds(refused.stderr, "device 0 is served by sluiced")
        daemons[0].kill()
        for daemon in daemons[1:]:
            at(daemon).text("infer", "digits", "--input", "image=random", "--repeat", "10")
    finally:
        for daemon in daemons:
            if hasattr(daemon, "process"):
                daemon.__exit__()


def one_daemon_serves_all_parts(folder: Path) -> None:
    parts, cores = divided(folder)
    with Daemon(folder / "d", "-m", str(parts), is_simulated=False) as daemon:
        same([one["kind"] for one in at(daemon).json("capacity")["devices"]], ["cpu"] * len(cores))
        for i in range(len(cores)):
            links = ",".join(str(j) for j in (i - 1, i + 1) if 0 <= j < len(cores))
            holds(daemon.said(), f'device.ready device={i} kind=cpu ')
            [line] = [line for line in daemon.said().splitlines() if f"device.ready device={i} " in line]
            assert line.endswith(f'cores=1 links="{links}"'), line


if __name__ == "__main__":
    sys.exit(prove([daemons_share_a_processor_by_parts, one_daemon_serves_all_parts]))
