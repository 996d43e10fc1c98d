"""Models that keep state between calls, such as a counter or a cache of keys and values.

A state has one array, which runs read and write: in place where the model reads the state for the last time
when it writes the next, else with a copy at the end of the run. On a device with memory of its own, a state that is
changed in place stays between runs; the array then has its value when someone asks for it.

A package names its states in the metadata "sluice.states": which input takes the state, which output has its
next value, and what it is at first. Torch is not needed here.
"""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import io
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _native, arrays, dtypes
from .dtypes import Array
from .errors import InvalidArgument, NotFound, Unimplemented
from .model import Context, Model, Path, TensorSpec
from .profile import Profile
from .signature import TensorSpecs

METADATA_KEY = "sluice.states"


class StateSpec(NamedTuple):
    """A pair of an input and an output: after a successful run the output is the next run's input."""

    name: str
    input: str
    output: str
    initial: str  #: "zero", or the bytes of an .npy file in base64

    def initial_value(self, spec: TensorSpec) -> Array:
        shape = [-1 if dim is None else dim for dim in spec.shape or ()]
        if self.initial == "zero":
            return np.zeros(shape, spec.dtype)
        raw: Array = np.load(io.BytesIO(base64.b64decode(self.initial)), allow_pickle=False)
        return raw.view(spec.dtype).reshape(shape)


def encode_initial(value: Array) -> str:
    """StateSpec.initial of a value. Bits are kept as integers: .npy knows numpy's own types only."""
    bits = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    if not bits.any():
        return "zero"
    file = io.BytesIO()
    np.save(file, bits)
    return base64.b64encode(file.getvalue()).decode()


class State(Mapping[str, Any]):
    """The states of a model by name. Values are numpy arrays and copies; setting one checks its type and shape."""

    def __init__(self, states: Sequence[StateSpec], inputs: Sequence[TensorSpec]) -> None:
        """`inputs`: what takes the states, among others."""
        self._states = {state.name: state for state in states}
        by_name = {spec.name: spec for spec in inputs}
        self._specs = {state.name: by_name[state.input] for state in states}
        self._lock = threading.Lock()  # of what follows; held by a run
        self._values: dict[str, Array] = {}
        self._kept: _native.KeptStates | None = None  # has values that the arrays have not
        self.reset()

    def __getitem__(self, name: str) -> Array:
        self._check(name)
        with self._lock:
            self._bring()
            return self._values[name].copy()

    def __setitem__(self, name: str, value: object) -> None:
        self._check(name)
        spec = self._specs[name]
        array = arrays.to_numpy(value, spec.element_type, name)
        if array.dtype != spec.dtype or array.shape != spec.shape:
            dims = ",".join(map(str, array.shape))
            raise InvalidArgument(f'state "{name}": got {array.dtype}[{dims}], model keeps {spec.type}')
        with self._lock:
            self._change(name, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {name}: {spec.type}" for name, spec in self._specs.items())
        return f"<sluice.State{lines}>"

    def reset(self) -> None:
        """Sets all states to their initial values."""
        values = {name: state.initial_value(self._specs[name]) for name, state in self._states.items()}
        with self._lock:
            for name, value in values.items():
                self._change(name, value)

    def snapshot(self) -> dict[str, Array]:
        """All values at one moment; `restore` sets them again."""
        with self._lock:
            self._bring()
            return {name: value.copy() for name, value in self._values.items()}

    def restore(self, values: Mapping[str, object]) -> None:
        for name in values:
            self._check(name)
        for name, value in values.items():
            self[name] = value

    def _check(self, name: str) -> None:
        if name not in self._states:
            known = ", ".join(f'"{known}"' for known in self._states)
            raise NotFound(f'the model has no state "{name}"; it has {known}')

    def _bring(self) -> None:
        """Gives the arrays the values of the last run."""
        if self._kept is not None:
            self._kept.bring()

    def _change(self, name: str, value: Array) -> None:
        if self._kept is None:
            self._values[name] = _aligned(value)
        else:  # in the array to which a context may be bound
            self._kept.set_changed(list(self._states).index(name))
            self._values[name][...] = value

    def _leave(self) -> None:
        """The arrays alone have the values from now on: runs of another model follow."""
        with self._lock:
            self._bring()
            self._kept = None

    @contextlib.contextmanager
    def _in_run(self) -> Iterator[dict[str, Array]]:
        """The arrays of the states. Other uses of the states wait for the run."""
        with self._lock:
            yield self._values


def _aligned(array: Array) -> Array:
    """A copy that runs read and write in place."""
    copy = arrays.empty(array.shape, array.dtype)
    copy[...] = array
    return copy


class StatefulModel(Model):
    """A loaded model with states. Calls take the other inputs and give the other outputs.

    Runs of one object happen one after the other, in any thread. A run that is refused leaves the states as they
    were; one that fails at an operation may have changed some of them. `session` gives an object with states of
    its own.
    """

    def __init__(self, model: Model, states: Sequence[StateSpec]) -> None:
        self._model = model
        if hasattr(model, "_language"):  # a model of several parts has none
            self._language = model._language
        self._file = None  # the model's to close
        self.opened, self.loaded = model.opened, getattr(model, "loaded", {})
        self._thread: concurrent.futures.ThreadPoolExecutor | None = None
        self._states = tuple(states)
        self._run_lock = threading.Lock()
        self._thread_lock = threading.Lock()
        self.state = State(states, model.inputs)
        hidden = {state.input for state in states} | {state.output for state in states}
        elements = [spec.element_type for spec in model.inputs if spec.name in hidden]
        self._has_whole_bytes = all(dtypes.BY_NUMBER[number].bits >= 8 for number in elements)
        self._inputs = TensorSpecs(spec for spec in model.inputs if spec.name not in hidden)
        self._outputs = TensorSpecs(spec for spec in model.outputs if spec.name not in hidden)

    @property
    def inputs(self) -> TensorSpecs:
        return self._inputs

    @property
    def outputs(self) -> TensorSpecs:
        return self._outputs

    @property
    def path(self) -> str:
        return self._model.path

    @property
    def file(self) -> int | None:
        return self._model.file

    @property
    def recorded_bytes(self) -> int:
        return self._model.recorded_bytes

    @property
    def metadata(self) -> dict[str, str]:
        return self._model.metadata

    @property
    def copied_bytes(self) -> int:
        return self._model.copied_bytes

    @property
    def kept_bytes(self) -> int:
        """Bytes of this object's states that lie on a device with memory of its own, where runs leave them."""
        return 0 if self.state._kept is None else self.state._kept.kept_bytes()

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Runs the model on inputs by position or name: one output, or a tuple of several."""
        results = tuple(self.run(self._feeds(args, kwargs)).values())
        return results[0] if len(results) == 1 else results

    def _feeds(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        if len(args) > len(self._inputs):
            raise InvalidArgument(f"{len(args)} inputs given, the model takes {len(self._inputs)}")
        feeds = dict(zip((spec.name for spec in self._inputs), args))
        if twice := feeds.keys() & kwargs.keys():
            raise InvalidArgument(f'input "{twice.pop()}" is given twice')
        return {**feeds, **kwargs}

    def run(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None = None,
        *,
        out: Mapping[str, Array] | None = None,
        timeout: float | None = None,
        cancellation: _native.Cancellation | None = None,
    ) -> dict[str, Any]:
        """Runs the model on inputs by name and returns outputs by name, the states' among them left out."""
        if out is not None or timeout is not None:
            raise Unimplemented("a model with states takes no out= and no timeout=")
        if cancellation is not None and type(self._model) is not Model:
            raise Unimplemented("a model of several parts takes no cancellation=")
        ending: dict[str, Any] = {} if cancellation is None else {"cancellation": cancellation}
        known = {spec.name for spec in self._inputs}
        if unknown := feeds.keys() - known:
            raise NotFound(f'the model has no input "{unknown.pop()}"; it has {sorted(known)}')
        with self._run_lock, self.state._in_run() as values:
            given = {state.input: values[state.name] for state in self._states}
            if type(self._model) is Model and self._has_whole_bytes:
                written = {state.output: values[state.name] for state in self._states}
                results = self._run_kept({**feeds, **given}, written, cancellation)
                for state in self._states:
                    del results[state.output]
            else:
                results = self._model.run({**feeds, **given}, **ending)
                for state in self._states:
                    values[state.name] = _as_numpy(results.pop(state.output))
        return results if outputs is None else {name: self._wanted(results, name) for name in outputs}

    def _run_kept(self, feeds: Mapping[str, object], written: Mapping[str, Array],
                  cancellation: _native.Cancellation | None) -> dict[str, Any]:
        """Requires: within State._in_run."""
        signature, native, state = self._model._signature, self._model._native, self.state
        if state._kept is None:
            state._kept = _native.KeptStates(
                [(signature.find_input(pair.input), signature.find_output(pair.output)) for pair in self._states])
        kept = state._kept

        def execute(inputs: list[Any], wanted: list[bool], memory: list[Any] | None) -> list[Any]:
            return native.run_kept(kept, inputs, wanted, memory, cancellation)

        return signature.run(execute, signature.order(feeds), None, written)

    def run_arrays(self, ordered: Sequence[object]) -> Sequence[Any] | None:
        return None

    def submit(self, *args: object, **kwargs: object) -> concurrent.futures.Future[Any]:
        """As a call, but returns a Future. Submitted calls run in order."""
        with self._thread_lock:
            if self._thread is None:
                self._thread = concurrent.futures.ThreadPoolExecutor(1, "sluice-state")
            return self._thread.submit(lambda: self(*args, **kwargs))

    def profile(self, *args: object, runs: int = 10, **kwargs: object) -> Profile:
        """As Model.profile: each run begins with the values that the states have now, and leaves them."""
        values = self.state.snapshot()
        given = {state.input: values[state.name] for state in self._states}
        return self._model.profile(runs=runs, **{**self._feeds(args, kwargs), **given})

    def context(self) -> Context:
        raise Unimplemented("a model with states has no contexts; session() gives one with states of its own")

    def session(self) -> StatefulModel:
        """The same loaded model with states of its own, which begin with their initial values."""
        return StatefulModel(self._model, self._states)

    def continue_with(self, model: Model) -> None:
        """Later runs use the package of `model`, which has the same states, with the values they have now."""
        assert isinstance(model, StatefulModel)
        with self._run_lock:
            self.state._leave()
            self._model, self.opened, self.loaded = model._model, model.opened, model.loaded

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None,
               seed: int | None = None) -> StatefulModel:
        """The same package loaded once more, with states of its own."""
        return StatefulModel(self._model.reopen(threads=threads, cores=cores, seed=seed), self._states)

    def set_seed(self, seed: int) -> None:
        """As Model.set_seed, for all sessions of the loaded model."""
        self._model.set_seed(seed)

    def save(self, path: Path) -> None:
        """Writes the package to a file. States begin with their initial values in it."""
        self._model.save(path)

    def close(self) -> None:
        self._model.close()

    @staticmethod
    def _wanted(results: Mapping[str, Any], name: str) -> Any:
        if name not in results:
            raise NotFound(f'the model has no output "{name}"; it has {sorted(results)}')
        return results[name]

    def __repr__(self) -> str:
        lines = "".join(f"\n  input {spec.name}: {spec.type}" for spec in self._inputs)
        lines += "".join(f"\n  output {spec.name}: {spec.type}" for spec in self._outputs)
        lines += "".join(f"\n  state {name}: {spec.type}" for name, spec in self.state._specs.items())
        return f"<sluice.StatefulModel{lines}>"


def _as_numpy(value: Any) -> Array:
    return arrays.from_torch(value) if arrays.is_torch(value) else value


def with_states(model: Model) -> Model:
    """`model`, or a StatefulModel of it if its package names states."""
    text = model.metadata.get("metadata." + METADATA_KEY)
    if text is None:
        return model
    try:
        states = [StateSpec(**entry) for entry in json.loads(text)]
        return StatefulModel(model, states)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidArgument(f"the package's metadata \"{METADATA_KEY}\" is damaged: {error}") from error
