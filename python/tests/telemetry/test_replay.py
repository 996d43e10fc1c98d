"""Requests that a daemon records, and `sluice perf --replay`, which sends them to another one."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import daemon as daemons
import numpy as np
import sluice
from conftest import DIGITS, eventually, whole_lines


def sizes(path: pathlib.Path) -> int:
    return path.stat().st_size if path.exists() else 0


def replay(model: str, address: str, path: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([os.environ["SLUICE_PROGRAM"], "perf", model, "--http", address, "--replay", path, "--json"],
                          capture_output=True, text=True)


def test_recorded_requests_go_to_another_daemon(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "digits.sluice"
    sluice.compile(DIGITS).save(package)
    traffic = tmp_path / "traffic"
    images = [np.full((count, 1, 8, 8), count, np.float32) for count in (1, 2, 3)]
    with daemons.running(tmp_path, "--models", str(package), "--record", str(traffic)) as served:
        with sluice.Client(served.address) as client:
            for image in images:
                client.find("digits")(image)
        eventually(lambda: sizes(traffic) > sum(image.nbytes for image in images))
    assert traffic.stat().st_mode & 0o777 == 0o600
    access = tmp_path / "access.log"
    with daemons.running(tmp_path, "--http", "localhost:0", "--models", str(package),
                         "--access-log", str(access)) as other:
        done = replay("digits", other.http, traffic)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[0]["answered"] == len(images)

        def arrived() -> list[int]:
            lines = [json.loads(line) for line in whole_lines(access)]
            return [line["bytes_in"] for line in lines if line.get("call") == "POST /v2/models/digits/infer"]

        # One more goes ahead, to see that the server answers. Requests on connections of their own may overtake others.
        eventually(lambda: sorted(arrived()) == sorted([images[0].nbytes, *(image.nbytes for image in images)]),
                   why=lambda: str(arrived()))
        missing = replay("other", other.http, traffic)
        assert missing.returncode != 0


def test_recording_outlives_the_next_daemon(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "digits.sluice"
    sluice.compile(DIGITS).save(package)
    traffic = tmp_path / "traffic"
    flags = ("--models", str(package), "--record", str(traffic))
    with daemons.running(tmp_path, *flags) as served, sluice.Client(served.address) as client:
        client.find("digits")(np.zeros((2, 1, 8, 8), np.float32))
        eventually(lambda: sizes(traffic) > 512)
    recorded = traffic.read_bytes()
    with daemons.running(tmp_path, *flags):
        assert traffic.with_name("traffic.old").read_bytes() == recorded
        assert 0 < sizes(traffic) < len(recorded)


def test_recording_ends_at_its_size(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "digits.sluice"
    sluice.compile(DIGITS).save(package)
    traffic = tmp_path / "traffic"
    image = np.zeros((64, 1, 8, 8), np.float32)
    with daemons.running(tmp_path, "--models", str(package), "--record", str(traffic),
                         "--record-bytes", "65536") as served, sluice.Client(served.address) as client:
        for _ in range(20):
            client.find("digits")(image)
        eventually(lambda: sizes(traffic) > image.nbytes)
        for _ in range(20):
            client.find("digits")(image)
    assert sizes(traffic) <= 65536
