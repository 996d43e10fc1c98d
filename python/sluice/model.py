"""Loaded models: call them, run them by name, submit requests, await them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _native, arrays, dtypes
from .dtypes import Array
from .errors import DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound

Path = str | os.PathLike[str]


class TensorSpec(NamedTuple):
    """An input or output as the model declares it. A dimension is None where any size fits."""

    name: str
    type: str  #: "f32[N,3,224,224]"
    element_type: int  #: ONNX's TensorProto.DataType
    shape: tuple[int | None, ...] | None
    batch_axis: int | None  #: along which requests may be joined

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type; of the package ml_dtypes for bf16, f8 and below."""
        return dtypes.dtype_of(self.element_type)


class _Workers:
    """Threads that run submitted requests: as many as the process may use cores. Made when needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def submit(self, function: Any, *args: Any) -> concurrent.futures.Future[Any]:
        with self._lock:
            if self._pool is None:
                count = max(len(os.sched_getaffinity(0)), 1)
                self._pool = concurrent.futures.ThreadPoolExecutor(count, "sluice")
            return self._pool.submit(function, *args)

    def forget(self) -> None:
        """In a forked child, where the threads do not exist."""
        self._lock = threading.Lock()
        self._pool = None


_workers = _Workers()
os.register_at_fork(after_in_child=_workers.forget)


def _specs(described: list[tuple[str, str, int, Any, int]]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(*spec[:4], spec[4] if spec[4] >= 0 else None) for spec in described)


class Model:
    """A loaded model. Any thread may use it; runs release the GIL and proceed in parallel."""

    def __init__(self, native: _native.Model, source: str, file: int | None = None) -> None:
        self._native = native
        self._source = source
        self._file = file  # descriptor of a package in memory
        self.opened: dict[str, Any] = {}  #: arguments of the `reopen` that made it
        self._inputs = _specs(native.inputs())
        self._outputs = _specs(native.outputs())
        self._index = {spec.name: i for i, spec in enumerate(self._inputs)}
        self._call = native.call
        self._names = [spec.name for spec in self._outputs]
        self._all = [True] * len(self._outputs)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    @property
    def metadata(self) -> dict[str, str]:
        """Facts about the model and its source, such as "producer". docs/api.md lists the keys."""
        return self._native.metadata()

    def __repr__(self) -> str:
        def lines(kind: str, specs: tuple[TensorSpec, ...]) -> str:
            return "".join(f"\n  {kind} {spec.name}: {spec.type}" for spec in specs)

        source = f" {self._source!r}" if self._file is None else ""
        return (f"<sluice.Model{source}"
                f"{lines('input', self._inputs)}{lines('output', self._outputs)}>")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Runs the model on inputs by position or name: one output, or a tuple of several.

        numpy arrays give numpy arrays; torch tensors give torch tensors.
        """
        if not kwargs and not _any_torch(args):
            result = self._call(*args)
            if result is not None:
                return result
        return self._call_converted(args, kwargs)

    def run(
        self,
        feeds: Mapping[str, object],
        outputs: Sequence[str] | None = None,
        *,
        out: Mapping[str, Array] | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Runs the model on inputs by name and returns outputs by name.

        `outputs`: the names wanted; all by default. `out`: arrays that outputs are written to, which
        must be writable, contiguous and large enough; the result has a view of the right shape.
        `timeout`: seconds; DeadlineExceeded after that, while the run ends in the background.
        """
        if out is None and timeout is None and (outputs is None or list(outputs) == self._names):
            # Arrays of the model's types go to the library as they are.
            ordered = self._order(feeds)
            result = None if _any_torch(ordered) else self._call(*ordered)
            if result is not None:
                return dict(zip(self._names, (result,) if len(self._names) == 1 else result))
        if timeout is not None:
            future: concurrent.futures.Future[Any] = _workers.submit(
                self._run, self._order(feeds), outputs, out)
            try:
                return dict(future.result(timeout))
            except concurrent.futures.TimeoutError:
                future.cancel()
                raise DeadlineExceeded(f"no result within {timeout} s") from None
        return self._run(self._order(feeds), outputs, out)

    def submit(self, *args: object, **kwargs: object) -> concurrent.futures.Future[Any]:
        """As a call, but returns a Future. As many requests run at a time as there are cores.

        The caller must not change the inputs before the future is done.
        """
        return _workers.submit(lambda: self(*args, **kwargs))

    async def call_async(self, *args: object, **kwargs: object) -> Any:
        """As a call, for asyncio; it takes no thread per request."""
        return await asyncio.wrap_future(self.submit(*args, **kwargs))

    def context(self) -> Context:
        """Inputs and outputs bound once and run many times."""
        return Context(self)

    def save(self, path: Path) -> None:
        """Writes the package to a file."""
        if self._file is None:
            shutil.copyfile(self._source, path)
            return
        with open(os.dup(self._file), "rb") as package, open(path, "wb") as copy:
            package.seek(0)
            shutil.copyfileobj(package, copy)

    @property
    def path(self) -> str:
        """Where the package can be read while the model is open."""
        return self._source if self._file is None else f"/proc/self/fd/{self._file}"

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None) -> Model:
        """The same package loaded once more. `threads`, `cores`: as in sluice.load."""
        native = _native.Model(self.path, threads, list(cores or []), "")
        model = Model(native, self._source, None if self._file is None else os.dup(self._file))
        model.opened = {"threads": threads, "cores": cores}
        return model

    def close(self) -> None:
        """Frees the model; later runs raise FailedPrecondition. Runs under way finish."""
        self._native.close()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            os.close(self._file)  # type: ignore[arg-type]

    def __reduce__(self) -> Any:
        raise TypeError("a loaded model cannot be pickled; save it and load it in the other process")

    def _find_input(self, name: str) -> int:
        index = self._index.get(name)
        if index is None:
            known = ", ".join(f'"{spec.name}"' for spec in self._inputs)
            raise NotFound(f'the model has no input "{name}"; it has {known}')
        return index

    def _find_output(self, name: str) -> int:
        for i, spec in enumerate(self._outputs):
            if spec.name == name:
                return i
        known = ", ".join(f'"{spec.name}"' for spec in self._outputs)
        raise NotFound(f'the model has no output "{name}"; it has {known}')

    def _order(self, feeds: Mapping[str, object]) -> list[object]:
        """Values in order of the inputs."""
        ordered: list[Any] = [_MISSING] * len(self._inputs)
        for name, value in feeds.items():
            ordered[self._find_input(name)] = value
        missing = [spec for spec, value in zip(self._inputs, ordered) if value is _MISSING]
        if missing:
            names = ", ".join(f'"{spec.name}": {spec.type}' for spec in missing)
            raise InvalidArgument(f"inputs are missing: {names}")
        return ordered

    def _convert(self, ordered: Sequence[object]) -> list[Any]:
        return [
            arrays.to_input(value, spec.element_type, spec.name, spec.type)
            for spec, value in zip(self._inputs, ordered)
        ]

    def _call_converted(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        if len(args) > len(self._inputs):
            raise InvalidArgument(f"{len(args)} inputs given, the model takes {len(self._inputs)}")
        feeds = dict(zip((spec.name for spec in self._inputs), args))
        for name, value in kwargs.items():
            if name in feeds:
                raise InvalidArgument(f'input "{name}" is given twice')
            feeds[name] = value
        ordered = self._order(feeds)
        results = [dtypes.decode(item) for item in self._native.run(self._convert(ordered), self._all)]
        if _any_torch(ordered):
            results = [arrays.to_torch(result) for result in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, ordered: list[object], outputs: Sequence[str] | None,
             out: Mapping[str, Array] | None) -> dict[str, Any]:
        if outputs is None:
            indices = list(range(len(self._outputs)))
        else:
            indices = [self._find_output(name) for name in outputs]
        wanted = [i in indices for i in range(len(self._outputs))]
        memory: list[Array | None] = [None] * len(self._outputs)
        for name, given in (out or {}).items():
            index = self._find_output(name)
            memory[index] = _writable(given, self._outputs[index])
        raw = [None if array is None else _bytes_of(array) for array in memory]
        converted = self._convert(ordered)
        if out:
            _check_apart(converted, raw)
        results = self._native.run(converted, wanted, raw)
        wants_torch = _any_torch(ordered)
        named: dict[str, Any] = {}
        for i in indices:
            array = memory[i]
            if array is not None:
                named[self._outputs[i].name] = _shaped(array, results[i][1])
            else:
                result = dtypes.decode(results[i])
                named[self._outputs[i].name] = arrays.to_torch(result) if wants_torch else result
        return named


_MISSING: Any = object()


def _any_torch(values: Sequence[object]) -> bool:
    return "torch" in sys.modules and any(arrays.is_torch(value) for value in values)


def _writable(array: object, spec: TensorSpec) -> Array:
    what = f'out["{spec.name}"]'
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} is a {type(array).__name__}, not a numpy array")
    if array.dtype != spec.dtype or array.dtype == object:
        raise InvalidArgument(f"{what} is of {array.dtype}, the output of {spec.type}")
    if not array.flags.writeable or not array.flags.c_contiguous:
        raise InvalidArgument(f"{what} must be writable and contiguous")
    if dtypes.BY_NUMBER[spec.element_type].bits < 8:
        raise InvalidArgument(f"{what}: outputs of {spec.type} are packed; leave it out")
    return array


def _check_apart(inputs: list[Any], out: list[Array | None]) -> None:
    """An output written to an input would change what later operations read."""
    arrays_read = [item[0] if isinstance(item, tuple) else item for item in inputs]
    for written in out:
        if written is not None and any(np.may_share_memory(written, read) for read in arrays_read):
            raise InvalidArgument("an array of `out` shares memory with an input")


def _bytes_of(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _shaped(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape == shape:
        return array
    return array.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape)


class Context:
    """Inputs and outputs bound to a model once and run many times. Used by one thread at a time."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._feeds: dict[str, object] = {}
        self._out: dict[str, Array] = {}
        self._results: dict[str, Any] | None = None

    def bind(self, name: str, value: object) -> Context:
        """Sets an input or, if the model has an output of that name, the array it is written to.

        The context keeps the array; every run reads or writes it anew.
        """
        if name in self._model._index:
            self._feeds[name] = value
        else:
            spec = self._model.outputs[self._model._find_output(name)]
            self._out[name] = _writable(value, spec)
        return self

    def run(self) -> Context:
        """Runs the model on the inputs as they are now."""
        self._results = self._model.run(self._feeds, out=self._out)
        return self

    def output(self, name: str) -> Any:
        """An output of the last run."""
        if self._results is None:
            raise FailedPrecondition("the context has not run yet")
        self._model._find_output(name)
        return self._results[name]
