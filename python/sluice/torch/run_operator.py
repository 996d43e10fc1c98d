"""The operator sluice::run: a package inside graphs of torch.export and torch.compile.

Its bytes travel as a tensor, so torch.export.save keeps them.
"""

from __future__ import annotations

import atexit
import collections
import json
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from .. import arrays, dtypes
from ..opening import open_package as load_package
from ..model import Model, TensorSpec

_MAX_LOADED = 16


class _Loaded:
    """A package of a loaded graph, and its model from the first call on."""

    def __init__(self, package: torch.Tensor) -> None:
        self.package = package  # keeps the address, so that no other package gets it
        self._loading = threading.Lock()
        self._model: Model | None = None

    def model(self) -> Model:
        with self._loading:
            if self._model is None:
                self._model = load_package(self.package.numpy().tobytes())
            return self._model


_lock = threading.Lock()  # no load happens within it
# By address of the bytes. Models of TracedModel live as long as it does; those of loaded graphs are kept here.
_remembered: dict[int, tuple[weakref.ref[torch.Tensor], weakref.ref[Model]]] = {}
_loaded: collections.OrderedDict[int, _Loaded] = collections.OrderedDict()  # the most recently used is the last
atexit.register(_loaded.clear)


def remember(package: torch.Tensor, model: Model) -> None:
    """Calls with this tensor run `model`, which is loaded from it already, while both exist."""
    with _lock:
        for address in [key for key, (tensor, _) in _remembered.items() if tensor() is None]:
            del _remembered[address]
        _remembered[package.data_ptr()] = (weakref.ref(package), weakref.ref(model))


def signature_of(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> str:
    """Types of a package, for shapes of outputs without a run: {"inputs": ["N", 3], ...}."""
    def dims(spec: TensorSpec) -> list[int | str]:
        inner = spec.type[spec.type.index("[") + 1:-1]
        return [int(dim) if dim.isdigit() else dim for dim in inner.split(",") if dim]

    return json.dumps({"inputs": [dims(spec) for spec in inputs],
                       "outputs": [[spec.element_type, dims(spec)] for spec in outputs]})


def _model_of(package: torch.Tensor) -> Model:
    address = package.data_ptr()
    with _lock:
        tensor, known = _remembered.get(address, (None, None))
        model = known() if tensor is not None and known is not None and tensor() is not None else None
        if model is not None:
            return model
        loaded = _loaded.setdefault(address, _Loaded(package))
        _loaded.move_to_end(address)
        while len(_loaded) > _MAX_LOADED:
            _loaded.popitem(last=False)
    return loaded.model()


@torch.library.custom_op("sluice::run", mutates_args=())
def run(package: torch.Tensor, signature: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    model = _model_of(package)
    feeds = {spec.name: arrays.from_torch(tensor.contiguous()) for spec, tensor in zip(model.inputs, tensors)}
    results = model.run(feeds)
    return [arrays.to_torch(results[spec.name]) for spec in model.outputs]


@run.register_fake
def _(package: torch.Tensor, signature: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    read = json.loads(signature)
    sizes: dict[str, Any] = {}
    for dims, tensor in zip(read["inputs"], tensors):
        for dim, size in zip(dims, tensor.shape):
            if isinstance(dim, str):
                sizes.setdefault(dim, size)
    results = []
    for number, dims in read["outputs"]:
        shape = [dim if isinstance(dim, int) else sizes.get(dim) for dim in dims]
        shape = [torch.library.get_ctx().new_dynamic_size() if size is None else size for size in shape]
        name = dtypes.BY_NUMBER[number].numpy.lstrip(".")
        results.append(torch.empty(shape, dtype=getattr(torch, name)))
    return results
