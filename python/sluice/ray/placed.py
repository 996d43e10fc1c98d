"""Models that Ray places on core groups."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import ray

from ..cluster.lost import LOST, is_there
from ..errors import Unavailable
from ..runtime import Client, Source
from ..signature import TensorSpecs
from .supervisor import RESOURCE, supervisor


class PlacedModel:
    """A model on a core group of the daemon of its node. An actor: `place` makes it.

    The group and the model belong to the actor's session with the daemon: they go when the actor ends, however it
    ends. A request that was lost with a daemon is sent once more, after the model was loaded again; a model that keeps
    state between requests has its initial state then.
    """

    def __init__(self, package: Source, cores: int = 1, flags: Sequence[str] = (), kind: str = "cpu", **options: Any
                 ) -> None:
        self._package, self._cores, self._kind, self._flags, self._options = package, cores, kind, flags, options
        self._client: Client | None = None
        self._lock = threading.Lock()  # one thread opens again, and the others wait for it
        self._open()

    def _open(self) -> None:
        if self._client is not None:
            self._client.close()  # gives back the cores that the new group takes
        self._supervisor = supervisor(flags=self._flags)
        self._client = Client(ray.get(self._supervisor.address.remote()))
        self._group = self._client.create_group(self._cores, kind=self._kind)
        self._model = self._group.load(self._package, **self._options)
        self._model.start()

    def infer(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs by name. References among the values of `inputs` are fetched, by this node alone.

        Unavailable if a reference's value is lost, for example with the process that made it.
        """
        known = {name: _fetched(name, value) for name, value in inputs.items()}
        model = self._model
        try:
            return dict(model.run(known))
        except LOST:
            with self._lock:
                if self._model is model:
                    # An error of a daemon that lives, and has the model, is an answer.
                    if ray.get(self._supervisor.process.remote()) and is_there(model):
                        raise
                    self._open()
            return dict(self._model.run(known))

    def infer_one(self, inputs: Mapping[str, Any]) -> Any:
        """The only output, so that its reference is an input of another model."""
        [output] = self.infer(inputs).values()
        return output

    def signature(self) -> tuple[TensorSpecs, TensorSpecs]:
        """Its inputs and its outputs."""
        return self._model.inputs, self._model.outputs

    def place(self) -> dict[str, Any]:
        """Ray's node, the daemon's process, and the group there."""
        return {"node": ray.get_runtime_context().get_node_id(),
                "process": ray.get(self._supervisor.process.remote()), "group": self._group.id}


def _fetched(name: str, value: Any) -> Any:
    """The value of a reference; other values as they are."""
    if not isinstance(value, ray.ObjectRef):
        return value
    try:
        return ray.get(value)
    except ray.exceptions.ObjectLostError as error:
        raise Unavailable(f'input "{name}": its value is lost; compute it again ({type(error).__name__})') from None


def place(package: Source, *, cores: int = 1, kind: str = "cpu", flags: Sequence[str] = (),
          scheduling_strategy: Any = None, **options: Any) -> Any:
    """An actor (PlacedModel) on a node with a free group; waits in Ray's queue until there is one.

    `package`: as for Runtime.load; a path must be there on every node. `cores`, `kind`: as the nodes' resources were counted.
    `flags`: of a `sluiced` that is started for it. `scheduling_strategy`: Ray's, such as a placement group.
    Other options: those of Runtime.load.
    """
    made = ray.remote(PlacedModel).options(num_cpus=0, resources={RESOURCE: 1}, max_restarts=-1, max_task_retries=1,
                                           scheduling_strategy=scheduling_strategy)
    return made.remote(package, cores, flags, kind, **options)
