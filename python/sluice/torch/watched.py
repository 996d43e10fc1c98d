"""Tensors that somebody may change in place."""

from __future__ import annotations

import torch


class Watched:
    """A tensor, and what it was, to find whether it was changed since.

    Torch counts the changes of a tensor. It does not count those of an inference tensor, which is compared with a
    copy instead, and those through `tensor.data`, which are not seen unless they assign another tensor.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self._mark = _mark_of(tensor)
        self._copy = tensor.detach().clone() if tensor.is_inference() else None

    def is_changed(self) -> bool:
        if self._copy is None or self.tensor.shape != self._copy.shape:
            return _mark_of(self.tensor) != self._mark
        return not torch.equal(_bytes_of(self.tensor), _bytes_of(self._copy))  # so that NaN equals itself


def _mark_of(tensor: torch.Tensor) -> tuple[object, ...]:
    has_memory = tensor.layout is torch.strided and tensor.device.type != "meta"
    return (tensor.shape, None if tensor.is_inference() else tensor._version,
            tensor.data_ptr() if has_memory else None)


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).view(torch.uint8)
