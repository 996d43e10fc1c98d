"""Tensors that somebody may change in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

_WHOLE_BYTES = 4096  #: of tensors that are compared whole
_SAMPLES = 64  #: elements of larger ones


class Watched:
    """A tensor, and what it was, to find whether it was changed since.

    Torch counts the changes of a tensor. It does not count those of an inference tensor, which is compared with a
    copy instead, and those through `tensor.data`. Those are found in memory of the host: in any element of a tensor of
    up to 4 KiB, and in larger ones if they change one of 64 elements that lie at equal distances.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self._mark = _mark_of(tensor)
        self._copy = tensor.detach().clone() if tensor.is_inference() else None
        self._sample = _sample_of(tensor)  #: shares the tensor's memory
        self._sampled = None if self._sample is None else self._sample.tobytes()

    def is_changed(self) -> bool:
        if self._copy is None or self.tensor.shape != self._copy.shape:
            if _mark_of(self.tensor) != self._mark:
                return True
            return self._sample is not None and self._sample.tobytes() != self._sampled
        return not torch.equal(_bytes_of(self.tensor), _bytes_of(self._copy))  # so that NaN equals itself


def _mark_of(tensor: torch.Tensor) -> tuple[object, ...]:
    has_memory = tensor.layout is torch.strided and tensor.device.type != "meta"
    return (tensor.shape, None if tensor.is_inference() else tensor._version,
            tensor.data_ptr() if has_memory else None)


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).view(torch.uint8)


def _sample_of(tensor: torch.Tensor) -> np.ndarray[Any, Any] | None:
    """Some elements as bytes in the tensor's memory; None for tensors of devices, and of other forms than rows."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
        return None
    is_in_another_form = tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or not tensor.is_contiguous()
    if tensor.device.type != "cpu" or is_in_another_form or tensor.is_inference() or tensor.numel() == 0:
        return None
    elements: np.ndarray[Any, Any] = _bytes_of(tensor).numpy().reshape(tensor.numel(), -1)
    return elements if elements.nbytes <= _WHOLE_BYTES else elements[::max(1, tensor.numel() // _SAMPLES)]
