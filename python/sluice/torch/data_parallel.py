"""sluice.torch.DataParallel: a batch split over replicas of a traced model, one on each core."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from ..errors import InvalidArgument
from .batching import dynamic_batch
from .placement import num_cores
from .traced import TracedModel


class DataParallel(nn.Module):
    """Splits inputs along `dim` over the cores `device_ids`, all by default, and joins the results.

    With dynamic batching, the default for dim 0, any number of rows is taken. Without, each core's share must be
    of the traced size. Any thread may call it. Raises InvalidArgument for a model with state or without inputs.
    """

    def __init__(self, model: TracedModel, device_ids: Sequence[int] | None = None, dim: int = 0,
                 set_dynamic_batching: bool = True) -> None:
        super().__init__()
        if len(model.state) > 0:
            raise InvalidArgument("a model with state cannot be split; give each sequence a session() instead")
        if not model.inputs:
            raise InvalidArgument("the model has no inputs to split")
        ids = list(range(num_cores())) if device_ids is None else list(device_ids)
        if not ids or any(not 0 <= core < num_cores() for core in ids):
            raise InvalidArgument(f"device_ids must be some of 0 to {num_cores() - 1}, not {ids}")
        self.device_ids = ids
        self.dim = dim
        self._replicas = [model.reopen(cores=[core]) for core in ids]
        self._is_dynamic = set_dynamic_batching and dim == 0
        for replica in self._replicas:
            replica.batching = None
            if self._is_dynamic:
                dynamic_batch(replica)
        self._pool = concurrent.futures.ThreadPoolExecutor(len(ids), "sluice-parallel")
        self.eval()

    @property
    def num_workers(self) -> int:
        """Threads that run shares of a batch."""
        return len(self._replicas)

    def disable_dynamic_batching(self) -> None:
        """From now on each core's share must be of the traced size."""
        self._is_dynamic = False
        for replica in self._replicas:
            replica.batching = None

    def forward(self, *args: Any) -> Any:
        first = self._replicas[0]
        tensors = first.flatten(args)
        shares = self._scatter(tensors)
        futures = [self._pool.submit(replica.run_flat, share) for replica, share in zip(self._replicas, shares)]
        pieces = [future.result() for future in futures]
        return first.unflatten([torch.cat(values, self.dim) for values in zip(*pieces)])

    def _scatter(self, tensors: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
        sizes = {tensor.shape[self.dim] if tensor.dim() > self.dim else None for tensor in tensors}
        if len(sizes) > 1 or None in sizes or 0 in sizes:
            shapes = [list(tensor.shape) for tensor in tensors]
            raise InvalidArgument(f"dimension {self.dim} must exist and be of one size in all inputs, not {shapes}")
        size = int(next(iter(sizes)) or 0)
        share = -(-size // len(self._replicas))
        if not self._is_dynamic:
            share = self._fixed_share(size)
        return [list(pieces) for pieces in zip(*(tensor.split(share, self.dim) for tensor in tensors))]

    def _fixed_share(self, size: int) -> int:
        spec = self._replicas[0].inputs[0]
        traced = (spec.shape or ())[self.dim]
        if traced is None:
            return -(-size // len(self._replicas))
        if size % traced or size // traced > len(self._replicas):
            raise InvalidArgument(f'input "{spec.name}": dimension {self.dim} is {size}; without dynamic batching it must '
                                  f"be {traced} for each of up to {len(self._replicas)} cores")
        return traced
