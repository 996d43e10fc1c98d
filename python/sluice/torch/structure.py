"""The structure of arguments and results: nested tuples, lists and dictionaries, flattened to tensors.

Torch's pytree module flattens; leaves that are no tensors are constants of the trace. Arguments have places; a keyword
names one.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ..errors import InvalidArgument

_TENSOR = "tensor"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_MISSING = object()


class Structure(NamedTuple):
    """A tree whose leaves are tensors, by position, or constants."""

    spec: Any
    leaves: tuple[Any, ...]  #: per leaf: an index of a tensor, or ("constant", value)

    def unflatten(self, tensors: Sequence[Any]) -> Any:
        values = [tensors[leaf] if isinstance(leaf, int) else leaf[1] for leaf in self.leaves]
        return pytree.tree_unflatten(values, self.spec)

    def flatten(self, tree: Any) -> list[Any]:
        """The tensors of `tree`, which must have this structure and these constants."""
        values, spec = pytree.tree_flatten(tree)
        if spec != self.spec:
            raise InvalidArgument(
                f"the arguments are {_describe(tree)}, the model was traced with {self._describe()}")
        return self.tensors_of(values)

    def tensors_of(self, values: Sequence[Any], hidden: Collection[int] = ()) -> list[Any]:
        """The tensors of leaves, which must have these constants. `hidden`: tensors that callers may leave out."""
        tensors = []
        for value, leaf in zip(values, self.leaves):
            if not isinstance(leaf, int):
                _check_constant(value, leaf[1])
            elif leaf not in hidden:
                tensors.append(value)
        return tensors

    def to_json(self) -> str:
        leaves = [leaf if isinstance(leaf, int) else list(leaf) for leaf in self.leaves]
        return json.dumps({"tree": pytree.treespec_dumps(self.spec), "leaves": leaves})

    @staticmethod
    def from_json(text: str) -> Structure:
        read = json.loads(text)
        leaves = tuple(leaf if isinstance(leaf, int) else tuple(leaf) for leaf in read["leaves"])
        return Structure(pytree.treespec_loads(read["tree"]), leaves)

    def _describe(self) -> str:
        return _describe(self.unflatten([_TENSOR] * len(self.leaves)))


def _check_constant(value: Any, traced: Any) -> None:
    if isinstance(value, torch.Tensor) or _identity_of(value) != _identity_of(traced):
        raise InvalidArgument(f"{value!r} was {traced!r} when the model was traced, and is fixed; pass a tensor at the "
                              "trace for what changes")


def _identity_of(constant: Any) -> tuple[Any, ...]:
    """Equal for constants that give the same trace: 1, True and 1.0 differ, and so do 0.0 and -0.0."""
    kind = next((kind for kind in (bool, int, float, str) if isinstance(constant, kind)), type(constant))
    return kind, float.hex(constant) if kind is float else constant  # NaN equals itself as text


def structure_of(tree: Any, what: str) -> tuple[Structure, list[torch.Tensor]]:
    """The structure of `tree` and its tensors."""
    values, spec = pytree.tree_flatten(tree)
    tensors: list[torch.Tensor] = []
    leaves: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            leaves.append(len(tensors))
            tensors.append(value)
        elif value is None or isinstance(value, (bool, int, float, str)):
            leaves.append(("constant", value))
        else:
            raise InvalidArgument(f"{what} contain a {type(value).__name__}; tensors, numbers and containers of "
                                  "them can be traced")
    return Structure(spec, tuple(leaves)), tensors


def tensor_names(tree: Any, first: Sequence[str], default: str) -> list[str]:
    """A name for each tensor of `tree` by its place; `first` are the names of the top level's entries."""
    names: list[str] = []
    for path, value in pytree.tree_flatten_with_path(tree)[0]:
        if not isinstance(value, torch.Tensor):
            continue
        keys = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))) for key in path]
        if path and hasattr(path[0], "idx") and path[0].idx < len(first):
            keys[0] = first[path[0].idx]
        elif not path or hasattr(path[0], "idx"):
            keys.insert(0, default)
        name = re.sub(r"\W+", "_", "_".join(keys)) or default
        while name in names:
            name += "_"
        names.append(name)
    return names


def by_place(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call of `function` by their places; the function's defaults fill the gaps.

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
    """The arguments of a call of a traced model by their places; constants of the trace fill the gaps. `names`: of its
    arguments.

    Raises InvalidArgument for unknown names and tensors that are missing.
    """
    unknown = [name for name in kwargs if name not in names[len(args):]]
    if unknown:
        what = f"is given twice: {unknown[0]}" if unknown[0] in names else f"is unknown: {unknown[0]}"
        raise InvalidArgument(f"an argument {what}; the model was traced with {', '.join(names) or 'none that has a name'}")
    constants = arguments.unflatten([_MISSING] * len(arguments.leaves))
    values = [*args, *(kwargs.get(name, constants[i]) for i, name in enumerate(names) if i >= len(args))]
    for name, value in zip(names, values):
        if any(leaf is _MISSING for leaf in pytree.tree_flatten(value)[0]):
            raise InvalidArgument(f'the argument "{name}" is missing')
    return tuple(values)


def _describe(tree: Any) -> str:
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {_describe(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, (tuple, list)):
        inner = ", ".join(map(_describe, tree))
        return f"({inner})" if isinstance(tree, tuple) else f"[{inner}]"
    return _TENSOR if isinstance(tree, torch.Tensor) or tree is _TENSOR else repr(tree)
