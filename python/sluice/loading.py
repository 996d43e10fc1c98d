"""sluice.load and sluice.compile."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from .cache import with_package
from .compiler import CompileOptions, Progress, as_flags, compile_package
from .errors import InvalidArgument, NotFound
from .model import Model
from .opening import check_arguments, open_package
from .package import Path, check_seed, check_threads, is_uncompiled

if TYPE_CHECKING:
    from typing_extensions import Unpack


def load(
    source: Any,
    *,
    threads: int = 0,
    cores: Sequence[int] | None = None,
    backend_dir: Path | None = None,
    max_recorded_bytes: int = 64 << 20,
    seed: int | None = None,
    **compiling: Unpack[CompileOptions],
) -> Model:
    """Loads a `.sluice` package, or a model that it compiles into a cache: of ONNX, a folder of Hugging Face, a GGUF file.

    `source`: a path, bytes, an open descriptor of a package, or an onnx.ModelProto, which is compiled each time.
    A folder has config.json and safetensors; the model of one, or of a GGUF file, generates texts (Model.generate).
    A package is mapped, not read. The package of a folder, an ONNX file or its bytes is kept in $SLUICE_CACHE_DIR, by
    default ~/.cache/sluice, so that a second load takes milliseconds. `threads`: number of cores; 0 takes all that
    the process may use. `cores`: core numbers instead. `backend_dir`: folder of plug-ins, looked into first.
    `max_recorded_bytes`: bytes of command lists and plans to keep for shapes of earlier calls, at a time and for
    each call that runs at once. `seed`: random operators start from it, so that runs give the same numbers in every
    load; None starts from a number of the system. A package that names states gives a StatefulModel. Other
    keywords: those of sluice.compile, for a model that is no package.
    """
    opening: dict[str, Any] = {"threads": threads, "cores": cores, "backend_dir": backend_dir,
                               "max_recorded_bytes": max_recorded_bytes, "seed": seed}
    check_arguments(threads, max_recorded_bytes, seed)
    if isinstance(source, (str, os.PathLike)) and not os.path.exists(source):
        raise NotFound(f"{os.fspath(source)}: no such file")
    if not is_uncompiled(source):
        if compiling:
            raise InvalidArgument(f"{next(iter(compiling))}: the package is compiled already; give the model that it was compiled from")
        return open_package(source, **opening)
    _allow_named(compiling)
    return load_cached(source, as_flags(compiling), opening)


def load_cached(source: Any, options: list[str], opening: Mapping[str, Any], beside: str = "") -> Model:
    """Loads a package, or a model to compile through the cache. `opening`: arguments of open_package. `beside`: where
    bytes have their external data; "" for nowhere.
    """
    if not is_uncompiled(source):
        return open_package(source, **opening)
    return with_package(source, options, lambda package: open_package(package, **opening), beside)


def compile(
    model: Any,
    output: Path | None = None,
    *,
    options: Sequence[str] = (),
    progress: Progress = None,
    threads: int = 0,
    folder: Path | None = None,
    seed: int | None = None,
    **compiling: Unpack[CompileOptions],
) -> Model:
    """Compiles an ONNX model, a folder of Hugging Face or a GGUF file, and loads it.

    `model`: a path, bytes, or an onnx.ModelProto of any size. `output`: a file to keep the package in.
    `shapes`: dimensions by input name, {"image": (1, 3, 224, 224)}, or one by its own name, {"N": 4}. Other
    keywords: those of CompileOptions. `options`: the same as the command takes them, ("--strassen", "1").
    `progress`: called with the name of each phase; True shows a bar in a terminal, and prints the names elsewhere;
    None shows a bar in a terminal after a second; False shows nothing. `folder`: of external data of a model that
    is no path. `seed`: as for load. Ctrl-C takes effect when the compiler is done.
    """
    check_threads(threads)
    check_seed(seed)
    _allow_named(compiling)
    package = compile_package(model, output, options=[*as_flags(compiling), *options], progress=progress, folder=folder)
    return open_package(package, threads=threads, seed=seed)


def _allow_named(compiling: CompileOptions) -> None:
    """Who names a module of operators to the compiler, which runs it, may run it in the package, too."""
    module = compiling.get("operators")
    if module is not None and os.path.isfile(module):
        with open(module, "rb") as file:
            _native.allow_operators(hashlib.sha256(file.read()).hexdigest())
