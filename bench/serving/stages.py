#!/usr/bin/env python3
"""The server's own share of a small request, stage by stage: the network of examples/digits over gRPC and HTTP.

    .venv/bin/python bench/serving/stages.py                 # half a minute
    .venv/bin/python bench/serving/stages.py --concurrency 8

`sluice perf` asks a daemon, whose access log says of each request how long it was read, waited, was copied, was
computed and was answered. "Own" is all but the computing. The time begins where the door has a whole request. It
ends where HTTP has written the answer to the socket; gRPC's ends before its loop frames and sends the answer. Reading
the request from the socket is not in it, nor are the client and the network. The log itself adds microseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness.daemon import Daemon  # noqa: E402

STAGES = ("read", "queue", "copy", "compute", "reply")
COLUMNS = (*STAGES, "own", "total")
DOORS = {"gRPC": "open-inference", "HTTP": "http"}  # and how the log names them
WARM_UP = 100  # requests of a door that do not count


def times_of(lines: list[str], door: str) -> list[dict[str, float]]:
    """Microseconds by column of the answered requests that came by the door, in the order of the lines."""
    found = []
    for line in lines:
        request = json.loads(line)
        if request["door"] != door or request["status"] != "ok" or "queue_ns" not in request:
            continue
        times = {stage: request[f"{stage}_ns"] / 1000 for stage in (*STAGES, "total")}
        found.append({**times, "own": times["total"] - times["compute"]})
    return found


def table(times: dict[str, list[dict[str, float]]]) -> str:
    """The median and the 99th percentile of each column, in microseconds, by door."""
    rows = [f"{'us':20}" + "".join(f"{name:>9}" for name in COLUMNS)]
    for door, requests in times.items():
        columns = [sorted(request[name] for request in requests) for name in COLUMNS]
        for what, figures in (("median", [statistics.median(one) for one in columns]),
                              ("99th", [one[len(one) * 99 // 100] for one in columns])):
            rows.append(f"{door + ', ' + what:20}" + "".join(f"{figure:9.1f}" for figure in figures))
    return "\n".join(rows)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, list[dict[str, float]]]:
    sluice, log, http = options.build / "bin/sluice", folder / "access.log", f"unix:{folder}/http.sock"
    subprocess.run([sluice, "compile", ROOT / "examples/digits/digits.onnx", "-o", folder / "digits.sluice"], check=True,
                   stdout=subprocess.DEVNULL)
    with Daemon(options.build, folder / "d", "-m", "", "--http", http, "--models", folder / "digits.sluice",
                "--access-log", log) as daemon:
        for address in (("--grpc", daemon.address), ("--http", http)):
            subprocess.run([sluice, "perf", "digits", *address, "--window", str(options.seconds / 3), "--windows", "3", "--stability",
                            "1000", "--concurrency", str(options.concurrency)], check=True, stdout=subprocess.DEVNULL)
    lines = log.read_text().splitlines()  # all of them are written when the daemon has ended
    times = {door: times_of(lines, name)[WARM_UP:] for door, name in DOORS.items()}
    for door, requests in times.items():
        if not requests:
            raise SystemExit(f"{door}: fewer than {WARM_UP} requests were answered; give more --seconds")
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=6, help="of load on each door")
    parser.add_argument("--concurrency", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(table(measure(options, Path(folder))))


if __name__ == "__main__":
    main()
