"""The runtime: devices, core groups and loaded models, in this process or in a daemon."""

from __future__ import annotations

import json
import math
import os
import pathlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from . import _native, arrays, cache, descriptions
from .dtypes import Array
from .errors import Error, FailedPrecondition, InvalidArgument
from .exchange import ExchangedTensor, Offer, put
from .loaded_model import LoadedModel
from .package import Package, Path, check_seed, is_uncompiled
from .profile import Profile
from .requests import collector, duration_ns, nanoseconds

ISOLATIONS = ("default", "stream", "process")
NAN_POLICIES = ("pass", "flag", "fail")
TRANSPORTS = ("default", "grpc")
DEFAULT_ADDRESS = "unix:/run/sluice.sock"

#: A package: its path, bytes, an open descriptor or a Model; or an ONNX model: its path, bytes or an onnx.ModelProto.
Source = Any
T = TypeVar("T")


class CoreGroup:
    """Cores reserved for models that are loaded on it. Destroyed with its last reference."""

    def __init__(self, runtime: Runtime, number: int) -> None:
        self._runtime: Runtime | None = runtime
        self.id = number

    def load(self, source: Source, **options: Any) -> LoadedModel:
        """As Runtime.load on this group. The model takes requests after its `start`."""
        if self._runtime is None:
            raise FailedPrecondition("the group was destroyed")
        return self._runtime.load(source, group=self, **options)

    def destroy(self) -> None:
        """Frees the cores. FailedPrecondition while models are loaded on it."""
        if self._runtime is None:
            return
        self._runtime._native.destroy_group(self.id)
        self._runtime = None

    def __enter__(self) -> CoreGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def __del__(self) -> None:
        try:
            runtime = getattr(self, "_runtime", None)
            if runtime is not None and not runtime._keeps:
                self.destroy()
        except Error:
            pass  # with models on it, or of a closed runtime

    def __repr__(self) -> str:
        return f"<sluice.CoreGroup {self.id}{'' if self._runtime else ', destroyed'}>"


class Runtime:
    """An engine in this process. Any thread may use it.

    `devices`: logical numbers, as `sluice discover` prints them; all by default. `backend_dir`: folder of
    plug-ins. `simulated_machine`: a JSON file that describes one. `demand_budget_bytes`: bytes for models that are
    loaded on demand.
    """

    def __init__(
        self,
        *,
        devices: Sequence[int] = (),
        backend_dir: Path | None = None,
        simulated_machine: Path | None = None,
        demand_budget_bytes: int = 0,
    ) -> None:
        options: dict[str, Any] = {"demand_budget_bytes": demand_budget_bytes}
        if devices:
            options["devices"] = list(devices)
        if backend_dir is not None:
            options["backend_dir"] = os.fspath(backend_dir)
        if simulated_machine is not None:
            options["simulated_machine"] = os.fspath(simulated_machine)
        self._open(_native.Runtime.create(**options), "in this process", keeps=False)

    def _open(self, native: _native.Runtime, where: str, keeps: bool) -> None:
        self._native = native
        self._where = where
        self._keeps = keeps  # models and groups outlive their last reference
        self._is_open = True
        _open_runtimes.add(self)

    @staticmethod
    def connect(address: str = DEFAULT_ADDRESS, **options: Any) -> Client:
        """The same interface over the daemon at `address`; `options` as for Client."""
        return Client(address, **options)

    @property
    def devices(self) -> tuple[descriptions.Device, ...]:
        return tuple(descriptions.Device(**fields) for fields in self._native.devices())

    def groups(self) -> tuple[descriptions.Group, ...]:
        """All core groups; of a daemon also those of other clients."""
        return tuple(descriptions.Group(**fields) for fields in self._native.groups())

    def models(self) -> tuple[descriptions.ModelInfo, ...]:
        """All loaded models; of a daemon also those of other clients."""
        return tuple(descriptions.to_model_info(fields) for fields in self._native.models())

    def create_group(
        self,
        num_cores: int = 0,
        *,
        kind: str | None = None,
        devices: Sequence[int] = (),
        isolation: str = "default",
        memory_bytes: int = 0,
        timeout: float | None = 0,
    ) -> CoreGroup:
        """Reserves cores for models that are loaded on the group later.

        `num_cores`: 0 for the longest free range. `kind`, `devices`: of which devices. `isolation`: "process"
        for a worker process of a daemon. `memory_bytes`: limit in bytes. `timeout`: seconds to wait for cores that
        other groups hold; None waits without limit. ResourceExhausted lists free and owned cores.
        """
        options: dict[str, Any] = {"num_cores": num_cores, "memory_bytes": memory_bytes,
                                   "isolation": _number_of(isolation, ISOLATIONS, "isolation"),
                                   "timeout_ns": _wait_ns(timeout)}
        if kind is not None:
            options["kind"] = kind
        if devices:
            options["devices"] = list(devices)
        return CoreGroup(self, self._native.create_group(**options))

    def load(
        self,
        source: Source,
        *,
        name: str | None = None,
        group: CoreGroup | int | None = None,
        depth: int = 0,
        queue_limit: int = 0,
        nan_policy: str = "pass",
        is_on_demand: bool = False,
        is_pinned: bool = False,
        isolation: str = "default",
        timeout: float | None = 0,
        is_server_path: bool = False,
        max_recorded_bytes: int = 64 << 20,
        seed: int | None = None,
        batch_rows: int | None = None,
        max_delay: float = 0,
        max_run: float | None = None,
        weight: int = 1,
        request_timeout: float | None = None,
        cores: int | None = None,
    ) -> LoadedModel:
        """Loads a package from a path, bytes, an open file descriptor or a Model, or an ONNX model as sluice.load does.

        Without `group` the model is started on cores of its own, or takes turns with others where all
        are in use. `depth`: requests that run at a time.
        `queue_limit`: requests that may wait beyond these; 0 means 64 per slot, -1 none. `nan_policy`: "flag" counts
        replies with NaN, "fail" fails them. `is_on_demand`: loaded at the first request and unloaded for others
        unless `is_pinned`. `timeout`: as for create_group; a package that is sent to a daemon does not wait: give a
        group then. `is_server_path`: the path is on the daemon's machine.
        `max_recorded_bytes`: bytes of command lists and plans that each slot keeps for shapes of earlier requests.
        `seed`: of random operators, as for sluice.load. `batch_rows`: waiting requests run as one of so many rows,
        0 for the compiled ones, of a model whose rows are independent; `max_delay`: seconds that a request waits
        for others. `max_run`: seconds after which a run is stopped with DeadlineExceeded; None for the daemon's
        default or no limit, math.inf for no limit. `weight`: share of the cores among models that take turns, 1 to
        1000.
        `request_timeout`: seconds after which a request without a timeout of its own ends with DeadlineExceeded.
        `cores`: of a model of one segment, 0 for all that are free; None for those that it was compiled for, or for
        all of a model that writes texts.
        """
        options: dict[str, Any] = {
            "is_on_demand": int(is_on_demand), "is_pinned": int(is_pinned),
            "is_server_path": int(is_server_path), "is_owner": not self._keeps, "timeout_ns": _wait_ns(timeout),
            "nan_policy": _number_of(nan_policy, NAN_POLICIES, "nan_policy"),
            "isolation": _number_of(isolation, ISOLATIONS, "isolation"),
            "numbers": {"depth": depth, "queue_limit": queue_limit, "max_recorded_bytes": max_recorded_bytes or -1,
                        "max_run_ns": _limit_ns(max_run), "weight": weight,
                        "cores": 0 if cores is None else cores or -1,
                        "request_timeout_ns": nanoseconds(request_timeout, "request_timeout")}}
        if seed is not None:
            check_seed(seed)
            options.update(has_seed=1, seed=seed)
        if batch_rows is not None:
            options.update(has_batching=1, batch_rows=batch_rows, max_delay_ns=duration_ns(max_delay, "max_delay"))
        _set_name(options, name, source, "model")
        if group is not None:
            options["group"] = group if isinstance(group, int) else group.id
        return self._loaded(source, is_server_path, options)

    def deploy(
        self,
        source: Source,
        *,
        name: str | None = None,
        share: int = 1,
        priority: int = 0,
        depth: int = 1,
        queue_limit: int = 0,
        memory_bytes: int = 0,
        keep_warm: float | None = 60,
        batch_rows: int = 0,
        isolation: str = "default",
        is_server_path: bool = False,
        max_run: float | None = None,
        request_timeout: float | None = None,
    ) -> LoadedModel:
        """Deploys a function: a model that takes turns with others on a lane of cores.

        It takes requests at once; `start` makes it warm, `stop` cold, and a request starts a cold one. `share`: of
        the lane's time, against functions of one `priority`. `depth`: requests in one turn. `memory_bytes`: quota
        in bytes, 0 for none. `keep_warm`: seconds without requests until it gives its memory back; None keeps it
        unless another function needs the memory. `batch_rows`: largest number of rows of waiting requests that run
        as one, for a model whose first dimension is a symbol and whose rows are independent; 0 runs each request alone.
        `isolation`: "process" for a cell of a daemon. `max_run`, `request_timeout`: as for load.
        """
        keep_warm_ns = 2**63 - 1 if keep_warm is None else duration_ns(keep_warm, "keep_warm")
        options: dict[str, Any] = {
            "share": share, "priority": priority, "memory_bytes": memory_bytes, "keep_warm_ns": keep_warm_ns or -1,
            "batch_rows": batch_rows, "is_server_path": int(is_server_path),
            "is_owner": not self._keeps, "isolation": _number_of(isolation, ISOLATIONS, "isolation"),
            "numbers": {"depth": depth, "queue_limit": queue_limit, "max_run_ns": _limit_ns(max_run),
                        "request_timeout_ns": nanoseconds(request_timeout, "request_timeout")}}
        _set_name(options, name, source, "function")
        return self._loaded(source, is_server_path, options)

    def _loaded(self, source: Source, is_server_path: bool, options: dict[str, Any]) -> LoadedModel:
        number = _with_source(source, is_server_path, lambda given: self._native.load(given, **options))
        return LoadedModel(self, self._native, number)

    def deploy_graph(self, graph: Path | Mapping[str, Sequence[str]], *,
                     name: str | None = None) -> LoadedModel:
        """Deploys a graph of functions: a model that runs them one after the other in one request.

        `graph`: the path of a JSON file, or its content: `{"functions": ["a=FUNCTION", "b=FUNCTION"], "edges":
        ["a.y=b.x"], "outputs": ["a.y"]}`. A FUNCTION is the name of one that is deployed, or its id. Inputs and
        outputs without an edge, and those of "outputs", are the graph's, named "a.x". Unload it before its functions.
        """
        options: dict[str, Any] = {"is_owner": not self._keeps}
        if isinstance(graph, Mapping):
            options["text"] = json.dumps(dict(graph))
        else:
            options["path"] = os.fspath(graph)
        if name is not None:
            options["name"] = name
        return LoadedModel(self, self._native, self._native.deploy_graph(**options))

    def estimate(self, source: Source, *, depth: int = 0) -> descriptions.Footprint:
        """What a load would take; loads nothing."""
        figures = _with_source(source, False, lambda given: self._native.estimate(given, numbers={"depth": depth}))
        return descriptions.Footprint(**figures)

    def find(self, name: str) -> LoadedModel:
        """A model that another program loaded. It stays loaded unless `unload` of the result is called."""
        return LoadedModel(self, self._native, self._native.find_model(name))

    def combine(
        self,
        models: Sequence[LoadedModel],
        *,
        name: str | None = None,
        is_round_robin: bool = False,
        queue_limit: int = 0,
        batch_rows: int | None = None,
        max_delay: float = 0,
        timeout: float | None = None,
    ) -> LoadedModel:
        """One model of several started copies of a model: a request goes to the least busy copy.

        `is_round_robin`: copies take turns. `batch_rows`: joins requests to batches of so many rows, 0 for the
        compiled dimension; `max_delay`: longest wait for a full batch in seconds. `timeout`: of requests
        without one. Not in a daemon.
        """
        options: dict[str, Any] = {"is_round_robin": int(is_round_robin), "queue_limit": queue_limit,
                                   "max_delay_ns": duration_ns(max_delay, "max_delay"),
                                   "timeout_ns": nanoseconds(timeout, "timeout")}
        if batch_rows is not None:
            options.update(has_batching=1, batch_rows=batch_rows)
        if name is not None:
            options["name"] = name
        combined = self._native.combine([model.id for model in models], **options)
        return LoadedModel(self, self._native, combined, models)

    def profile(self, model: LoadedModel | None = None) -> Profile:
        """Records spans of a model's requests, or of all, within a `with` block."""
        return Profile(self._native, 0 if model is None else model.id)

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> Array:
        """A zeroed array in memory that a daemon maps, too: it travels in no message."""
        wanted, dims, size_bytes = arrays.layout_of(shape, dtype)
        raw: Array = self._native.share(max(size_bytes, 1))
        array: Array = raw[:size_bytes].view(wanted).reshape(dims)
        return array

    def close(self, drain: float = 0) -> None:
        """Cancels requests after `drain` seconds, unloads all models, and closes. Later calls fail."""
        if self._is_open:
            self._is_open = False
            self._native.close(duration_ns(drain, "drain"))

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sluice.{type(self).__name__} {self._where}{'' if self._is_open else ', closed'}>"

    def __reduce__(self) -> Any:
        raise TypeError("a runtime cannot be pickled; connect the other process to a daemon")


class Client(Runtime):
    """The interface of Runtime over a daemon, `sluiced`, at "unix:PATH" or "HOST:PORT".

    What a client loads belongs to its session, which ends with it, unless `is_detached`: then it stays, and
    every client may use it. `timeout`: seconds to wait for the daemon. `ca`, `certificate`, `key`: PEM files
    for TLS. `session_token`: of another client, whose session this one joins. `transport`: "grpc" sends requests
    over gRPC even where shared memory is possible.
    """

    def __init__(
        self,
        address: str = DEFAULT_ADDRESS,
        *,
        session: str | None = None,
        is_detached: bool = False,
        timeout: float = 5,
        ca: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        token: str | None = None,
        session_token: str | None = None,
        transport: str = "default",
    ) -> None:
        options: dict[str, Any] = {"is_detached": int(is_detached),
                                   "transport": _number_of(transport, TRANSPORTS, "transport"),
                                   "timeout_ns": nanoseconds(timeout, "timeout")}
        files = {"ca": ca, "certificate": certificate, "key": key}
        options.update((name, os.fspath(path)) for name, path in files.items() if path is not None)
        texts = {"session": session, "token": token, "session_token": session_token}
        options.update((name, text) for name, text in texts.items() if text is not None)
        if not isinstance(address, str):
            raise TypeError(f"address: a text is needed, as in unix:/PATH or HOST:PORT, not {address!r}")
        self._open(_native.Runtime.connect(address, **options), f"of the daemon at {address}", is_detached)

    @property
    def session_token(self) -> str:
        """The secret with which another client joins the session; empty without one."""
        return self._native.session_token()

    def put(self, array: object, *, ttl: float | None = None) -> ExchangedTensor:
        """Puts a copy of an array into the daemon's exchange, for `ttl` seconds or the daemon's default."""
        return put(self._native, array, nanoseconds(ttl, "ttl"))

    def fetch(self, offer: Offer | tuple[int, str], source: str, *, ttl: float | None = None,
              timeout: float | None = None) -> ExchangedTensor:
        """Has the daemon fetch a tensor that one of another host offers, and returns the copy here.

        `source`: HOST:PORT of that daemon's exchange, one of `exchange_sources` here. `ttl`: as for put.
        `timeout`: seconds, else DeadlineExceeded.
        """
        index, key = offer
        return ExchangedTensor(self._native, self._native.fetch_tensor(
            source, index, key, nanoseconds(ttl, "ttl"), nanoseconds(timeout, "timeout")))

    def __enter__(self) -> Client:
        return self


def _set_name(options: dict[str, Any], name: str | None, source: Source, default: str) -> None:
    """A package's path gives the name; that of a package in memory or in the cache says nothing."""
    if name is None and isinstance(source, (str, os.PathLike)) and is_uncompiled(source):
        name = pathlib.Path(source).stem
    is_unnamed = isinstance(source, Package) and (source.file is not None or cache.holds(source.path))
    if name is None and (is_unnamed or is_uncompiled(source)):
        name = default
    if name is not None:
        options["name"] = name


def _with_source(source: Source, is_server_path: bool, use: Callable[[str | bytes | int], T]) -> T:
    """What `use` returns for the package that `source` is, or that it is compiled into."""
    if not isinstance(source, Package) and not is_server_path and is_uncompiled(source):
        return cache.with_package(source, [], use)
    return use(_package_of(source))


def _package_of(source: Source) -> str | bytes | int:
    if isinstance(source, Package):
        return source.path if source.file is None else source.file
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, int):
        return source
    path = os.fspath(source)
    if not isinstance(path, str):
        raise TypeError("the package's path is of bytes")
    return path


def _number_of(word: str, words: Sequence[str], what: str) -> int:
    if word not in words:
        raise InvalidArgument(f"{what} is one of {', '.join(map(repr, words))}, not {word!r}")
    return words.index(word)


def _limit_ns(seconds: float | None) -> int:
    """The longest time of a run: 0 leaves the default, -1 sets no limit."""
    if seconds is None:
        return 0
    return -1 if seconds == math.inf or seconds == 0 else duration_ns(seconds, "max_run")


def _wait_ns(seconds: float | None) -> int:
    """A wait for cores: 0 does not wait, -1 waits without limit."""
    return -1 if seconds is None else duration_ns(seconds, "timeout")


_open_runtimes: weakref.WeakSet[Runtime] = weakref.WeakSet()


def close_all() -> None:
    """At the end of the interpreter: requests in flight end while their futures can still take the result."""
    for runtime in list(_open_runtimes):
        try:
            runtime.close()
        except Error:
            pass  # of the parent of a forked process
    collector.end()
