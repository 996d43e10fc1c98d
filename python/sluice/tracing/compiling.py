"""From an ONNX model to a loaded package, and the work directory that shows how."""

from __future__ import annotations

import json
import pathlib
import shlex
from collections.abc import Sequence

import onnx

from .. import loading, onnx_files
from ..errors import InvalidArgument
from ..model import Model
from . import metadata


def as_options(compiler_args: str | Sequence[str] | None) -> list[str]:
    return shlex.split(compiler_args) if isinstance(compiler_args, str) else list(compiler_args or ())


def compile_model(model: onnx.ModelProto, options: Sequence[str], workdir: pathlib.Path | None, threads: int = 0) -> Model:
    """Compiles and loads a model; `workdir` gets it, the package and a report."""
    if workdir is not None:
        onnx_files.write(model, workdir / "model.onnx")
        _write_report(model, options, workdir / "report.json")
        return loading.compile(workdir / "model.onnx", workdir / "model.sluice",
                               options=["--graphs", str(workdir / "graphs"), *options], threads=threads)
    return loading.compile(model, options=options, threads=threads)


def make_workdir(folder: str | pathlib.Path | None) -> pathlib.Path | None:
    if folder is None:
        return None
    path = pathlib.Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(f"compiler_workdir: {error}") from error
    return path


def _write_report(model: onnx.ModelProto, options: Sequence[str], path: pathlib.Path) -> None:
    kinds: dict[str, int] = {}
    for node in model.graph.node:
        kinds[node.op_type] = kinds.get(node.op_type, 0) + 1
    record = json.loads(metadata.find(model, metadata.KEY) or "{}")
    path.write_text(json.dumps({
        "torch": record.get("torch"), "options": list(options), "operators": dict(sorted(kinds.items())),
        "inputs": [value.name for value in model.graph.input],
        "outputs": [value.name for value in model.graph.output]}, indent=2) + "\n")
