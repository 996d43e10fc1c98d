"""Ray on three hosts: network namespaces with a raylet each, and files of their own.

    pip install "ray[serve,data]"; scripts/test-python BUILD -k test_ray_hosts
"""

from __future__ import annotations

import pathlib
import sys

import pytest
import sluice

pytest.importorskip("ray")

from hosts import hosts  # noqa: E402
from ray_cluster import package  # noqa: E402, F401 - a fixture
from ray_hosts import PORT, raylets  # noqa: E402


def test_ray_places_six_groups_and_replaces_what_was_killed(tmp_path: pathlib.Path, slow: sluice.Model,
                                                            package: pathlib.Path) -> None:  # noqa: F811
    slow_package = tmp_path / "slow.sluice"
    slow.save(slow_package)
    with hosts(3) as places, raylets(tmp_path, places, groups=2) as cluster:
        driver = pathlib.Path(__file__).with_name("ray_driver.py")
        done = cluster[0].run(sys.executable, driver, package, slow_package, f"{places[0].address}:{PORT}")
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        assert done.stdout.splitlines() == ["one replica, three on three hosts, and one", "six groups: two on each host",
                                            "a tensor crossed hosts", "a dead owner is an error of the input",
                                            "a killed daemon cost no request",
                                            "a killed raylet cost no request and left no daemon"]
