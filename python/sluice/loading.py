"""sluice.load and sluice.compile."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _native, onnx_files
from .errors import InvalidArgument, NotFound
from .model import Model
from .package import Path, check_seed
from .progress import reporter
from .stateful import with_states

Shapes = Mapping[str, Iterable[int]]


def load(
    source: Path | bytes | bytearray | memoryview | int,
    *,
    threads: int = 0,
    cores: Sequence[int] | None = None,
    backend_dir: Path | None = None,
    max_recorded_bytes: int = 64 << 20,
    seed: int | None = None,
) -> Model:
    """Loads a `.sluice` package from a path, bytes or an open file descriptor.

    A file is mapped, not read. `threads`: number of cores; 0 takes all that the process may use.
    `cores`: core numbers instead. `backend_dir`: folder of plug-ins, looked into first. `max_recorded_bytes`:
    bytes of command lists and plans to keep for shapes of earlier calls, at a time and for each call that runs at
    once. `seed`: random operators start from it, so that runs give the same numbers in every load; None starts from
    a number of the system. A package that names states gives a StatefulModel.
    """
    if threads < 0:
        raise InvalidArgument(f"threads must not be negative: {threads}")
    if max_recorded_bytes < 0:
        raise InvalidArgument(f"max_recorded_bytes must not be negative: {max_recorded_bytes}")
    check_seed(seed)

    def open_at(path: str) -> _native.Model:
        folder = os.fspath(backend_dir) if backend_dir is not None else ""
        return _native.Model(path, threads, list(cores or []), folder, max_recorded_bytes or -1, seed)

    if isinstance(source, (bytes, bytearray, memoryview)):
        return with_states(_load_bytes(source, open_at))
    if isinstance(source, int):
        file = os.dup(source)
        try:
            return with_states(Model(open_at(f"/proc/self/fd/{file}"), "", file))
        except BaseException:
            os.close(file)
            raise
    path = os.fspath(source)
    if not os.path.exists(path):
        raise NotFound(f"{path}: no such file")
    return with_states(Model(open_at(path), path))


def _load_bytes(package: Any, open_at: Callable[[str], _native.Model]) -> Model:
    file = os.memfd_create("package.sluice")
    try:
        with open(os.dup(file), "wb") as writer:
            writer.write(package)
        return Model(open_at(f"/proc/self/fd/{file}"), "", file)
    except BaseException:
        os.close(file)
        raise


def compile(
    model: Any,
    output: Path | None = None,
    *,
    shapes: Shapes | None = None,
    weights: str = "f32",
    backends: Sequence[str] = ("cpu",),
    options: Sequence[str] = (),
    progress: Callable[[str], object] | bool | None = None,
    threads: int = 0,
    folder: Path | None = None,
    seed: int | None = None,
) -> Model:
    """Compiles an ONNX model and loads it.

    `model`: a path, bytes, or an onnx.ModelProto of any size. `output`: a file to keep the package in.
    `shapes`: dimensions by input name. `weights`: "f32", "bf16" or "int8". `options`: more options of
    `sluice compile`, such as ("--strassen", "1"). `progress`: called with the name of each phase; True
    shows a bar in a terminal, and prints the names elsewhere; None shows a bar in a terminal after a second; False
    shows nothing. `folder`: of external data of a model that is no path. `seed`: as for load. Ctrl-C takes
    effect when the compiler is done.
    """
    check_seed(seed)
    with _source(model) as source, reporter(progress) as report:
        package = _native.compile(
            source,
            [*_options(shapes, weights, backends), *options],
            os.fspath(folder) if folder is not None else "",
            os.fspath(output) if output is not None else "",
            report,
        )
    if package is None:
        assert output is not None
        return load(output, threads=threads, seed=seed)
    return load(package, threads=threads, seed=seed)


@contextlib.contextmanager
def _source(model: Any) -> Iterator[str | bytes]:
    """A path or the model's bytes, while the `with` block runs."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if not isinstance(path, str):
            raise TypeError("the model's path is of bytes")
        if not os.path.exists(path):
            raise NotFound(f"{path}: no such file")
        yield path
    elif isinstance(model, (bytes, bytearray, memoryview)):
        yield bytes(model)
    elif not hasattr(model, "SerializeToString"):
        raise TypeError(f"{type(model).__name__} is no path, bytes or onnx.ModelProto")
    elif onnx_files.is_large(model):
        with onnx_files.written(model) as file:
            yield str(file)
    else:
        yield bytes(model.SerializeToString())


def _options(shapes: Shapes | None, weights: str, backends: Sequence[str]) -> list[str]:
    if isinstance(backends, str):
        backends = [backends]
    options = []
    if weights != "f32":
        options += ["--weights", weights]
    if list(backends) != ["cpu"]:
        options += ["--backend", ",".join(backends)]
    for name, dims in (shapes or {}).items():
        options += ["--shape", f"{name}={','.join(str(int(dim)) for dim in dims)}"]
    return options
