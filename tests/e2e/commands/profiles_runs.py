#!/usr/bin/env python3
"""`sluice run` writes a profile as table, trace and picture; all three contain every step."""

from __future__ import annotations

import json
import os
import sys
import xml.etree.ElementTree as xml
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import ROOT, run_cases  # noqa: E402

from harness.sluice_cli import compile_model, run_command  # noqa: E402

DIGITS = ROOT / "examples/digits/digits.onnx"
SVG = "{http://www.w3.org/2000/svg}"


def profiled(package: Path, folder: Path, *options: str) -> tuple[str, list[dict], list[str]]:
    """The table, the slices of the trace, and the titles of the picture."""
    table = run_command("run", package, "--input", "image=zeros", "--shape", "image=1,1,8,8", "--profile", "--timeline",
                        folder / "run.json", "--flame", folder / "run.svg", "--output-dir", folder, *options)
    events = json.loads((folder / "run.json").read_text())["traceEvents"]
    boxes = xml.parse(folder / "run.svg").getroot().iter(f"{SVG}title")
    return table, [event for event in events if event["ph"] == "X"], [box.text for box in boxes]


def steps_are_everywhere(folder: Path) -> str:
    package = compile_model(DIGITS, folder / "digits.sluice")
    for executor in ("linear", "parallel"):
        table, slices, titles = profiled(package, folder, "--executor", executor)
        names = [event["name"] for event in slices]
        for node in ("conv1", "conv2", "fc", "softmax"):
            if node not in table:
                return f"{executor}: the table lacks {node}"
            if not any(node in name for name in names):
                return f"{executor}: the trace lacks {node}: {names}"
            if not any(node in title for title in titles):
                return f"{executor}: the picture lacks {node}"
        if len(slices) != len(titles) or any(event["dur"] < 0 for event in slices):
            return f"{executor}: {len(slices)} slices, {len(titles)} boxes"
    return ""


def each_device_has_a_stream(folder: Path) -> str:
    os.environ["SLUICE_SIM"] = '{"devices": [{"count": 2, "host_memory": false}]}'
    options = ["--place", "conv1=sim", "--place", "conv2=sim:1"]
    package = compile_model(DIGITS, folder / "split.sluice", options=options)
    profiled(package, folder)
    events = json.loads((folder / "run.json").read_text())["traceEvents"]
    threads = {event["args"]["name"].split(" ")[0] for event in events if event["ph"] == "M"}
    return "" if threads == {"cpu:0", "sim:0", "sim:1"} else f"streams are {threads}"


CASES: dict[str, Callable[[Path], str]] = {
    "table, trace and picture": steps_are_everywhere,
    "streams of two devices and the host": each_device_has_a_stream,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
