#!/usr/bin/env python3
"""What tracing costs: a daemon without it, and daemons that trace 1 % and all requests, in turn.

Each daemon serves the network of examples/digits, whose runs take microseconds, so that what the daemon adds
shows at its largest. `sluice perf` loads one daemon after the other, for short turns; a round has a turn of each,
and a change of the machine's speed affects all of them. Counted are the processor time of the daemon's process per
request, which other work on the machine changes little, and the requests per second. Both are medians over the
rounds; the ratio is the median of the rounds' ratios. The collector is a process of its own that reads and drops.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import socketserver
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness.daemon import Daemon  # noqa: E402

#: What is compared with the first one.
CONFIGURATIONS = {"no tracing": [],
                  "1 %": ["--trace-rate", "100"],
                  "1 % and slow ones": ["--trace-rate", "100", "--trace-slower-ms", "60000"],
                  "all": ["--trace-rate", "1"],
                  "access log": []}


class Sink(socketserver.StreamRequestHandler):
    """A collector that takes everything."""

    def handle(self) -> None:
        while self.rfile.readline():
            size = 0
            while (line := self.rfile.readline().strip()):
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            self.rfile.read(size)
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def collect(port: Any) -> None:
    with socketserver.ThreadingTCPServer(("localhost", 0), Sink) as server:
        server.daemon_threads = True
        port.send(server.server_address[1])
        server.serve_forever()


class Traced(Daemon):
    """Serves the model over HTTP, too."""

    def __init__(self, build: Path, model: Path, folder: Path, flags: list[str]) -> None:
        self._sluice = build / "bin/sluice"
        self._http = f"unix:{folder}/http.sock"
        super().__init__(build, folder, "-m", "", "--http", self._http, "--models", model, *flags)

    def processor_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def turn(self, seconds: float, concurrency: int) -> tuple[float, float]:
        """Processor time of a request in microseconds, and requests per second."""
        before = self.processor_s()
        said = subprocess.run(
            [self._sluice, "perf", "digits", "--http", self._http, "--window", str(seconds / 3), "--windows", "3",
             "--stability", "1000", "--concurrency", str(concurrency), "--json"],
            check=True, capture_output=True, text=True).stdout
        figures = json.loads(said)[0]
        return (self.processor_s() - before) * 1e6 / figures["answered"], figures["inferences_per_second"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.4, help="of a turn")
    parser.add_argument("--concurrency", type=int, default=2)
    arguments = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    collector = multiprocessing.Process(target=collect, args=(theirs,), daemon=True)
    collector.start()
    traced = ["--otlp", f"http://localhost:{ours.recv()}"]
    with tempfile.TemporaryDirectory() as made, contextlib.ExitStack() as running:
        folder = Path(made)
        model = folder / "digits.sluice"
        subprocess.run([arguments.build / "bin/sluice", "compile", ROOT / "examples/digits/digits.onnx", "-o", model], check=True,
                       stdout=subprocess.DEVNULL)
        daemons = {}
        for number, (name, flags) in enumerate(CONFIGURATIONS.items()):
            more = traced if flags else []
            if name == "access log":
                more = ["--access-log", str(folder / "access.log")]
            daemons[name] = running.enter_context(Traced(arguments.build, model, folder / str(number), [*flags, *more]))
        turns: dict[str, list[tuple[float, float]]] = {name: [] for name in daemons}
        for _ in range(arguments.rounds + 1):
            for name, daemon in daemons.items():
                turns[name].append(daemon.turn(arguments.seconds, arguments.concurrency))
    plain = turns["no tracing"][1:]  # the first round warms up
    print(f"{'':20}{'us of processor':>17}{'ratio':>8}{'requests/s':>12}{'ratio':>8}")
    for name, all_of_it in turns.items():
        rounds = all_of_it[1:]
        medians = [statistics.median(one[i] for one in rounds) for i in (0, 1)]
        ratios = [statistics.median(one[i] / base[i] for one, base in zip(rounds, plain, strict=True)) for i in (0, 1)]
        print(f"{name:20}{medians[0]:17.2f}{ratios[0]:8.3f}{medians[1]:12.0f}{ratios[1]:8.3f}")


if __name__ == "__main__":
    main()
