#!/usr/bin/env python3
"""`sluice perf` against a sluiced over gRPC and HTTP, and in process.

    tests/daemon/doors/perf.py BUILD_FOLDER
"""

import csv
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import DIGITS, Daemon, Sluice, at, compile_digits, holds, prove, same  # noqa: E402

QUICK = ("--window", "0.2", "--windows", "3")
LOAD = ("concurrency", "rate")


def serving(folder: Path) -> Daemon:
    return Daemon(folder / "d", "--http", "localhost:0", "-g", "localhost:0")


def addresses(daemon: Daemon) -> dict[str, str]:
    [grpc] = [address for address in daemon.addresses if address.startswith("localhost:")]
    return {"--grpc": grpc, "--http": daemon.door("http")}


def measured(*arguments: str) -> list[dict]:
    """The rows; a machine that does other work is not stable, so the exit code may be 1."""
    done = Sluice().run("perf", *arguments, *QUICK, "--json")
    assert done.returncode in (0, 1) and done.stdout, done
    rows = json.loads(done.stdout)
    for row in rows:
        assert row["failed"] == 0 and row["answered"] > 0, row
        assert 0 < row["p50_us"] <= row["p99_us"], row
        assert done.returncode == 1 or row["stable"], row
    return rows


def closed_and_open_loops_run_over_each_door(folder: Path) -> None:
    package = str(compile_digits(folder))
    with serving(folder) as daemon:
        at(daemon).text("load", package)
        for door, address in addresses(daemon).items():
            closed = measured("digits", door, address, "--concurrency", "1:3:2")
            same([[row[key] for key in LOAD] for row in closed], [[1, None], [3, None]])
            [row] = measured("digits", door, address, "--rate", "100", "--poisson")
            same([row[key] for key in LOAD], [None, 100])


def figures_are_a_table_and_csv(folder: Path) -> None:
    package = str(compile_digits(folder))
    with serving(folder) as daemon:
        at(daemon).text("load", package)
        table = Sluice().run("perf", "digits", "--http", addresses(daemon)["--http"], *QUICK, "--concurrency", "1,2",
                             "--csv", str(folder / "figures.csv")).stdout
        holds(table, "LOAD  INFER/S")
        with (folder / "figures.csv").open() as file:
            rows = list(csv.DictReader(file))
        same([row["concurrency"] for row in rows], ["1", "2"])
        assert all(float(row["inferences_per_second"]) > 0 for row in rows), rows


def a_short_timeout_is_of_requests_alone(folder: Path) -> None:
    """What asks for the model's inputs before them waits as long as a connection may take."""
    package = str(compile_digits(folder))
    with serving(folder) as daemon:
        at(daemon).text("load", package)
        for door, address in addresses(daemon).items():
            done = Sluice().run("perf", "digits", door, address, "--timeout", "0.000001", *QUICK, "--json")
            assert done.stdout, done
            [row] = json.loads(done.stdout)
            assert row["answered"] + row["failed"] > 0, row


def generators_own_limit_is_named(_: Path) -> None:
    """Nothing sends a billion requests a second."""
    done = Sluice().run("perf", str(DIGITS), "--in-process", "--rate", "1000000000", *QUICK)
    holds(done.stdout, "the load generator was the bottleneck: requests left")


def models_run_in_process(_: Path) -> None:
    [row] = measured(str(DIGITS), "--in-process")
    same(row["concurrency"], 1)


def errors_say_what_to_do(folder: Path) -> None:
    sluice = Sluice()
    with serving(folder) as daemon:
        for door, address in addresses(daemon).items():
            holds(sluice.refusal("perf", "nobody", door, address), "nobody")
    holds(sluice.refusal("perf", "digits", "--http", f"unix:{folder}/none"), "none: the server: No such file")
    holds(sluice.refusal("perf", "digits", "--concurrency", "0"), "1:16:5")
    holds(sluice.refusal("perf", "digits", "--http", "localhost:1", "--ca", "x"), 'cannot open "x"')


if __name__ == "__main__":
    sys.exit(prove([closed_and_open_loops_run_over_each_door, figures_are_a_table_and_csv,
                    a_short_timeout_is_of_requests_alone, generators_own_limit_is_named, models_run_in_process,
                    errors_say_what_to_do]))
