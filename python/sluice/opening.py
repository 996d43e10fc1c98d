"""Loads packages from a path, bytes or an open file descriptor."""

from __future__ import annotations

import contextlib
import copyreg
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _native, cache
from .errors import InvalidArgument, NotFound
from .model import Model
from .package import Path, check_seed, check_threads, core_numbers, whole_of
from .stateful import StatefulModel, with_states


def check_arguments(threads: int, max_recorded_bytes: int, seed: int | None) -> None:
    check_threads(threads)
    if whole_of(max_recorded_bytes, "max_recorded_bytes", 64) < 0:
        raise InvalidArgument(f"max_recorded_bytes must not be negative: {max_recorded_bytes}")
    check_seed(seed)


def open_package(
    source: Path | bytes | bytearray | memoryview | int,
    *,
    threads: int = 0,
    cores: Sequence[int] | None = None,
    backend_dir: Path | None = None,
    max_recorded_bytes: int = 64 << 20,
    seed: int | None = None,
) -> Model:
    """What sluice.load does with a package."""
    check_arguments(threads, max_recorded_bytes, seed)
    arguments = {"threads": threads, "cores": cores, "backend_dir": backend_dir,
                 "max_recorded_bytes": max_recorded_bytes, "seed": seed}

    def open_at(path: str) -> _native.Model:
        folder = os.fspath(backend_dir) if backend_dir is not None else ""
        return _native.Model(path, threads, core_numbers(cores), folder, max_recorded_bytes or -1, seed)

    if isinstance(source, (bytes, bytearray, memoryview)):
        return _loaded(_load_bytes(source, open_at), arguments)
    if isinstance(source, int):
        return _loaded(_own("", os.dup(source), open_at), arguments)
    path = os.path.abspath(source)  # the process may change its folder
    if not os.path.exists(path):
        raise NotFound(f"{path}: no such file")
    if os.path.isdir(path):
        raise InvalidArgument(f"{path}: the folder has no config.json, as that of a language model has; give a file")
    return _loaded(_load_file(path, open_at), arguments)


def _loaded(model: Model, arguments: dict[str, Any]) -> Model:
    model.loaded = arguments
    return with_states(model)


def _load_file(path: str, open_at: Callable[[str], _native.Model]) -> Model:
    while True:
        file = None  # where the path cannot be opened, the library says why
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe waits for no writer
        model = _own(path, file, open_at)
        if model.file is None:
            return model
        model.close()  # the path led to two files


def _load_bytes(package: Any, open_at: Callable[[str], _native.Model]) -> Model:
    file = os.memfd_create("package.sluice")
    try:
        with open(os.dup(file), "wb") as writer:
            writer.write(package)
    except BaseException:
        os.close(file)
        raise
    return _own("", file, open_at)


def _own(path: str, file: int | None, open_at: Callable[[str], _native.Model]) -> Model:
    """A model that closes the descriptor when it goes, or now if the package does not load."""
    try:
        native = open_at(path or f"/proc/self/fd/{file}")
    except BaseException:
        if file is not None:
            os.close(file)
        raise
    return Model(native, path, file)


def _reduce(model: Model) -> Any:
    has_path = model.file is None and not cache.holds(model.path)
    return _open_again, (model.path if has_path else model.content(), model.loaded)


def _open_again(source: Path | bytes, arguments: dict[str, Any]) -> Model:
    return open_package(source, **arguments)


def _reduce_with_states(model: StatefulModel) -> Any:
    if type(model._model) is not Model:
        raise TypeError("a model of several parts does not pickle: save it")
    return _open_with_states, (*_reduce(model)[1], model.state.snapshot())


def _open_with_states(source: Path | bytes, arguments: dict[str, Any], values: dict[str, Any]) -> Model:
    model = _open_again(source, arguments)
    assert isinstance(model, StatefulModel)
    model.state.restore(values)
    return model


copyreg.pickle(Model, _reduce)
copyreg.pickle(StatefulModel, _reduce_with_states)
