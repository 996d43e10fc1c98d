"""InferenceSession: a model compiled, or found in the cache, and its runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import errors
from .._native import Cancellation
from ..arrays import from_torch, is_torch
from ..loading import load_cached
from ..model import Model
from ..requests import workers
from ..signature import TensorSpec
from . import capi
from .facts import INPUTS, OUTPUTS, ModelMetadata, is_onnx, read_dims, read_facts
from .initializers import replace_initializers
from .maps import read_keys, row_of
from .nodes import DimNames, NodeArg
from .options import GraphOptimizationLevel, RunOptions, SessionOptions, warn_once
from .profiling import Profiler
from .providers import PROVIDER, check_providers, set_providers
from .values import IOBinding, OrtValue

seed: int | None = None  #: The value of set_seed for later sessions.


class InferenceSession:
    """Any thread may run a session."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            warn_once(name, f"InferenceSession's argument {name} has no effect")
        self._options = sess_options or SessionOptions()
        check_providers(providers)
        settings = self._options.__dict__
        self._profiler = (Profiler(settings["profile_file_prefix"].rstrip("_"))
                          if settings["enable_profiling"] else None)
        source = (path_or_bytes if isinstance(path_or_bytes, bytes)
                  else os.fspath(path_or_bytes))
        if isinstance(source, str) and not os.path.exists(source):
            raise capi.NoSuchFile(f"[ONNXRuntimeError] : 3 : NO_SUCHFILE : Load model from {source} "
                                  "failed: File doesn't exist")
        self._source = source
        self._facts: ModelMetadata | None = None
        self._model = self._compile(source)
        self._save(settings["optimized_model_filepath"])
        self._keys = read_keys(self._model)
        self._maps = {name: keys for name, keys in self._keys.items() if keys.is_list}
        self._inputs, self._overridable, self._outputs = self._describe()
        if seed is not None:
            self._model.set_seed(seed)
        self._input_names = [spec.name for spec in self._model.inputs]
        self._required = [arg.name for arg in self._inputs]
        self._output_names = [spec.name for spec in self._model.outputs]

    def _compile(self, source: str | bytes) -> Model:
        level = self._options.__dict__["graph_optimization_level"]
        options = ["--no-optimize"] if level == GraphOptimizationLevel.ORT_DISABLE_ALL else []
        threads = max(int(self._options.__dict__["intra_op_num_threads"]), 0)
        threads = min(threads, len(os.sched_getaffinity(0)))
        source, beside = self._replaced(source)
        try:
            options += self._shape_options(source)
            return load_cached(source, options, {"threads": threads}, beside)
        except errors.InvalidArgument as error:
            raise capi.InvalidProtobuf(f"[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : {error}") from error

    def _describe(self) -> tuple[list[NodeArg], list[NodeArg], list[NodeArg]]:
        """Inputs, inputs with defaults, and outputs. Names of free dimensions come from the file."""
        inputs, outputs = self._model.inputs, self._model.outputs
        is_free = any(None in (spec.shape or ()) for spec in (*inputs, *outputs))
        names = (DimNames(inputs, read_dims(self._source, INPUTS), read_dims(self._source, OUTPUTS))
                 if is_free and is_onnx(self._source) else None)
        def describe(spec: TensorSpec) -> NodeArg:
            return NodeArg(spec, names, self._keys.get(spec.name))

        return ([describe(spec) for spec in inputs if not spec.has_default],
                [describe(spec) for spec in inputs if spec.has_default],
                [describe(spec) for spec in outputs])

    def _replaced(self, source: str | bytes) -> tuple[str | bytes, str]:
        """The model with the initializers of the options, and the folder of its external data; "" for nowhere."""
        if not self._options._initializers:
            return source, ""
        values = {name: _array_of(value) for name, value in self._options._initializers.items()}
        beside = ""
        if isinstance(source, str):
            beside = os.path.dirname(os.path.abspath(source))
            with open(source, "rb") as file:
                source = file.read()
        return replace_initializers(source, values), beside

    def _save(self, path: str | os.PathLike[str]) -> None:
        """The counterpart of an optimised model is the package, which a session opens as quickly."""
        if path:
            warn_once("optimized_model_filepath", f"{os.fspath(path)} is a package of Sluice, no ONNX file")
            self._model.save(path)

    def _shape_options(self, source: str | bytes) -> list[str]:
        """Inputs whose free dimensions the options fix, all of them."""
        named, denoted = self._options._dims, self._options._denotations
        if not named and not denoted:
            return []
        options = []
        for name, dims in read_dims(source, INPUTS).items():
            sizes = [dim.size if dim.size is not None else named.get(dim.name, denoted.get(dim.denotation))
                     for dim in dims]
            if None not in sizes and any(dim.size is None for dim in dims):
                options += ["--shape", f"{name}={','.join(map(str, sizes))}"]
        return options

    def get_inputs(self) -> list[NodeArg]:
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        return self._overridable

    def get_providers(self) -> list[str]:
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {PROVIDER: {}}

    def set_providers(self, providers: Sequence[Any] | None = None,
                      provider_options: Sequence[Any] | None = None) -> None:
        set_providers(providers)

    def disable_fallback(self) -> None:
        """Accepted; there is one provider."""

    def enable_fallback(self) -> None:
        """Accepted; there is one provider."""

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        """Read when it is asked for; a file that changed since then has other facts."""
        if self._facts is None:
            self._facts = read_facts(self._source)
        return self._facts

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Outputs in order of `output_names`; all in order of the model for None or an empty list. A list of maps is
        a list of dicts.
        """
        return self.with_dicts(output_names or self._output_names, self._run(output_names, input_feed, run_options))

    def with_dicts(self, names: Sequence[str], results: list[Any]) -> list[Any]:
        """The results, with lists of dicts in place of rows that are maps in the model."""
        if not self._maps:
            return results
        return [self._maps[name].dicts(result) if name in self._maps else result
                for name, result in zip(names, results)]

    def _run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
             run_options: RunOptions | None) -> list[Any]:
        if self._profiler is None:
            return self._results(output_names, input_feed, run_options)
        with self._profiler.record("model_run"):
            return self._results(output_names, input_feed, run_options)

    def _results(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                 run_options: RunOptions | None) -> list[Any]:
        names = list(output_names) if output_names else self._output_names
        for name in names:
            if name not in self._output_names:
                raise errors.InvalidArgument(f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid output name:{name}")
        if any(isinstance(value, Mapping) for value in input_feed.values()):
            input_feed = {name: self._row_of(name, value) for name, value in input_feed.items()}
        given = self._required if len(input_feed) == len(self._required) else self._input_names
        if run_options is None and len(input_feed) == len(given) and names == self._output_names:
            try:
                results = self._model.run_arrays([input_feed[name] for name in given])
            except KeyError:
                results = None
            if results is not None:
                return list(results)
        feeds = {name: _array_of(value) for name, value in input_feed.items()}
        if not set(self._required) <= feeds.keys() <= set(self._input_names):
            self._refuse(feeds)
        with _terminating(run_options) as cancellation:
            named = self._model.run(feeds, names, cancellation=cancellation)
        return [named[name] for name in names]

    def _row_of(self, name: str, value: Any) -> Any:
        if not isinstance(value, Mapping) or name not in self._input_names:
            return value
        return row_of(value, self._model.inputs[name], self._keys.get(name))

    def _refuse(self, feeds: Mapping[str, Any]) -> None:
        missing = [arg.name for arg in self._inputs if arg.name not in feeds]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feeds)}).")
        unknown = next(name for name in feeds if name not in self._input_names)
        raise errors.InvalidArgument("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid input "
                                     f"name: {unknown}{self._model._signature.fixed_input_hint(unknown)}")

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Returns at once; a thread calls callback(results, user_data, error), error "" on success."""
        def job() -> None:
            try:
                results = self.run(output_names, input_feed, run_options)
            except Exception as error:  # noqa: BLE001  the callback takes it
                callback([], user_data, str(error) or type(error).__name__)
            else:
                callback(results, user_data, "")

        workers.submit(job)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        results = self._run(output_names, input_dict_ort_values, run_options)
        return [OrtValue.ortvalue_from_numpy(result) for result in results]

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        profiled = contextlib.nullcontext() if self._profiler is None else self._profiler.record("model_run")
        with _terminating(run_options) as cancellation, profiled:
            iobinding.run_model(self._model, cancellation)

    def end_profiling(self) -> str:
        """Writes the runs of a session with `enable_profiling` and returns the file's path."""
        return "" if self._profiler is None else self._profiler.end()

    def get_profiling_start_time_ns(self) -> int:
        return 0 if self._profiler is None else self._profiler.start_ns


@contextlib.contextmanager
def _terminating(run_options: RunOptions | None) -> Iterator[Cancellation | None]:
    """What ends a run with these options, in onnxruntime's words."""
    try:
        yield None if run_options is None else run_options._cancellation
    except errors.Cancelled as error:
        raise capi.Fail("[ONNXRuntimeError] : 1 : FAIL : Exiting due to terminate flag being set to true.") from error


def _array_of(value: Any) -> Any:
    """onnxruntime takes lists too. Numpy scalars and arrays keep their type."""
    if isinstance(value, OrtValue):
        return value.numpy()
    if is_torch(value):
        return from_torch(value)  # so that outputs are numpy arrays
    if isinstance(value, np.ndarray) and value.dtype.type is np.void and value.dtype.names is None:
        texts = np.frombuffer(value.tobytes(), f"S{value.dtype.itemsize}")  # onnxruntime takes bytes as strings
        return texts.reshape(value.shape)
    return value
