"""sluice.torch.trace."""

from __future__ import annotations

import json
import pathlib
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import torch
from torch import nn

from .. import arrays, loading
from ..errors import InvalidArgument
from ..model import Model
from ..stateful import METADATA_KEY as STATES_KEY
from ..stateful import StateSpec, encode_initial
from . import exporting, record, shapes
from .bucket_sizes import Buckets, merge_sizes, resized
from .functional import Call, Functional, example_call, parameter_names
from .traced import TracedModel

# Protobuf takes at most 2 GiB; larger models go through a file.
_MAX_IN_MEMORY_BYTES = 1 << 30


def trace(
    func: nn.Module | Callable[..., Any],
    example_inputs: Any,
    *,
    input_output_aliases: Mapping[torch.Tensor, int] | None = None,
    compiler_workdir: str | pathlib.Path | None = None,
    compiler_args: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    buckets: Buckets | None = None,
    frontend: str = "export",
) -> TracedModel:
    """Traces a function or module with example inputs and compiles it.

    `example_inputs`: a tensor or a tuple of arguments, which may be nested containers. `input_output_aliases`:
    states; a buffer, parameter or example input to the number of the output tensor that is its next value.
    Buffers that the call changes in place are states without being named. `compiler_workdir`: a folder that
    gets the ONNX model, the package and a report. `compiler_args`: options of `sluice compile`.
    `dynamic_shapes`: dimensions that vary, as for torch.export; strings name them too. `buckets`: the sizes that
    they are traced at. `frontend`: "export" or "torchscript".
    Raises InvalidArgument for wrong arguments, Unimplemented for what cannot be traced.
    """
    if frontend not in exporting.FRONTENDS:
        raise InvalidArgument(f"frontend must be one of {exporting.FRONTENDS}, not {frontend!r}")
    workdir = make_workdir(compiler_workdir)
    call = example_call(func, example_inputs, input_output_aliases or {})
    args = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    flat_shapes = shapes.flatten_shapes(args, parameter_names(func), dynamic_shapes)
    if buckets is not None:
        model = _to_bucket_model(func, call, flat_shapes, buckets, frontend, workdir)
    else:
        model = to_model(call, flat_shapes, frontend, workdir)
    return TracedModel(compile_model(model, compiler_args, workdir))


def _to_bucket_model(func: Any, example: Call, flat_shapes: Sequence[Any] | None, buckets: Buckets, frontend: str,
                     workdir: pathlib.Path | None) -> onnx.ModelProto:
    if any(state.output is not None for state in example.states):
        raise InvalidArgument("buckets: input_output_aliases cannot be combined with Buckets; bucket_model_trace takes "
                              "aliases for each bucket")
    axes = buckets.axes_of(flat_shapes)
    calls = [example_call(func, example.arguments.unflatten(resized(example.tensors, axes, sizes)), {})
             for sizes in buckets.combinations()]
    models = [to_model(call, None, frontend, workdir) for call in calls]
    merged = merge_sizes(models, calls, example, axes, buckets)
    for key in (record.KEY, STATES_KEY):
        if (text := record.find(models[0], key)) is not None:
            record.write(merged, key, text)
    return merged


def to_model(call: Call, flat_shapes: Sequence[Any] | None, frontend: str, workdir: pathlib.Path | None, *,
             optimize: bool = True) -> onnx.ModelProto:
    """The ONNX model of a call, with the record of its trace and its states."""
    hidden = {state.target for state in call.states if isinstance(state.target, int)}
    tensors = [tensor for i, tensor in enumerate(call.tensors) if i not in hidden]
    names = [name for i, name in enumerate(call.input_names) if i not in hidden]
    if flat_shapes is not None:
        flat_shapes = [entry for i, entry in enumerate(flat_shapes) if i not in hidden]
    aliased = [state.output for state in call.states if state.output is not None]
    outputs = [name for i, name in enumerate(call.output_names) if i not in aliased]
    specs = [StateSpec(state.name, f"state.{state.name}", f"state.{state.name}.next",
                       encode_initial(arrays.from_torch(state.initial.contiguous()))) for state in call.states]
    initials = [state.initial for state in call.states]
    module = Functional(call).eval()
    input_names = [*names, *(spec.input for spec in specs)]
    output_names = [*outputs, *(spec.output for spec in specs)]
    if frontend == "torchscript":
        model = exporting.by_torchscript(module, tensors, initials, input_names, output_names,
                                         shapes.dynamic_axes(names, flat_shapes), workdir)
    else:
        program = exporting.to_program(module, tensors, initials, flat_shapes, workdir)
        model = exporting.to_onnx(program, input_names, output_names, optimize=optimize,
                                  workdir=workdir).model_proto
        shapes.check_kept(model, names, flat_shapes)
        shapes.rename_symbols(model, names, flat_shapes)
    record.write(model, record.KEY, record.encode(call.arguments, call.results, sorted(hidden), sorted(aliased), {
        "torch": torch.__version__, "frontend": frontend}))
    if specs:
        record.write(model, STATES_KEY, json.dumps([spec._asdict() for spec in specs]))
    return model


def compile_model(model: onnx.ModelProto, compiler_args: str | Sequence[str] | None,
                  workdir: pathlib.Path | None) -> Model:
    options = shlex.split(compiler_args) if isinstance(compiler_args, str) else list(compiler_args or ())
    if workdir is not None:
        _write_model(model, workdir / "model.onnx")
        _write_report(model, options, workdir / "report.json")
        return loading.compile(workdir / "model.onnx", workdir / "model.sluice", options=options)
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
