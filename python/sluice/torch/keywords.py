"""Arguments by keyword: a trace has them by place."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from ..errors import InvalidArgument
from .structure import Structure

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_MISSING = object()


def by_place(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call of `function`; those between that are not given have their defaults.

    Raises InvalidArgument for arguments that the function does not take, or takes by keyword alone.
    """
    signature = inspect.signature(function.forward if isinstance(function, nn.Module) else function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise InvalidArgument(f"example_kwarg_inputs: {error}") from error
    values: list[Any] = []
    between: list[Any] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            values += given.get(name, ())
        elif parameter.kind not in _POSITIONAL:
            if name in given:
                raise InvalidArgument(f'example_kwarg_inputs: "{name}" has no place among the arguments; trace a function '
                                      "that passes it on")
        elif name in given:
            values += [*between, given[name]]
            between = []
        else:
            between.append(parameter.default)
    return tuple(values)


def call_by_place(names: Sequence[str], arguments: Structure, args: tuple[Any, ...],
                  kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call of a traced model. `names`: of its arguments; those that are not given have the constants
    of the trace.

    Raises InvalidArgument for unknown names and tensors that are missing.
    """
    unknown = [name for name in kwargs if name not in names[len(args):]]
    if unknown:
        what = f"is given twice: {unknown[0]}" if unknown[0] in names else f"is unknown: {unknown[0]}"
        raise InvalidArgument(f"an argument {what}; the model was traced with {', '.join(names) or 'none that has a name'}")
    constants = arguments.unflatten([_MISSING] * len(arguments.leaves))
    values = [*args, *(kwargs.get(name, constants[i]) for i, name in enumerate(names) if i >= len(args))]
    for name, value in zip(names, values):
        if value is _MISSING:
            raise InvalidArgument(f'the argument "{name}" is missing')
    return tuple(values)
