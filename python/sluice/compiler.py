"""The compiler and its options."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

from . import _native, onnx_files
from .errors import NotFound
from .package import Path, whole
from .terminal.progress import reporter

#: Dimensions by input name, or one by its own name.
Shapes = Mapping[str, Iterable[int] | int]
Progress = Callable[[str], object] | bool | None
_LISTS = {"backends": "--backend", "overridable": "--overridable", "cuts": "--cut", "segment_cores": "--cores",
          "arch": "--arch"}
_VALUES = {"weights": "--weights", "kv_cache": "--kv-cache", "operator_times": "--operator-times", "executor": "--executor",
           "min_segment": "--min-segment", "max_segments": "--max-segments", "min_share": "--min-share",
           "strassen": "--strassen", "graphs": "--graphs", "emit": "--emit", "code": "--code",
           "operators": "--operators"}


class CompileOptions(TypedDict, total=False):
    """Options of the compiler, as those of `sluice compile`, which says more about each."""

    shapes: Shapes
    weights: str  #: precision of constant matrices in products: "f32", "bf16" or "int8"
    kv_cache: str  #: numbers of a language model's keys and values: "f32", "f16" or "int8"
    adapters: Mapping[str, Path]  #: folders of PEFT by the names that texts of a language model ask for
    backends: Sequence[str]  #: in order of preference
    places: Sequence[str]  #: PATTERN=BACKEND[,BACKEND]: where operations may run
    operator_times: Path  #: chooses backends by the times in this file
    overridable: Sequence[str]  #: initializers that stay inputs: names, or one of "auto", "all", "none"
    optimize: bool
    executor: str  #: "linear", "dataflow", "parallel" or "auto"
    cuts: Sequence[str]  #: nodes that start a segment
    segment_cores: Sequence[int]  #: number of cores for each segment
    min_segment: int
    max_segments: int
    min_share: float
    winograd: bool
    strassen: int  #: levels, 0 to 2
    graphs: Path  #: folder for the graphs as text
    pack: bool
    packed_only: bool
    arch: Sequence[str]  #: devices that compiled kernels are for, "sm_80"
    emit: str  #: BACKEND=DIR: writes the sources of kernels there
    code: Path  #: folder of edited sources, which take the place of generated ones
    operators: Path  #: module of operators that the package carries


def compile_package(model: Any, output: Path | None = None, *, options: Sequence[str] = (),
                    progress: Progress = None, folder: Path | None = None) -> str | bytes:
    """The package: its bytes, or `output`, where it is then. Arguments as for sluice.compile."""
    with _source(model) as source, reporter(progress) as report:
        package = _native.compile(
            source,
            list(options),
            os.fspath(folder) if folder is not None else "",
            os.fspath(output) if output is not None else "",
            report,
        )
    if package is not None:
        return package
    assert output is not None
    return os.fspath(output)


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


def _dims(dims: Iterable[int] | int) -> list[int]:
    """The values of one dimension, or of all dimensions of an input."""
    try:
        return [whole(dim, "shapes") for dim in dims]  # type: ignore[union-attr]
    except TypeError:
        return [whole(dims, "shapes")]


def as_flags(given: CompileOptions) -> list[str]:
    """The options as the command line has them. Raises TypeError for others."""
    flags: list[str] = []
    for name, value in given.items():
        if name == "shapes":
            for key, dims in (given["shapes"] or {}).items():
                flags += ["--shape", f"{key}={_joined(_dims(dims))}"]
        elif name == "places":
            flags += [part for place in given["places"] for part in ("--place", place)]
        elif name == "adapters":
            flags += [part for key, folder in given["adapters"].items() for part in ("--adapter", f"{key}={os.fspath(folder)}")]
        elif name in _LISTS:
            flags += [_LISTS[name], _joined([value] if isinstance(value, str) else value)]
        elif name in _VALUES:
            flags += [_VALUES[name], os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        elif name in ("optimize", "winograd", "pack"):
            flags += [] if value else [f"--no-{name}"]
        elif name == "packed_only":
            flags += ["--packed-only"] if value else []
        else:
            raise TypeError(f"compile has no option {name!r}; it has {', '.join(CompileOptions.__annotations__)}")
    return flags


def _joined(values: Any) -> str:
    return ",".join(str(value) for value in values)
