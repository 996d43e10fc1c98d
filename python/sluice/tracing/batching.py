"""Batches of any size over a model that was traced with one size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import InvalidArgument
from ..model import TensorSpec

#: Applies a function to each of some values: `map`, or that of a pool of threads.
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Batching(NamedTuple):
    """Splits batches for a model whose inputs all have `size` rows; None: any number.

    `kind`: the class of the tensors that callers give; `join`: joins a list of them along the first dimension.
    """

    inputs: tuple[TensorSpec, ...]
    size: int | None
    kind: type[Any]
    join: Callable[[list[Any]], Any]

    def run(self, call: Callable[[list[Any]], list[Any]], tensors: Sequence[Any], each: Each = map) -> list[Any]:
        """`each` applies the call to all chunks: one after another, or at once on several cores."""
        rows = self._check(tensors)
        if self.size is None or rows == self.size:
            return call(list(tensors))
        chunks = [[self._chunk(tensor, start, self.size) for tensor in tensors] for start in range(0, rows, self.size)]
        results = list(each(call, chunks))
        return [self.join(list(pieces))[:rows] for pieces in zip(*results)]

    def _check(self, tensors: Sequence[Any]) -> int:
        rows: int | None = None
        for spec, tensor in zip(self.inputs, tensors):
            if not isinstance(tensor, self.kind):
                raise InvalidArgument(f'input "{spec.name}" is a {type(tensor).__name__}, not a tensor')
            fixed = (spec.shape or ())[1:]
            given = tuple(tensor.shape[1:])
            fits = len(fixed) == len(given) and len(tensor.shape) > 0
            if not fits or any(want not in (None, got) for want, got in zip(fixed, given)):
                raise InvalidArgument(f'input "{spec.name}": got {list(tensor.shape)}, model takes {spec.type} with '
                                      "any first dimension; dynamic batching changes no other dimension")
            if rows is None:
                rows = tensor.shape[0]
            elif tensor.shape[0] != rows:
                raise InvalidArgument(f'input "{spec.name}" has {tensor.shape[0]} rows, input '
                                      f'"{self.inputs[0].name}" has {rows}')
        if not rows:
            raise InvalidArgument("a batch needs at least one row")
        return rows

    def _chunk(self, tensor: Any, start: int, size: int) -> Any:
        """Rows from `start`; the last row is repeated up to `size`."""
        piece = tensor[start:start + size]
        missing = size - piece.shape[0]
        return piece if missing == 0 else self.join([piece, *[piece[-1:]] * missing])


def batching_of(inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...], kind: type[Any],
                join: Callable[[list[Any]], Any]) -> Batching:
    """The batching of a model, whose inputs and outputs must have the batch, of one size, as first dimension.

    Raises InvalidArgument if they have not.
    """
    return Batching(inputs, _traced_size(inputs, outputs), kind, join)


def _traced_size(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int | None:
    """The number of rows of the trace; None if the package takes any."""
    sizes: dict[int | None, str] = {}
    for kind, specs in (("input", inputs), ("output", outputs)):
        for spec in specs:
            if not spec.shape:
                raise InvalidArgument(f'dynamic batching splits the first dimension, but {kind} "{spec.name}" is '
                                      f"{spec.type}")
            sizes.setdefault(spec.shape[0], f'{kind} "{spec.name}": {spec.type}')
    if not sizes:
        raise InvalidArgument("dynamic batching needs an input")
    if len(sizes) > 1:
        raise InvalidArgument("dynamic batching needs the same first dimension in all inputs and outputs; the model "
                              f"has {', '.join(sizes.values())}")
    return next(iter(sizes))
