#!/usr/bin/env python3
"""The 99th percentile of a small model's requests while the daemon loads and unloads a large model, beside that without.

    .venv/bin/python bench/serving/beside_load.py             # 400 MB: 3 minutes
    .venv/bin/python bench/serving/beside_load.py --mb 50 --rounds 3 --seconds 1.5

The large model is a package of random weights in the daemon's repository, which is copied, checked and started at each
load, one after the other as long as a turn lasts. A round has a turn with loads and one without, in changing order; the
figures are medians over the rounds, the ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import tritonclient.grpc as grpcclient
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness.daemon import Daemon  # noqa: E402

WIDTH = 1024
LAYER_MB = WIDTH * WIDTH * 4 / 1e6
SMALL, LARGE = "digits", "large"


def write_large(path: Path, mb: float) -> None:
    """Products one after the other, whose weights take `mb`."""
    count = max(1, round(mb / LAYER_MB))
    generator = np.random.default_rng(1)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH]) for name in ("v0", f"v{count}"))
    weights = [numpy_helper.from_array(generator.standard_normal((WIDTH, WIDTH), np.float32) / 32, f"w{i}") for i in range(count)]
    nodes = [helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(count)]
    onnx.save(helper.make_model(helper.make_graph(nodes, LARGE, [x], [y], weights),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Loads:
    """Loads and unloads the large model until the end of a `with` block. `seconds`: of each load."""

    def __init__(self, address: str) -> None:
        self.seconds: list[float] = []
        self._error: Exception | None = None
        self._address = address
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            with grpcclient.InferenceServerClient(self._address) as client:
                while not self._is_over.is_set():
                    start = time.monotonic()
                    client.load_model(LARGE)
                    self.seconds.append(time.monotonic() - start)
                    client.unload_model(LARGE)
        except Exception as error:  # noqa: BLE001 - shown by __exit__
            self._error = error

    def __enter__(self) -> Loads:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self._error is not None:
            raise SystemExit(f"the large model does not load: {self._error}")


@contextlib.contextmanager
def serving(options: argparse.Namespace, folder: Path) -> Iterator[tuple[Daemon, str]]:
    """A daemon that has the small model, and its HTTP."""
    sluice, repository, http = options.build / "bin/sluice", folder / "models", f"unix:{folder}/http.sock"
    repository.mkdir()
    write_large(folder / "large.onnx", options.mb)
    for source, name in ((ROOT / "examples/digits/digits.onnx", SMALL), (folder / "large.onnx", LARGE)):
        subprocess.run([sluice, "compile", source, "-o", folder / f"{name}.sluice"], check=True, stdout=subprocess.DEVNULL)
    (folder / "large.onnx").unlink()
    shutil.move(folder / f"{SMALL}.sluice", repository)
    with Daemon(options.build, folder / "d", "--http", http, "--repository", repository) as daemon:
        with grpcclient.InferenceServerClient(daemon.address) as client:
            client.load_model(SMALL)
        shutil.move(folder / f"{LARGE}.sluice", repository)
        yield daemon, http


def turn(options: argparse.Namespace, address: tuple[str, str]) -> dict[str, float]:
    """The figures of `sluice perf`, whether its windows agreed or not."""
    done = subprocess.run(
        [options.build / "bin/sluice", "perf", SMALL, *address, "--concurrency", str(options.concurrency), "--window",
         str(options.seconds / 3), "--windows", "3", "--stability", "1000", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"sluice perf: {done.stderr or done.stdout}")
    return json.loads(done.stdout)[0]


def measure(options: argparse.Namespace, folder: Path) -> None:
    with serving(options, folder) as (daemon, http):
        for door, address in (("gRPC", ("--grpc", daemon.address)), ("HTTP", ("--http", http))):
            alone, beside, seconds = [], [], []
            for number in range(options.rounds):
                for has_loads in ((False, True) if number % 2 == 0 else (True, False)):
                    if not has_loads:
                        alone.append(turn(options, address))
                        continue
                    with Loads(daemon.address) as loads:
                        beside.append(turn(options, address))
                    seconds += loads.seconds
            ratio = statistics.median(b["p99_us"] / a["p99_us"] for a, b in zip(alone, beside, strict=True))
            p99s, rates = ([statistics.median(one[key] for one in turns) for turns in (alone, beside)]
                           for key in ("p99_us", "inferences_per_second"))
            print(f"{door}, {options.concurrency} clients: 99th percentile {p99s[0]:.0f} us alone, {p99s[1]:.0f} us beside loads, "
                  f"ratio {ratio:.2f}; {rates[0]:.0f} and {rates[1]:.0f} requests/s; {len(seconds)} loads of {options.mb:g} MB, "
                  f"{statistics.median(seconds) * 1000:.0f} ms each", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--mb", type=float, default=400, help="of the large model's weights")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3, help="of a turn")
    parser.add_argument("--concurrency", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
