"""Ray clusters of several raylets on this machine, for tests that skip where Ray is not installed."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

import sluice  # noqa: E402
from conftest import DIGITS  # noqa: E402
from ray_nodes import agent_ports, be_patient  # noqa: E402
from sluice import ray as on_ray  # noqa: E402

#: Flags of the daemons.
FLAGS = ("--map", "", "--drain-seconds", "1")


@contextlib.contextmanager
def started(nodes: int, groups: int) -> Iterator[Any]:
    """A head without groups, and so many nodes with `groups` each; its `nodes_with_groups` are these.

    Each node has a daemon of its own, which sees all processors of this machine.
    """
    be_patient()
    made = cluster_utils.Cluster(initialize_head=True,
                                 head_node_args={"num_cpus": 1, "include_dashboard": False, **agent_ports()})
    try:
        made.nodes_with_groups = [made.add_node(num_cpus=1, resources={on_ray.RESOURCE: groups}, **agent_ports())
                                  for _ in range(nodes)]
        ray.init(address=made.address, log_to_driver=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The digits."""
    path = tmp_path_factory.mktemp("models") / "digits.sluice"
    sluice.compile(DIGITS).save(path)
    return path
