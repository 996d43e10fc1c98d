"""sluice.torch.dynamic_batch: batches of any size over a model that was traced with one size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from ..errors import InvalidArgument
from ..model import TensorSpec
from .traced import Each, TracedModel


def dynamic_batch(traced: TracedModel) -> TracedModel:
    """Lets `traced` take any number of rows: it splits them into chunks of the traced size.

    The last chunk is padded with copies of its last row. Changes `traced` and returns it. The first dimension
    of all inputs and outputs must be the batch, of one size; other dimensions stay as traced.
    Raises InvalidArgument if they are not, or if the model keeps state.
    """
    if len(traced.state) > 0:
        raise InvalidArgument(f"the model keeps state ({', '.join(traced.state)}), which belongs to one sequence of "
                              "calls and cannot be split; give each sequence a session() instead")
    traced.batching = Batching(traced.inputs, _traced_size(traced))
    return traced


def _traced_size(traced: TracedModel) -> int | None:
    """The number of rows of the trace; None if the package takes any."""
    sizes: dict[int | None, str] = {}
    for kind, specs in (("input", traced.inputs), ("output", traced.outputs)):
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


class Batching(NamedTuple):
    """Splits batches for a model whose inputs all have `size` rows."""

    inputs: tuple[TensorSpec, ...]
    size: int | None

    def run(self, call: Callable[[list[Any]], list[Any]], tensors: Sequence[Any], each: Each = map) -> list[Any]:
        """`each` applies the call to all chunks: one after another, or at once on several cores."""
        rows = self._check(tensors)
        if self.size is None or rows == self.size:
            return call(list(tensors))
        chunks = [[_chunk(tensor, start, self.size) for tensor in tensors] for start in range(0, rows, self.size)]
        results = list(each(call, chunks))
        return [torch.cat(pieces)[:rows] for pieces in zip(*results)]

    def _check(self, tensors: Sequence[Any]) -> int:
        rows: int | None = None
        for spec, tensor in zip(self.inputs, tensors):
            if not isinstance(tensor, torch.Tensor):
                raise InvalidArgument(f'input "{spec.name}" is a {type(tensor).__name__}, not a tensor')
            fixed = (spec.shape or ())[1:]
            given = tuple(tensor.shape[1:])
            fits = len(fixed) == len(given) and tensor.dim() > 0
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


def _chunk(tensor: torch.Tensor, start: int, size: int) -> torch.Tensor:
    """Rows from `start`; the last row is repeated up to `size`."""
    piece = tensor[start:start + size]
    missing = size - piece.shape[0]
    if missing > 0:
        piece = torch.cat([piece, piece[-1:].expand(missing, *piece.shape[1:])])
    return piece
