#!/usr/bin/env python3
"""Ray's nodes for tests: a busy machine makes them late, and no more. Needs no pytest.

    ray_nodes.py start ...      `ray start`
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests/support"))
from eventually import HANG_S  # noqa: E402
from ports import free_port  # noqa: E402
from ray._private import services  # noqa: E402

#: Ray's limits for its programs to start and to answer. Ray's workers, and the daemons that they start, get their share of
#: the processors beside other work: by Ray's default they are 15 nicer than the raylet, which is 30 times less.
SETTINGS = {"RAY_agent_register_timeout_ms": f"{HANG_S * 1000:.0f}", "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0",
            **{name: f"{HANG_S:.0f}" for name in (
                "RAY_worker_register_timeout_seconds", "RAY_gcs_server_port_wait_time_s",
                "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S",
                "RAY_SERVE_MIN_HANDLE_METRICS_TIMEOUT_S", "RAY_SERVE_MAX_QUEUE_LENGTH_RESPONSE_DEADLINE_S")}}

#: Ports of a node's agents, as Cluster.add_node calls them. A raylet that has to learn one ends itself after 15 seconds.
PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")

_start = services.start_ray_process


def _start_with_ports(command: list[str], *arguments: Any, **options: Any) -> Any:
    """Tells a raylet the port that Ray tells only its agent."""
    if command[0] == services.RAYLET_EXECUTABLE:
        [port] = {found for word in command for found in re.findall(r"--listen-port=(\d+)", word)}
        command = [*command, f"--dashboard_agent_listen_port={port}"]
    return _start(command, *arguments, **options)


def be_patient() -> None:
    """With the nodes that this process starts."""
    os.environ.update(SETTINGS)
    services.start_ray_process = _start_with_ports


def agent_ports() -> dict[str, int]:
    return {name: free_port() for name in PORTS}


def start_serve(**options: Any) -> None:
    """Ray Serve, which by itself waits a minute for its proxies. `options`: of serve.start."""
    from ray import serve
    from ray.serve._private import api, client

    api.HTTP_PROXY_TIMEOUT = client.HTTP_PROXY_TIMEOUT = HANG_S
    serve.start(**options)


if __name__ == "__main__":
    from ray.scripts.scripts import main

    be_patient()
    main()
