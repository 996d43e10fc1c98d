"""A traced model that a runtime runs, such as a daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InvalidArgument
from ..loaded_model import LoadedModel
from ..model import Model, Path
from ..signature import TensorSpecs
from ..stateful import StatefulModel
from .bucket_runner import BucketRunner


class ServedModel:
    """A package that a runtime has loaded. It runs as a Model does, from any thread; unloaded with its last reference."""

    def __init__(self, package: Model, served: LoadedModel) -> None:
        self._package = package
        self._served = served
        self.opened: dict[str, Any] = {}

    @property
    def inputs(self) -> TensorSpecs:
        return self._package.inputs

    @property
    def outputs(self) -> TensorSpecs:
        return self._package.outputs

    @property
    def metadata(self) -> dict[str, str]:
        return self._package.metadata

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return self._served.run(feeds)

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None) -> Any:
        raise InvalidArgument("a runtime has loaded the model, on cores of its own: give its load a group, or place the "
                              "model that was traced")

    def save(self, path: Path) -> None:
        self._package.save(path)

    def close(self) -> None:
        self._served.unload()


def served(runner: Any, load: Callable[[Model], LoadedModel]) -> Any:
    """What runs as `runner` does, over the model that `load` has made of its package."""
    if type(runner) is Model:
        return ServedModel(runner, load(runner))
    if isinstance(runner, StatefulModel) and type(runner._model) is Model:
        return StatefulModel(served(runner._model, load), runner._states)
    if isinstance(runner, BucketRunner):
        return BucketRunner(served(runner._model, load), runner._kernel, runner._preprocessor)
    raise InvalidArgument("a runtime loads packages: this model has parts in torch, replicas on cores of this process, or is "
                          "in a runtime already")
