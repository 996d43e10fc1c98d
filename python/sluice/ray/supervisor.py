"""The actor that owns the daemon of a node."""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..cluster.owned_daemon import OwnedDaemon
from ..commands import run_command
from ..errors import InvalidArgument

#: Ray's custom resource: a group of cores that the node's daemon can still give to a model.
RESOURCE = "sluice_core_group"

#: Namespace of the supervisors' names, so that programs of one cluster share them.
NAMESPACE = "sluice"


def capacity(address: str = "") -> dict[str, Any]:
    """The document of `sluice capacity --json`: of the daemon at `address`, by default of this machine's."""
    return dict(json.loads(run_command("capacity", "--json", *(["--address", address] if address else []))))


def resources(cores: int, document: Mapping[str, Any] | None = None, *, kind: str = "cpu") -> dict[str, int]:
    """Groups of so many cores that this machine has on devices of a kind, as Ray's resources. A group lies on one.

    `document`: of `sluice capacity --json`; asked for by default.
    """
    if cores < 1:
        raise InvalidArgument(f"{cores} cores per group: at least 1")
    devices = (document if document is not None else capacity())["devices"]
    return {RESOURCE: sum(device["num_free_cores"] // cores for device in devices if device["kind"] == kind)}


class Supervisor:
    """Owns a `sluiced` on its node, and starts it again when it dies. An actor: `supervisor` finds or makes it."""

    def __init__(self, flags: Sequence[str] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sluice-ray-")
        self._daemon = OwnedDaemon(pathlib.Path(self._folder.name), flags)

    def address(self) -> str:
        """Where clients on this node connect. Starts a daemon that died."""
        self._daemon.revive()
        return self._daemon.address

    def process(self) -> int:
        return self._daemon.process

    def num_restarts(self) -> int:
        return self._daemon.num_restarts

    def capacity(self) -> dict[str, Any]:
        """What is free, and what the models need."""
        return capacity(self._daemon.address)

    def stop(self, drain: float = 10) -> None:
        """Lets the daemon finish, for `drain` seconds; the actor has none from then on."""
        self._daemon.stop(drain)


def supervisor(node_id: str | None = None, flags: Sequence[str] = ()) -> Any:
    """The supervisor's handle of a node, by default of the caller's; made if there is none.

    `flags`: of the `sluiced`, for a supervisor that is made. It takes no processor of Ray's, outlives its maker, and
    is made again if its process dies.
    """
    node = node_id or ray.get_runtime_context().get_node_id()
    return ray.remote(Supervisor).options(
        name=f"supervisor-{node}", namespace=NAMESPACE, get_if_exists=True, lifetime="detached", num_cpus=0,
        max_restarts=-1, max_task_retries=-1,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False)).remote(flags)
