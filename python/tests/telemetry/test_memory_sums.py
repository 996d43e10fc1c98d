"""What clients make a daemon hold: `sluice stats` and /metrics say the same, and it is what they made."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import urllib.request

import daemon as daemons
import numpy as np
import sluice
from conftest import eventually, make_model
from onnx import TensorProto, helper

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
SHARE = 0.1  #: by which a sum may be off


def by_stats(served: daemons.Daemon) -> tuple[float, dict[str, float]]:
    """All, and by kind."""
    done = subprocess.run([os.environ["SLUICE_PROGRAM"], "stats", "--address", served.address],
                          capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("memory: "))
    total, *parts = [(kind, float(number) * UNITS[unit])
                     for kind, number, unit in re.findall(r"(\w+):? ([\d.]+) (B|KiB|MiB|GiB)(?: of)?", line)]
    assert total[0] == "memory"
    return total[1], dict(parts)


def by_metrics(served: daemons.Daemon) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{served.http}/metrics") as answer:
        text = answer.read().decode()
    return {kind: float(value) for kind, value in re.findall(r'^sluice_memory_bytes\{category="(\w+)"\} (\S+)$',
                                                             text, re.MULTILINE)}


def near(one: float, other: float) -> bool:
    return abs(one - other) <= SHARE * max(one, other)


def test_sums_are_what_clients_made(tmp_path: pathlib.Path) -> None:
    weights = np.random.default_rng(0).random((1024, 2048), np.float32)
    package = sluice.compile(make_model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                                        [("x", TensorProto.FLOAT, [1, 1024])],
                                        [("y", TensorProto.FLOAT, [1, 2048])], {"w": weights}))
    package.save(tmp_path / "dense.sluice")
    size = (tmp_path / "dense.sluice").stat().st_size
    tensor = np.ones(4 << 20, np.float32)
    with daemons.running(tmp_path, "--http", "localhost:0") as served:
        before = by_metrics(served)
        with sluice.Client(served.address) as client:
            model = client.load(package)
            model(np.ones((1, 1024), np.float32))
            kept = client.put(tensor)
            held = by_metrics(served)
            assert near(held["packages"] - before["packages"], size)
            assert near(held["exchange"] - before["exchange"], tensor.nbytes)
            total, kinds = by_stats(served)
            assert near(total, sum(kinds.values())) and near(total, sum(held.values()))
            assert near(kinds["packages"], held["packages"]) and near(kinds["exchange"], held["exchange"])
            kept.remove()
            model.unload()
            eventually(lambda: by_metrics(served)["packages"] == before["packages"])
            assert by_metrics(served)["exchange"] == before["exchange"]
