"""The program `sluice` of the package, and its commands as calls."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import onnx_files
from .compiler import CompileOptions, as_flags
from .errors import Error, NotFound
from .loading import load
from .model import Model
from .package import Package, Path

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The inputs of one run by name, or the value of the only input.
Sample = Mapping[str, Any] | Any


def program() -> str:
    """The program `sluice`: $SLUICE_PROGRAM, that of the wheel, or the first on the PATH."""
    own = os.environ.get("SLUICE_PROGRAM", "")
    inside = pathlib.Path(__file__).parent / "bin" / "sluice"
    found = own or (str(inside) if inside.exists() else shutil.which("sluice"))
    if not found:
        raise NotFound("the program `sluice` is not installed; set SLUICE_PROGRAM to its path")
    return found


def doctor() -> str:
    """What this machine has, and which plug-ins loaded or why not: the text of `sluice doctor`."""
    done = subprocess.run([program(), "doctor"], capture_output=True, text=True)
    return done.stdout + done.stderr


def inspect(model: Any, **compiling: Unpack[CompileOptions]) -> dict[str, Any]:
    """What a model contains: signature, segments, constants, the operations by kernel. As `sluice inspect --json`.

    `model`: a Model, the path of a package or of an ONNX model, or an onnx.ModelProto. Other keywords: those of
    sluice.compile, for an ONNX model.
    """
    return _json("inspect", model, as_flags(compiling))


def explain(model: Any, *, ask: Sequence[str] = (), **compiling: Unpack[CompileOptions]) -> dict[str, Any]:
    """Why each operation runs where it does, with its cost in nanoseconds. As `sluice explain --json`.

    `ask`: backends whose support and cost to show; by default the model's and all others that load.
    """
    asked = ["--ask", ",".join(ask)] if ask else []
    return _json("explain", model, [*as_flags(compiling), *asked])


def bench(model: Any, *, seconds: float = 1, threads: int = 0, **compiling: Unpack[CompileOptions]) -> dict[str, Any]:
    """Times of runs on random inputs: `median_us` and others. As `sluice bench --json`. Blocks for `seconds`.

    Dimensions that the model leaves open are 1, or what `shapes` says.
    """
    return _json("bench", model, [*as_flags(compiling), "--seconds", str(seconds), "--threads", str(threads)])


def tune(package: Path, output: Path | None = None, *, seconds: float | None = None, threads: int = 0,
         shapes: Mapping[str, Iterable[int] | int] | None = None) -> str:
    """Measures the tactics of a package's kernels on this machine and writes the package with the fastest.

    Writes to `output`, or over the package itself. Returns the report of `sluice tune`. Blocks.
    """
    flags = as_flags({"shapes": shapes or {}})
    if output is not None:
        flags += ["--output", os.fspath(output)]
    if seconds is not None:
        flags += ["--seconds", str(seconds)]
    return run_command("tune", os.fspath(package), *flags, "--threads", str(threads))


def quantize(model: Any, calibration: Path | Iterable[Sample], output: Path, *, keep_f32: Sequence[str] = (),
             threads: int = 0, shapes: Mapping[str, Iterable[int] | int] | None = None) -> Model:
    """Compiles an ONNX model with convolutions in 8 bits, writes it to `output` and loads it.

    `model`: its path or an onnx.ModelProto. `calibration`: samples that give the ranges of activations: a dict of
    inputs by name each, or an array each for a model of one input; or a folder as for `sluice quantize`. A hundred
    samples like those of use are enough. `keep_f32`: names of convolutions that stay in f32. The model's
    `metadata` does not keep the report; `sluice quantize` prints it.
    """
    with _path_of(model) as path, _samples_in(calibration, path) as folder:
        flags = [*as_flags({"shapes": shapes or {}}), "--output", os.fspath(output), "--threads", str(threads)]
        if keep_f32:
            flags += ["--f32", ",".join(keep_f32)]
        run_command("quantize", path, "--calibration", folder, *flags)
    return load(output, threads=threads)


def _json(command: str, model: Any, flags: Sequence[str]) -> dict[str, Any]:
    with _path_of(model) as path:
        return dict(json.loads(run_command(command, path, "--json", *flags)))


def run_command(command: str, *arguments: str) -> str:
    """What the command prints. Raises Error with the text of a failure."""
    done = subprocess.run([program(), command, *arguments], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    raise Error(done.stderr.strip() or f"sluice {command} ended with {done.returncode}")


@contextlib.contextmanager
def _path_of(model: Any) -> Iterator[str]:
    """A path that another process can read, while the `with` block runs."""
    if isinstance(model, Package) and model.file is None:
        yield model.path
    elif isinstance(model, Package):
        yield f"/proc/{os.getpid()}/fd/{model.file}"
    elif isinstance(model, (str, os.PathLike)):
        if not os.path.exists(model):
            raise NotFound(f"{os.fspath(model)}: no such file")
        yield os.fspath(model)
    elif hasattr(model, "SerializeToString"):
        with onnx_files.written(model) as file:
            yield str(file)
    else:
        raise TypeError(f"{type(model).__name__} is no Model, path or onnx.ModelProto")


@contextlib.contextmanager
def _samples_in(calibration: Path | Iterable[Sample], model: str) -> Iterator[str]:
    """A folder of samples as the command reads it, while the `with` block runs."""
    if isinstance(calibration, (str, os.PathLike)):
        yield os.fspath(calibration)
        return
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        for number, sample in enumerate(calibration):
            feeds = sample if isinstance(sample, Mapping) else {_only_input(model): sample}
            place = pathlib.Path(folder, f"{number:06}")
            place.mkdir()
            for name, value in feeds.items():
                if "/" in name:
                    raise Error(f'input "{name}": a sample cannot be written under a name with a slash')
                np.save(place / f"{name}.npy", np.asarray(value))
        yield folder


def _only_input(model: str) -> str:
    inputs = load(model).inputs
    if len(inputs) != 1:
        names = ", ".join(f'"{spec.name}"' for spec in inputs)
        raise Error(f"a sample is no dict, and the model has {len(inputs)} inputs: {names}")
    return inputs[0].name
