"""A loaded package of buckets: the kernel chooses one for each call."""

from __future__ import annotations

import base64
import io
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from .. import arrays, dtypes
from ..dtypes import Array
from ..errors import FailedPrecondition, InvalidArgument
from ..model import Model, Path, TensorSpec
from ..stateful import State, StateSpec, encode_initial
from ..tracing.bucket_graph import INDEX
from .functional import Call

KEY = "sluice.torch.buckets"


class _Bucket(NamedTuple):
    shapes: list[list[int]]  #: of the inputs
    states: list[list[int]]  #: shapes of the states


def encode_buckets(kernel: Callable[..., Any], shared: Sequence[torch.Tensor] | None,
                   preprocessor: Callable[..., Any] | None, calls: Sequence[Call]) -> str:
    """The entry of the package's metadata."""
    hidden = [{state.target for state in call.states if isinstance(state.target, int)} for call in calls]
    buckets = [_Bucket([list(tensor.shape) for i, tensor in enumerate(call.tensors) if i not in skip],
                       [list(state.initial.shape) for state in call.states]) for call, skip in zip(calls, hidden)]
    initial = [[state.initial for state in call.states] for call in calls]
    return json.dumps({
        "buckets": buckets, "states": [state.name for state in calls[0].states],
        "initial": _pack(initial if shared is None else [list(shared)]), "is_shared": shared is not None,
        "kernel": _script(kernel), "preprocessor": preprocessor and _script(preprocessor)})


def _pack(value: Any) -> str:
    file = io.BytesIO()
    torch.save(value, file)
    return base64.b64encode(file.getvalue()).decode()


def _unpack(text: str) -> Any:
    return torch.load(io.BytesIO(base64.b64decode(text)), weights_only=True)


def _script(function: Callable[..., Any]) -> str | None:
    """The function as TorchScript; None if TorchScript cannot compile it."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.jit.save(torch.jit.script(function), file)
        except Exception:  # torch raises errors of many kinds
            return None
    return base64.b64encode(file.getvalue()).decode()


def _unscript(text: str | None, what: str) -> Callable[..., Any]:
    if text is None:
        raise FailedPrecondition(f"the package has no {what}: TorchScript could not compile it; write it with tensors, "
                                 "lists and numbers only and trace again")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded: Callable[..., Any] = torch.jit.load(io.BytesIO(base64.b64decode(text)))
    return loaded


def _state_of(values: Mapping[str, torch.Tensor]) -> State:
    """States with these initial values."""
    states, specs = [], []
    for name, tensor in values.items():
        number = arrays.number_of_torch(tensor.dtype)
        type_text = f"{dtypes.BY_NUMBER[number].name}[{','.join(map(str, tensor.shape))}]"
        states.append(StateSpec(name, name, name, encode_initial(arrays.from_torch(tensor))))
        specs.append(TensorSpec(name, type_text, number, tuple(tensor.shape), None))
    return State(states, specs)


class BucketRunner:
    """Runs as a Model does, on inputs of any size that the kernel brings into a bucket.

    Any thread may call it. Runs of buckets with states follow one another. `state` has the tensors of the shared
    buffer as "buffer.0", "buffer.1"; else the states of bucket 2 as "NAME.2".
    """

    def __init__(self, model: Model, kernel: Callable[..., Any] | None = None,
                 preprocessor: Callable[..., Any] | None = None) -> None:
        read = json.loads(model.metadata["metadata." + KEY])
        self._model = model
        self._buckets = [_Bucket(*bucket) for bucket in read["buckets"]]
        self._names: list[str] = read["states"]
        self._is_shared: bool = read["is_shared"]
        initial: list[list[torch.Tensor]] = _unpack(read["initial"])
        #: By bucket, or of the buffer alone: names of the tensors in `state`.
        self._places = [[f"buffer.{i}" if self._is_shared else f"{self._names[i]}.{number}" for i in range(len(tensors))]
                        for number, tensors in enumerate(initial)]
        self.state = _state_of({name: tensor for names, tensors in zip(self._places, initial)
                                for name, tensor in zip(names, tensors)})
        self._kernel = kernel or _unscript(read["kernel"], "kernel")
        if preprocessor is None and read["preprocessor"] is not None:
            preprocessor = _unscript(read["preprocessor"], "preprocessor")
        self._preprocessor = preprocessor
        state_inputs = {f"state.{name}" for name in self._names}
        state_outputs = {f"state.{name}.next" for name in self._names}
        self.inputs = tuple(spec for spec in model.inputs if spec.name not in state_inputs | {INDEX})
        self.outputs = tuple(spec for spec in model.outputs if spec.name not in state_outputs)

    @property
    def metadata(self) -> dict[str, str]:
        return self._model.metadata

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        tensors = [_as_tensor(feeds[spec.name], spec) for spec in self.inputs]
        chosen, number = self._choose(tensors)
        given: dict[str, Any] = {spec.name: tensor for spec, tensor in zip(self.inputs, chosen)}
        given[INDEX] = np.array(number, np.int64)
        if not self._names:
            return self._model.run(given)
        with self.state._in_run() as values:
            return self._run_with_states(given, number, values)

    def session(self) -> BucketRunner:
        """The same loaded package with states of its own."""
        return BucketRunner(self._model, self._kernel, self._preprocessor)

    def continue_with(self, other: BucketRunner) -> None:
        """Later runs use the package of `other`, which is the same, with the values that the states have now."""
        with self.state._in_run():
            self._model = other._model

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None) -> BucketRunner:
        return BucketRunner(self._model.reopen(threads=threads, cores=cores), self._kernel, self._preprocessor)

    def save(self, path: Path) -> None:
        """Writes the package. States begin with their initial values in it."""
        for key in ("kernel", "preprocessor"):
            entry = json.loads(self.metadata["metadata." + KEY])
            if entry[key] is None and (key == "kernel" or self._preprocessor is not None):
                _unscript(None, key)
        self._model.save(path)

    def close(self) -> None:
        self._model.close()

    def _choose(self, tensors: list[torch.Tensor]) -> tuple[list[torch.Tensor], int]:
        result = self._kernel(tensors)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise InvalidArgument("the bucket kernel must return a list of tensors and the number of the bucket")
        chosen, index = result
        number = int(index)
        largest = ", ".join(map(str, self._buckets[-1].shapes))
        if not 0 <= number < len(self._buckets):
            raise InvalidArgument(f"the bucket kernel chose bucket {number}; there are {len(self._buckets)}, and the "
                                  f"last takes {largest}")
        shapes = [list(tensor.shape) for tensor in chosen]
        if shapes != self._buckets[number].shapes:
            given = ", ".join(str(list(tensor.shape)) for tensor in tensors)
            raise InvalidArgument(f"no bucket fits inputs of {given}: the bucket kernel gave {shapes} for bucket "
                                  f"{number}, which takes {self._buckets[number].shapes}; the largest bucket takes "
                                  f"{largest}")
        return chosen, number

    def _run_with_states(self, given: dict[str, Any], number: int, values: Mapping[str, Array]) -> dict[str, Any]:
        views = self._views(number, values)
        for name, view in zip(self._names, views):
            given[f"state.{name}"] = view.contiguous()
        results = self._model.run(given)
        for name, view in zip(self._names, views):
            following = results.pop(f"state.{name}.next")
            view.copy_(following if isinstance(following, torch.Tensor) else arrays.to_torch(following))
        return results

    def _views(self, number: int, values: Mapping[str, Array]) -> list[torch.Tensor]:
        """What the bucket reads and writes of the states' arrays."""
        buffer = [arrays.to_torch(values[name]) for name in self._places[0 if self._is_shared else number]]
        if not self._is_shared:
            return buffer
        views = buffer
        if self._preprocessor is not None:
            views = list(self._preprocessor([bucket.states for bucket in self._buckets], buffer,
                                            torch.tensor(number)))
        shapes = [list(view.shape) for view in views]
        if shapes != self._buckets[number].states:
            raise InvalidArgument(f"the states of bucket {number} are of {self._buckets[number].states}, the shared "
                                  f"buffer gives {shapes}; shared_state_buffer_preprocessor selects parts of it")
        memory = {tensor.untyped_storage().data_ptr() for tensor in buffer}
        if any(view.untyped_storage().data_ptr() not in memory for view in views):
            raise InvalidArgument("shared_state_buffer_preprocessor must give views of the buffer: a run writes to them")
        return views


def _as_tensor(value: Any, spec: TensorSpec) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value
    return torch.from_numpy(np.asarray(arrays.to_numpy(value, spec.element_type, spec.name)))
