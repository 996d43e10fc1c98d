#!/usr/bin/env python3
"""`sluice plan`: a calibration by a sluiced, and plans from it.

    tests/daemon/doors/plan.py BUILD_FOLDER
"""

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Daemon, Sluice, at, compile_digits, holds, prove, same  # noqa: E402

MS = 1_000_000
#: A run takes 10 ms, and what was simulated is what was measured.
FIGURES = {"p50_ns": 10 * MS, "p99_ns": 20 * MS, "shed_per_million": 0}
MODEL = {"name": "m", "compute": [{"from_ns": 1 << 23, "count": 100}], "compute_ns": 9 * MS, "row_times": [],
         "gap_ns": MS, "request_ns": 0, "overhead_ns": 0, "depth": 2, "queue_limit": 128, "batch_rows": 1, "max_delay_ns": 0,
         "memory_bytes": 1 << 20, "load_ns": 500 * MS,
         "runs": [{"requests_per_million_seconds": 10**7, "deadline_ns": 0, "num_requests": 100, "seed": 1,
                   "measured": FIGURES, "simulated": FIGURES}]}


def hold(text: str, *parts: str) -> None:
    for part in parts:
        holds(text, part)


def calibration(folder: Path, **changes: object) -> str:
    path = folder / "m.plan"
    path.write_text(json.dumps({"format": "sluice.plan.2", "models": [{**MODEL, **changes}]}))
    return str(path)


def plan(file: str, *arguments: str) -> dict:
    done = Sluice().run("plan", file, *arguments, "--json")
    assert done.stdout, done
    return json.loads(done.stdout)


def model_of_a_daemon_is_calibrated(folder: Path) -> None:
    """How well a busy machine is repeated is not told here: the exit code may be 1."""
    package = str(compile_digits(folder))
    file = folder / "digits.plan"
    with Daemon(folder / "d") as daemon:
        at(daemon).text("load", package)
        done = at(daemon).run("plan", str(file), "--calibrate", "digits", "--seconds", "0.9", "--loads", "0.2,0.4")
        assert done.returncode in (0, 1) and done.stdout, done
        hold(done.stdout, "measured", "simulated", "calibration error")
        [model] = json.loads(file.read_text())["models"]
        same(model["name"], "digits")
        same([run["seed"] for run in model["runs"]], [1, 2])
        assert model["compute"] and model["compute_ns"] > 0, model
        hold(at(daemon).refusal("plan", str(file), "--calibrate", "nobody"), "nobody")
    rows = plan(str(file), "--rate", "100", "--seconds", "2", "--machines", "1,2", "--uncalibrated")["rows"]
    same([row["machines"] for row in rows], [1, 2])


def calibrated(daemon: Daemon, file: Path, model: str, *options: str) -> dict:
    """A quick look, of loads that any machine bears; what it wrote of the model."""
    done = at(daemon).run("plan", str(file), "--calibrate", model, "--seconds", "0.9", "--loads", "0.2", *options)
    assert done.returncode in (0, 1) and done.stdout, done
    [found] = [one for one in json.loads(file.read_text())["models"] if one["name"] == model]
    return found


def joined_rows_and_another_door_are_calibrated(folder: Path) -> None:
    """One file has both models, and one plan serves them."""
    package = str(compile_digits(folder))
    file = folder / "digits.plan"
    with Daemon(folder / "d", "--http", "localhost:0") as daemon:
        at(daemon).text("load", package, "--name", "alone")
        at(daemon).text("load", package, "--name", "joined", "--batch-rows", "6", "--max-delay", "0.002")
        http = ["--http", daemon.door("http")]
        alone = calibrated(daemon, file, "alone", *http)
        same((alone["batch_rows"], alone["row_times"], alone["request_ns"]), (1, [], 0))
        for door in ([], http):
            joined = calibrated(daemon, file, "joined", "--batch-rows", "6", "--max-delay", "0.002", *door)
            same([time["rows"] for time in joined["row_times"]], [1, 2, 4])
            same((joined["batch_rows"], joined["max_delay_ns"]), (6, 2 * MS))
        hold(at(daemon).refusal("plan", str(file), "--calibrate", "alone", "--seconds", "0.9", "--batch-rows", "6"),
             "joined no requests")
        hold(at(daemon).refusal("plan", str(file), "--calibrate", "joined", "--seconds", "0.9"), "add --batch-rows")
    trace = folder / "requests.csv"
    trace.write_text("arrival_s,model\n" + "".join(f"{i / 50},{name}\n" for i in range(20) for name in ("alone", "joined")))
    [row] = plan(str(file), "--trace", str(trace), "--machines", "1", "--uncalibrated")["rows"]
    same(row["answered"] + row["failed"], 40)


def fewest_machines_are_found(folder: Path) -> None:
    found = plan(calibration(folder), "--rate", "500", "--seconds", "20", "--p99", "0.05")
    assert 5 < found["fewest_machines"] < 10, found
    assert found["is_simulated"] and found["is_calibrated"], found
    table = Sluice().run("plan", calibration(folder), "--rate", "500", "--seconds", "20", "--machines", "1:9:4").stdout
    hold(table, "MACHINES", "simulated; calibration error 0.0 %", "500/s for 20 s", "seed 1")


def uncalibrated_model_is_refused(folder: Path) -> None:
    off = [{**MODEL["runs"][0], "simulated": {**FIGURES, "p99_ns": 30 * MS}}]
    file = calibration(folder, runs=off)
    hold(Sluice().refusal("plan", file, "--rate", "10"), "off by 50 %", "--uncalibrated")
    done = Sluice().run("plan", file, "--rate", "10", "--uncalibrated")
    hold(done.stdout, "calibration error 50.0 %, UNCALIBRATED")
    hold(Sluice().refusal("plan", calibration(folder, runs=[]), "--rate", "10"), "off by 100 %")


def requests_of_a_trace_are_simulated(folder: Path) -> None:
    trace = folder / "requests.csv"
    trace.write_text("arrival_s,model\n" + "".join(f"{i / 50},m\n" for i in range(200)))
    one = plan(calibration(folder), "--trace", str(trace), "--machines", "1", "--link", "0.1")
    same(one["rows"][0]["answered"], 200)
    assert 205 * MS < one["rows"][0]["p50_ns"] < 215 * MS, one
    trace.write_text("arrival_s,model\n0,m\n1,other\n")
    hold(Sluice().refusal("plan", calibration(folder), "--trace", str(trace)), '"other"', "--stand-in")
    same(plan(calibration(folder), "--trace", str(trace), "--stand-in", "m")["stand_ins"], 1)


def failures_and_memory_count(folder: Path) -> None:
    failing = plan(calibration(folder), "--rate", "50", "--seconds", "100", "--machines", "3", "--failures", "5",
                   "--restart", "1", "--memory", "2m", "--models", "4", "--route", "model")["rows"][0]
    assert failing["failures"] > 10 and failing["loads"] > 10, failing
    same(failing["answered"] + failing["failed"] > 4000, True)


def plan_is_drawn(folder: Path) -> None:
    svg = folder / "plan.svg"
    plan(calibration(folder), "--rate", "500", "--seconds", "5", "--p99", "0.05", "--svg", str(svg))
    text = "".join(ElementTree.parse(svg).getroot().itertext())
    hold(text, "p99", "calibration error 0.0 %", "seed 1", "goal")


def bad_files_are_named(folder: Path) -> None:
    sluice = Sluice()
    hold(sluice.refusal("plan", str(folder / "none"), "--rate", "1"), "none")
    (folder / "cut").write_text('{"format": "sluice.plan.2", "models": [')
    hold(sluice.refusal("plan", str(folder / "cut"), "--rate", "1"), "cut", "not JSON")
    hold(sluice.refusal("plan", calibration(folder, depth=-1), "--rate", "1"), "models[0].depth")
    (folder / "trace").write_text("arrival_s,model\n0,m\nx,m\n")
    hold(sluice.refusal("plan", calibration(folder), "--trace", str(folder / "trace")), "line 3: arrival_s")
    hold(sluice.refusal("plan", calibration(folder)), "--rate or --trace")
    hold(sluice.refusal("plan", calibration(folder), "--rate", "1e9"), "fewer seconds")
    hold(sluice.refusal("plan", calibration(folder), "--rate", "1", "--machines", "0.5"), "whole numbers")


if __name__ == "__main__":
    sys.exit(prove([model_of_a_daemon_is_calibrated, joined_rows_and_another_door_are_calibrated, fewest_machines_are_found,
                    uncalibrated_model_is_refused, requests_of_a_trace_are_simulated, failures_and_memory_count, plan_is_drawn,
                    bad_files_are_named]))
