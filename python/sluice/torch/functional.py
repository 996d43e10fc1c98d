"""Functions without side effects: state comes in as inputs and goes out as outputs.

torch.onnx.export drops mutations of buffers and inputs silently, so state is made explicit before it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from ..errors import InvalidArgument
from .structure import Structure, structure_of, tensor_names
from .watched import Watched


class StateTensor(NamedTuple):
    """A tensor that changes between calls: a buffer or parameter of the module, or an example input."""

    name: str
    target: str | int  #: name in the module, or index of the example input's tensor
    output: int | None  #: the result's tensor that is its next value; None: it is written in place
    initial: torch.Tensor


class Call(NamedTuple):
    """A function with its example inputs, and what one call of it showed."""

    module: nn.Module
    arguments: Structure
    tensors: list[torch.Tensor]
    input_names: list[str]
    results: Structure
    result_tensors: list[torch.Tensor]
    output_names: list[str]
    states: list[StateTensor]
    parameters: list[str]  #: names of the arguments; fewer if the function has none for them


class _Plain(nn.Module):
    """A module of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *args: Any) -> Any:
        return self._function(*args)


def name_of(module: nn.Module) -> str:
    """The name of the class, or of the function that `as_module` wrapped."""
    named = module._function if isinstance(module, _Plain) else type(module)
    return getattr(named, "__name__", type(named).__name__)


def as_module(function: Any) -> nn.Module:
    if isinstance(function, nn.Module):
        training = [name for name, module in function.named_modules() if module.training]
        if training:
            where = "the model" if "" in training else f'its module "{training[0]}"'
            raise InvalidArgument(f"{where} is in training mode; call model.eval() first")
        return function
    if not callable(function):
        raise TypeError(f"{type(function).__name__} is no module and no function")
    return _Plain(function)


def parameter_names(function: Any) -> list[str]:
    target = function.forward if isinstance(function, nn.Module) else function
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in positional]


def example_call(function: Any, example_inputs: Any,
                 aliases: Mapping[torch.Tensor, int]) -> Call:
    """Calls the function once and finds which tensors change."""
    module = as_module(function)
    args = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    arguments, tensors = structure_of(args, "the example inputs")
    tensors = _distinct(tensors)
    copies = [tensor.detach().clone() for tensor in tensors]
    before = {name: (Watched(tensor), tensor.detach().clone()) for name, tensor in _module_tensors(module).items()}
    attributes = _plain_attributes(module)
    given = [Watched(tensor) for tensor in copies]
    with torch.no_grad():
        result = module(*arguments.unflatten(copies))
    after = _module_tensors(module)
    changed = [name for name, (tensor, _) in before.items()
               if after.get(name) is not tensor.tensor or tensor.is_changed()]
    _restore(module, before, changed)
    written = [i for i, tensor in enumerate(given) if tensor.is_changed()]
    _refuse_attributes(attributes, _plain_attributes(module))
    results, result_tensors = structure_of(result, "the results")
    input_names = tensor_names(args, parameter_names(function), "input")
    output_names = _apart(tensor_names(result, [], "output"), input_names)
    found = {name: before[name][1] for name in changed}
    states = _states(module, tensors, input_names, result_tensors, aliases, found, written)
    return Call(module, arguments, tensors, input_names, results, result_tensors, output_names, states,
                parameter_names(function)[:len(args)])


def _distinct(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The same values in tensors of their own: torch.export takes a tensor that comes twice for one input."""
    seen: set[int] = set()
    distinct = []
    for tensor in tensors:
        distinct.append(tensor.detach().clone() if id(tensor) in seen else tensor)
        seen.add(id(tensor))
    return distinct


class Functional(nn.Module):
    """Tensors and states to tensors and next states, as one flat tuple."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.model = call.module
        self._call = call._replace(module=None)  # type: ignore[arg-type]

    def forward(self, tensors: Sequence[torch.Tensor], states: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        call = self._call
        in_module: dict[str, torch.Tensor] = {}
        remaining = iter(tensors)
        by_input = {state.target: value for state, value in zip(call.states, states)}
        given = [by_input[i].clone() if i in by_input else next(remaining) for i in range(len(call.tensors))]
        for state, value in zip(call.states, states):
            if isinstance(state.target, str):
                in_module[state.target] = value.clone()
        args = call.arguments.unflatten(given)
        result = torch.func.functional_call(self.model, in_module, args) if in_module else self.model(*args)
        _, outputs = structure_of(result, "the results")
        aliased = {state.output for state in call.states}
        following = [_next_value(state, outputs, in_module, given) for state in call.states]
        visible = [output for i, output in enumerate(outputs) if i not in aliased]
        return (*visible, *following)


def _next_value(state: StateTensor, outputs: Sequence[torch.Tensor], in_module: Mapping[str, torch.Tensor],
                given: Sequence[torch.Tensor]) -> torch.Tensor:
    if state.output is not None:
        return outputs[state.output]
    return in_module[state.target] if isinstance(state.target, str) else given[state.target]


def _module_tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _plain_attributes(module: nn.Module) -> dict[str, Watched]:
    """Tensors that are attributes of modules but neither parameters nor buffers."""
    return {f"{prefix}.{name}".lstrip("."): Watched(value)
            for prefix, part in module.named_modules() for name, value in vars(part).items()
            if isinstance(value, torch.Tensor)}


def _refuse_attributes(before: Mapping[str, Watched], after: Mapping[str, Watched]) -> None:
    for name, now in after.items():
        old = before.get(name)
        if old is None or old.tensor is not now.tensor or old.is_changed():
            raise InvalidArgument(f'the call changes the attribute "{name}", which is a tensor but no buffer; '
                                  f'register it with register_buffer("{name.rsplit(".", 1)[-1]}", ...) and it '
                                  "becomes state of the traced model")


def _restore(module: nn.Module, before: Mapping[str, tuple[Watched, torch.Tensor]],
             changed: Sequence[str]) -> None:
    for name in changed:
        tensor, value = before[name][0].tensor, before[name][1]
        with torch.inference_mode(tensor.is_inference()), torch.no_grad():
            if tensor.shape == value.shape:
                tensor.copy_(value)
        owner, _, last = name.rpartition(".")
        setattr(module.get_submodule(owner), last, tensor)


def _apart(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    apart: list[str] = []
    for name in names:
        while name in taken or name in apart:
            name += "_out"
        apart.append(name)
    return apart


def _states(module: nn.Module, tensors: Sequence[torch.Tensor], input_names: Sequence[str],
            results: Sequence[torch.Tensor], aliases: Mapping[torch.Tensor, int],
            changed: Mapping[str, torch.Tensor], written: Sequence[int]) -> list[StateTensor]:
    targets = {id(tensor): name for name, tensor in _module_tensors(module).items()}
    inputs = {id(tensor): i for i, tensor in enumerate(tensors)}
    states: list[StateTensor] = []
    for tensor, output in aliases.items():
        target: str | int | None = targets.get(id(tensor), inputs.get(id(tensor)))
        if target is None:
            raise InvalidArgument("input_output_aliases has a tensor that is no example input, parameter or buffer "
                                  "of the model")
        name = target if isinstance(target, str) else input_names[target]
        _check_alias(name, tensor, output, results, states)
        initial = changed.get(name, tensor)
        states.append(StateTensor(name, target, output, initial.detach().clone()))
    known = {state.name for state in states}
    states += [StateTensor(name, name, None, value) for name, value in changed.items() if name not in known]
    for i in written:
        if input_names[i] not in known:
            raise InvalidArgument(
                f'the function writes to its input "{input_names[i]}"; clone it first, or return it and name the '
                "pair in input_output_aliases, which makes it a state of the traced model")
    return states


def _check_alias(name: str, tensor: torch.Tensor, output: object, results: Sequence[torch.Tensor],
                 states: Sequence[StateTensor]) -> None:
    if isinstance(output, bool) or not isinstance(output, int) or not 0 <= output < len(results):
        raise InvalidArgument(f'input_output_aliases: "{name}" is paired with output {output!r}; the function gives '
                              f"{len(results)} tensors")
    if any(state.output == output for state in states):
        raise InvalidArgument(f"input_output_aliases: output {output} is paired twice")
    result = results[output]
    if result.shape != tensor.shape or result.dtype != tensor.dtype:
        raise InvalidArgument(f'input_output_aliases: "{name}" is {tensor.dtype}{list(tensor.shape)}, output '
                              f"{output} is {result.dtype}{list(result.shape)}")
