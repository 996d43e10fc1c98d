"""From an ONNX model to a loaded package, and the work directory that shows how."""

from __future__ import annotations

import json
import pathlib
import shlex
import tempfile
from collections.abc import Sequence

import onnx
import torch

from .. import loading
from ..errors import InvalidArgument
from ..model import Model

# Protobuf takes at most 2 GiB; larger models go through a file.
_MAX_IN_MEMORY_BYTES = 1 << 30


def as_options(compiler_args: str | Sequence[str] | None) -> list[str]:
    return shlex.split(compiler_args) if isinstance(compiler_args, str) else list(compiler_args or ())


def compile_model(model: onnx.ModelProto, options: Sequence[str], workdir: pathlib.Path | None) -> Model:
    if workdir is not None:
        _write_model(model, workdir / "model.onnx")
        _write_report(model, options, workdir / "report.json")
        return loading.compile(workdir / "model.onnx", workdir / "model.sluice",
                               options=["--graphs", str(workdir / "graphs"), *options])
    if model.ByteSize() < _MAX_IN_MEMORY_BYTES:
        return loading.compile(model, options=options)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        _write_model(model, path)
        return loading.compile(path, options=options)


def make_workdir(folder: str | pathlib.Path | None) -> pathlib.Path | None:
    if folder is None:
        return None
    path = pathlib.Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(f"compiler_workdir: {error}") from error
    return path


def _write_model(model: onnx.ModelProto, path: pathlib.Path) -> None:
    is_large = model.ByteSize() >= _MAX_IN_MEMORY_BYTES
    onnx.save_model(model, path, save_as_external_data=is_large, all_tensors_to_one_file=True,
                    location=path.name + ".data")


def _write_report(model: onnx.ModelProto, options: Sequence[str], path: pathlib.Path) -> None:
    kinds: dict[str, int] = {}
    for node in model.graph.node:
        kinds[node.op_type] = kinds.get(node.op_type, 0) + 1
    path.write_text(json.dumps({
        "torch": torch.__version__, "options": list(options), "operators": dict(sorted(kinds.items())),
        "inputs": [value.name for value in model.graph.input],
        "outputs": [value.name for value in model.graph.output]}, indent=2) + "\n")
