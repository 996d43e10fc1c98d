"""The graph partitioner: operators that Sluice cannot run, or that the user names, stay in torch."""

from __future__ import annotations

import json
import logging
import pathlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from .. import arrays, dtypes
from ..errors import InvalidArgument
from ..model import Model, TensorSpec
from ..stateful import METADATA_KEY as STATES_KEY
from ..stateful import StateSpec, encode_initial, with_states
from ..tracing.metadata import KEY as TRACE_KEY
from . import exporting, record
from .analyze import support_of
from .functional import Call, Functional
from .operators import Operator, check_names, decomposed, operators_of
from .partition_graph import Cut, cut
from .partition_runner import PartitionRunner, Step
from .traced import TracedModel

_logger = logging.getLogger("sluice.torch")
_ANALYZE_PARAMETERS = {"compiler_workdir", "additional_ignored_ops", "max_workers"}
_TRACE_KWARGS = {"compiler_workdir", "compiler_args"}


class PartitionerConfig:
    """How `trace` divides a model between Sluice and torch.

    `trace_kwargs`: compiler_workdir and compiler_args of the parts in Sluice. `model_support_percentage_threshold`:
    the share of operators, 0 to 1, that Sluice must run. `min_subgraph_size`: operators that each part in Sluice
    must have; `max_subgraph_count`: parts, of both kinds, that the model may have; -1: any number.
    `ops_to_partition`: names such as "aten::sort" that stay in torch in any case. `analyze_parameters`:
    compiler_workdir, additional_ignored_ops (names that do not count) and max_workers.
    Raises InvalidArgument for other values. The logger "sluice.torch" says at level INFO what was divided.
    """

    def __init__(self, *, trace_kwargs: Mapping[str, Any] | None = None,
                 model_support_percentage_threshold: float = 0.5, min_subgraph_size: int = -1,
                 max_subgraph_count: int = -1, ops_to_partition: Collection[str] | None = None,
                 analyze_parameters: Mapping[str, Any] | None = None) -> None:
        if not 0 <= model_support_percentage_threshold <= 1:
            raise InvalidArgument("model_support_percentage_threshold must be between 0 and 1, not "
                                  f"{model_support_percentage_threshold}")
        for name, value in (("min_subgraph_size", min_subgraph_size), ("max_subgraph_count", max_subgraph_count)):
            if value != -1 and value < 1:
                raise InvalidArgument(f"{name} must be -1 or at least 1, not {value}")
        for name, given, known in (("trace_kwargs", trace_kwargs, _TRACE_KWARGS),
                                   ("analyze_parameters", analyze_parameters, _ANALYZE_PARAMETERS)):
            if unknown := set(given or ()) - known:
                raise InvalidArgument(f'{name} has "{unknown.pop()}"; the partitioner takes {sorted(known)}')
        check_names(ops_to_partition or ())
        self.trace_kwargs = dict(trace_kwargs or {})
        self.model_support_percentage_threshold = model_support_percentage_threshold
        self.min_subgraph_size = min_subgraph_size
        self.max_subgraph_count = max_subgraph_count
        self.ops_to_partition = set(ops_to_partition or ())
        self.analyze_parameters = dict(analyze_parameters or {})


def partitioned(call: Call, config: PartitionerConfig, workdir: pathlib.Path | None,
                trace_part: Callable[..., TracedModel]) -> TracedModel | None:
    """The model in parts; None if Sluice runs all of it. `trace_part` is trace."""
    program = decomposed(exporting.to_program(Functional(call).eval(), _visible(call),
                                              [state.initial for state in call.states], None, workdir))
    found = operators_of(program, config.ops_to_partition)
    _check_support(found, config)
    in_torch = {each.node for each in found if not each.is_supported}
    if not in_torch:
        return None
    divided = cut(program, in_torch)
    _check_parts(divided, config)
    runner = _runner(call, divided, config, trace_part)
    return TracedModel(with_states(runner))  # type: ignore[arg-type]


def _visible(call: Call) -> list[torch.Tensor]:
    hidden = {state.target for state in call.states if isinstance(state.target, int)}
    return [tensor for i, tensor in enumerate(call.tensors) if i not in hidden]


def _check_support(found: Sequence[Operator], config: PartitionerConfig) -> None:
    ignored = set(config.analyze_parameters.get("additional_ignored_ops") or ())
    counted = [each for each in found if each.name not in ignored]
    share = support_of(counted)
    for each in found:
        if not each.is_supported:
            _logger.info("%s stays in torch: %s", each.name, each.place)
    if share < config.model_support_percentage_threshold:
        names = sorted({each.name for each in counted if not each.is_supported})
        raise InvalidArgument(f"Sluice runs {share:.0%} of the model's operators, less than "
                              f"model_support_percentage_threshold {config.model_support_percentage_threshold:.0%}; "
                              f"not {', '.join(names)}")


def _check_parts(divided: Cut, config: PartitionerConfig) -> None:
    for part in divided.parts:
        if part.is_sluice and part.num_operators < config.min_subgraph_size:
            raise InvalidArgument(f"a part in Sluice has {part.num_operators} operators, less than min_subgraph_size "
                                  f"{config.min_subgraph_size}")
    limit = config.max_subgraph_count
    if limit != -1 and len(divided.parts) > limit:
        raise InvalidArgument(f"the model has {len(divided.parts)} parts, more than max_subgraph_count {limit}")


def _runner(call: Call, divided: Cut, config: PartitionerConfig, trace_part: Callable[..., TracedModel]) -> Model:
    initials = [state.initial for state in call.states]
    values = dict(zip(divided.inputs, [*_visible(call), *initials]))
    examples = dict(values)
    steps = []
    for i, part in enumerate(divided.parts):
        args = tuple(values[name] for name in part.inputs)
        with torch.no_grad():
            results = part.module(*args)
        values.update(zip(part.outputs, results))
        runs: Any = part.module
        if part.is_sluice:
            kwargs = dict(config.trace_kwargs)
            if kwargs.get("compiler_workdir") is not None:
                kwargs["compiler_workdir"] = pathlib.Path(kwargs["compiler_workdir"], f"part{i}")
            runs = trace_part(part.module, args, **kwargs)
        _logger.info("part %d in %s: %d operators", i, "Sluice" if part.is_sluice else "torch", part.num_operators)
        steps.append(Step(part.is_sluice, runs, part.inputs, part.outputs, [arg.clone() for arg in args]))
    return _assemble(call, divided, steps, examples, {**divided.constants, **values})


def _assemble(call: Call, divided: Cut, steps: list[Step], examples: Mapping[str, torch.Tensor],
              values: Mapping[str, torch.Tensor]) -> Model:
    hidden = {state.target for state in call.states if isinstance(state.target, int)}
    aliased = {state.output for state in call.states if state.output is not None}
    states = [StateSpec(state.name, f"state.{state.name}", f"state.{state.name}.next",
                        encode_initial(arrays.from_torch(state.initial.contiguous()))) for state in call.states]
    names = [name for i, name in enumerate(call.input_names) if i not in hidden] + [state.input for state in states]
    results = [name for i, name in enumerate(call.output_names) if i not in aliased]
    results += [state.output for state in states]
    metadata = {"metadata." + TRACE_KEY: record.encode(
        call.arguments, call.results, sorted(hidden), sorted(aliased),  # type: ignore[type-var]
        {"torch": torch.__version__, "frontend": "export", "parameters": call.parameters})}
    if states:
        metadata["metadata." + STATES_KEY] = json.dumps([state._asdict() for state in states])
    inputs = [(name, value, _spec(name, examples[value])) for name, value in zip(names, divided.inputs)]
    outputs = [(name, value, _spec(name, values[value])) for name, value in zip(results, divided.outputs)]
    return PartitionRunner(steps, inputs, outputs, divided.constants, metadata)  # type: ignore[return-value]


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    number = dtypes.find_element_type(arrays.from_torch(tensor.detach()[:0] if tensor.dim() else tensor).dtype)
    assert number is not None
    dims = ",".join(map(str, tensor.shape))
    return TensorSpec(name, f"{dtypes.BY_NUMBER[number].name}[{dims}]", number, tuple(tensor.shape), None)
