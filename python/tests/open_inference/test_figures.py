"""Figures of a server: `bench/serving.py` shows stored ones, and scripts of `bench/serving` measure a daemon."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

pytest.importorskip("onnx")
pytest.importorskip("tritonclient.grpc")

BENCH = pathlib.Path(__file__).resolve().parents[3] / "bench"
OURS, THEIRS = "#2a78b5", "#6b7280"


def run(*words: object) -> str:
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, check=True).stdout


def build() -> pathlib.Path:
    """The build folder whose programs the tests run."""
    return pathlib.Path(os.environ["SLUICE_PROGRAM"]).parents[1]


def figures(rate: float, p99_us: float) -> dict[str, float]:
    return {"inferences_per_second": rate, "p50_us": p99_us / 2, "p99_us": p99_us}


def test_stored_figures_are_a_table_and_bars(tmp_path: pathlib.Path) -> None:
    rows = [{"network": "mlp", "protocol": protocol, "concurrency": 8,
             "servers": {"Sluice": figures(2000, 500), "tritonserver": figures(rate, 1000)}}
            for protocol, rate in (("gRPC", 1000), ("HTTP", 500))]
    (tmp_path / "figures.json").write_text(json.dumps(rows))
    text = run(BENCH / "serving.py", "--from", tmp_path / "figures.json", "--plot", tmp_path / "figures.svg")
    assert "| mlp | gRPC | 8 | 2,000 | 0.50 | 1,000 | 1.00 |" in text
    assert "Sluice beside tritonserver: 2.83 times the requests (at least 2.00), 0.50 of the 99th" in text

    picture = xml.parse(tmp_path / "figures.svg").getroot()
    bars = [box for box in picture.iter("{http://www.w3.org/2000/svg}rect") if box.get("height") == "12.0"]
    assert [box.get("fill") for box in bars] == [OURS, THEIRS] * 4
    widths = [float(box.get("width", 0)) for box in bars]
    ratios = [theirs / ours for ours, theirs in zip(widths[::2], widths[1::2])]
    assert ratios == pytest.approx([0.5, 2, 0.25, 2], rel=0.01), "rate and percentile over gRPC, then over HTTP"
    words = [str(one.text) for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"mlp", "Sluice", "tritonserver", "gRPC, 8", "HTTP, 8", "2,000", "0.50"} <= set(words)


def test_stages_of_requests_add_up() -> None:
    head, *rows = run(BENCH / "serving" / "stages.py", "--build", build(), "--seconds", 0.9).splitlines()
    names = head.split()[1:]
    assert [row.split("  ")[0] for row in rows] == ["gRPC, median", "gRPC, 99th", "HTTP, median", "HTTP, 99th"]
    for row in rows:
        times = dict(zip(names, map(float, row.split()[2:]), strict=True))
        assert all(times[name] > 0 for name in ("read", "queue", "compute", "reply", "own")), row
        assert max(times[name] for name in names if name != "total") <= times["total"], row


def test_loads_stand_beside_requests() -> None:
    text = run(BENCH / "serving" / "beside_load.py", "--build", build(), "--mb", 8, "--rounds", 1, "--seconds", 0.6)
    lines = [re.match(r"(gRPC|HTTP), 1 clients: 99th percentile (\d+) us alone, (\d+) us beside loads, ratio ([\d.]+); .*; "
                      r"(\d+) loads of 8 MB, \d+ ms each$", line) for line in text.splitlines()]
    assert [line and line[1] for line in lines] == ["gRPC", "HTTP"], text
    for line in lines:
        alone, beside, ratio, loads = (float(line[i]) for i in range(2, 6))
        assert loads >= 1 and alone > 0, text
        least, most = (beside - 0.5) / (alone + 0.5), (beside + 0.5) / (alone - 0.5)
        assert least - 0.01 <= ratio <= most + 0.01, f"of one round, whose figures are rounded: {text}"
