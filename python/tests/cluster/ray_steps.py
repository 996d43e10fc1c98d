"""Steps that tests on one machine and ray_driver.py on three hosts share. Needs no pytest."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import threading
from typing import Any

import numpy as np
import ray
from eventually import HANG_S, eventually
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not find this file

ROWS = 4096  #: of references' values: with rows of 256 bytes 1 MiB, beyond what Ray sends within a message

#: Inputs of the model `slow`, which computes for some tenths of a second.
SLOW_INPUTS = {"n": np.array(2000, np.int64), "x": np.zeros(64, np.float32)}


def lives(process: int) -> bool:
    return pathlib.Path(f"/proc/{process}").exists()


def many(row: Any) -> Any:
    return np.concatenate([row] * ROWS)


class Owner:
    """An actor whose process owns values."""

    def own(self, row: Any, count: int) -> list[Any]:
        return [ray.put(many(row)) for _ in range(count)]

    def process(self) -> int:
        return os.getpid()


def owned_references(row: Any, count: int, node: str | None = None) -> tuple[Any, list[Any]]:
    """The actor that owns the values, and the references to them."""
    strategy = NodeAffinitySchedulingStrategy(node, soft=False) if node else "DEFAULT"
    owner = ray.remote(Owner).options(num_cpus=0, scheduling_strategy=strategy).remote()
    return owner, ray.get(owner.own.remote(row, count), timeout=HANG_S)


def kill_process(actor: Any) -> None:
    process = ray.get(actor.process.remote(), timeout=HANG_S)
    os.kill(process, signal.SIGKILL)
    eventually(lambda: not lives(process))


def queue_rule(least: int, most: int) -> dict[str, Any]:
    """Serve's autoscaling for tests: it looks back a second."""
    return {"min_replicas": least, "max_replicas": most, "target_ongoing_requests": 1, "upscale_delay_s": 0.1,
            "downscale_delay_s": 1, "look_back_period_s": 1, "metrics_interval_s": 0.2}


def num_replicas(name: str) -> int:
    from ray import serve

    states = serve.status().applications[name].deployments[name].replica_states
    return int(states.get("RUNNING", 0))


def follows_its_queue(handle: Any, name: str, least: int, most: int) -> None:
    """Requests to the model `slow` make `most` replicas, and their end leaves `least`. Every request is answered."""
    is_over = threading.Event()
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            while not is_over.is_set():
                handle.remote(SLOW_INPUTS).result(timeout_s=HANG_S)
        except BaseException as error:
            failed.append(error)

    assert num_replicas(name) == least
    threads = [threading.Thread(target=ask) for _ in range(4 * most)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: num_replicas(name) == most or failed)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert not failed, failed[0]
    eventually(lambda: num_replicas(name) == least)
