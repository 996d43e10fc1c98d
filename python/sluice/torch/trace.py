"""sluice.torch.trace."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import torch
from torch import nn

from .. import arrays
from ..errors import InvalidArgument
from ..stateful import METADATA_KEY as STATES_KEY
from ..stateful import StateSpec, encode_initial
from ..tracing import metadata
from ..tracing.output_types import match_types
from ..tracing.compiling import as_options, compile_model, make_workdir
from ..tracing.size_buckets import Buckets, Observed, merge_sizes
from . import devices, exporting, record, shapes
from .functional import Call, Functional, example_call, name_of, parameter_names
from .partition import PartitionerConfig, partitioned
from .structure import by_place
from .traced import TracedModel, placed
from .weights import keep_apart


def trace(
    func: nn.Module | Callable[..., Any],
    example_inputs: Any,
    *,
    input_output_aliases: Mapping[torch.Tensor, int] | None = None,
    compiler_workdir: str | pathlib.Path | None = None,
    compiler_args: str | Sequence[str] | None = None,
    partitioner_config: PartitionerConfig | None = None,
    inline_weights: bool = True,
    dynamic_shapes: Any = None,
    buckets: Buckets | None = None,
    frontend: str = "export",
    device: str | None = None,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    threads: int = 0,
) -> TracedModel:
    """Traces a function or module with example inputs and compiles it.

    `example_inputs`: a tensor or a tuple of arguments, which may be nested containers. `input_output_aliases`:
    states; a buffer, parameter or example input to the number of the output tensor that is its next value.
    Buffers that the call changes in place are states without being named. `compiler_workdir`: a folder that
    gets the ONNX model, the package and a report. `compiler_args`: options of `sluice compile`.
    `partitioner_config`: leaves operators that Sluice cannot run to torch. `inline_weights`: False keeps the names of the weights, for replace_weights.
    `dynamic_shapes`: dimensions that vary, as for torch.export; strings name them too. `buckets`: the sizes that
    they are traced at. `frontend`: "export" or "torchscript". `device`: "cuda" compiles for a GPU; calls then take and
    give tensors there. The model and the example inputs may be there, too. `example_kwarg_inputs`: more arguments, by
    name; the traced model takes them by name, too. `threads`: number of cores; 0 takes all that the process may use.
    Raises InvalidArgument for wrong arguments, Unimplemented for what cannot be traced.
    """
    if frontend not in exporting.FRONTENDS:
        raise InvalidArgument(f"frontend must be one of {exporting.FRONTENDS}, not {frontend!r}")
    if not inline_weights and (frontend != "export" or buckets is not None):
        raise InvalidArgument('inline_weights=False needs frontend="export" and no buckets')
    if partitioner_config is not None and (not inline_weights or frontend != "export" or dynamic_shapes is not None):
        raise InvalidArgument('partitioner_config needs frontend="export", inlined weights and fixed shapes')
    devices.check_device(device, {
        "input_output_aliases": input_output_aliases, "partitioner_config": partitioner_config, "buckets": buckets,
        "dynamic_shapes": dynamic_shapes, "inline_weights=False": not inline_weights})
    options = devices.options_for(device, as_options(compiler_args))
    if example_kwarg_inputs:
        args = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
        example_inputs = by_place(func, args, example_kwarg_inputs)
    if device == "cuda":
        func, example_inputs = devices.to_processor(func, example_inputs)
    workdir = make_workdir(compiler_workdir)
    call = example_call(func, example_inputs, input_output_aliases or {})
    if partitioner_config is not None:
        parts = partitioned(call, partitioner_config, workdir, trace)
        if parts is not None:
            return parts.reopen(threads=threads) if threads else parts
    args = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    flat_shapes = shapes.flatten_shapes(args, parameter_names(func), dynamic_shapes)
    if buckets is not None:
        model = _to_bucket_model(func, call, flat_shapes, buckets, frontend, workdir)
    else:
        # torch's optimizer folds weights into others under the same names.
        model = to_model(call, flat_shapes, frontend, workdir, optimize=inline_weights)
    if not inline_weights:
        keep_apart(model, call, options)
    return TracedModel(placed(devices.checked(compile_model(model, options, workdir, threads), device)))


def _to_bucket_model(func: Any, example: Call, flat_shapes: Sequence[Any] | None, buckets: Buckets, frontend: str,
                     workdir: pathlib.Path | None) -> onnx.ModelProto:
    if any(state.output is not None for state in example.states):
        raise InvalidArgument("buckets: input_output_aliases cannot be combined with Buckets; "
                              "sluice.torch.neuron.bucket_model_trace takes aliases for each bucket")
    axes = buckets.axes_of(flat_shapes)
    calls = [example_call(func, example.arguments.unflatten(shapes.resized(example.tensors, axes, sizes)), {})
             for sizes in buckets.combinations()]
    models = [to_model(call, None, frontend, workdir) for call in calls]
    given = {name: example.tensors[i].shape[axis] for i, entry in enumerate(axes) for axis, name in entry}
    observed = [_observed(call, sizes) for call, sizes in zip([*calls, example], [*buckets.combinations(), given])]
    merged = merge_sizes(models, observed, axes, buckets)
    for key in (metadata.KEY, STATES_KEY):
        if (text := metadata.find(models[0], key)) is not None:
            metadata.write(merged, key, text)
    return merged


def _observed(call: Call, sizes: Mapping[str, int]) -> Observed:
    aliased = {state.output for state in call.states}
    return Observed(sizes, {name: tuple(tensor.shape) for i, (name, tensor) in
                            enumerate(zip(call.output_names, call.result_tensors)) if i not in aliased})


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
        model = exporting.to_onnx(program, input_names, output_names, optimize=optimize, workdir=workdir)
        shapes.check_kept(model, names, flat_shapes)
        shapes.rename_symbols(model, names, flat_shapes)
    results = [tensor for i, tensor in enumerate(call.result_tensors) if i not in aliased]
    match_types(model.graph, [arrays.number_of_torch(tensor.dtype) for tensor in (*results, *initials)])
    model.graph.name = name_of(call.module)
    metadata.write(model, metadata.KEY, record.encode(call.arguments, call.results, sorted(hidden), sorted(aliased), {
        "torch": torch.__version__, "frontend": frontend, "parameters": call.parameters}))
    if specs:
        metadata.write(model, STATES_KEY, json.dumps([spec._asdict() for spec in specs]))
    return model
