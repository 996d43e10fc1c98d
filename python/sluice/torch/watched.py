"""Tensors that somebody may change in place."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

_WHOLE_BYTES = 4096  #: of tensors that are compared whole
_SAMPLES = 64  #: elements of larger ones
_BLOCK_BYTES = 65536  #: of tensors, that a patrol compares at once: some 50 us
_MOST_LOOKS = 1024  #: of a patrol until it has seen all: a look is some hundredth of a call that reads all of them


class Watched:
    """A tensor, and what it was, to find whether it was changed since.

    Torch counts the changes of a tensor. It does not count those of an inference tensor, which is compared with a
    copy instead, and those through `tensor.data`. Those are found in memory of the host: in any element of a tensor of
    up to 4 KiB, and in larger ones if they change one of 64 elements that lie at equal distances. Patrol finds the rest.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self._mark = _mark_of(tensor)
        self._copy = tensor.detach().clone() if tensor.is_inference() else None
        self._memory = _memory_of(tensor)
        self._sample = None if self._memory is None else _sample_of(self._memory)
        self._sampled = None if self._sample is None else self._sample.tobytes()

    def is_changed(self) -> bool:
        if self._copy is None or self.tensor.shape != self._copy.shape:
            if _mark_of(self.tensor) != self._mark:
                return True
            return self._sample is not None and self._sample.tobytes() != self._sampled
        return not torch.equal(_bytes_of(self.tensor), _bytes_of(self._copy))  # so that NaN equals itself


    def blocks(self) -> list[np.ndarray[Any, Any]]:
        """The memory of a tensor of which `is_changed` compares a sample, in parts of 64 KiB at most."""
        if self._memory is None or self._memory.nbytes <= _WHOLE_BYTES:
            return []
        rows = self._memory.reshape(-1)
        return [rows[at:at + _BLOCK_BYTES] for at in range(0, rows.nbytes, _BLOCK_BYTES)]


class Patrol:
    """Finds what a sample misses: each look compares the next blocks of all tensors together, by their checksums.

    A look compares one block in 1024, at least one: a change is found at the latest when as many looks have passed as there
    are blocks, or 1024. Safe from any thread.
    """

    def __init__(self, tensors: Iterable[Watched]) -> None:
        blocks = [block for each in tensors for block in each.blocks()]
        self._blocks = [(block, zlib.crc32(block)) for block in blocks]
        self._num_a_look = -(-len(self._blocks) // _MOST_LOOKS)
        self._turns = itertools.count()
        self._has_found = False

    def is_changed(self) -> bool:
        """Looks at the next blocks. Once true, it stays so."""
        for _ in range(self._num_a_look):
            if self._has_found:
                break
            block, checksum = self._blocks[next(self._turns) % len(self._blocks)]
            if zlib.crc32(block) != checksum:  # another thread's look may have found one meanwhile
                self._has_found = True
        return self._has_found


def _mark_of(tensor: torch.Tensor) -> tuple[object, ...]:
    has_memory = tensor.layout is torch.strided and tensor.device.type != "meta"
    return (tensor.shape, None if tensor.is_inference() else tensor._version,
            tensor.data_ptr() if has_memory else None)


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).view(torch.uint8)


def _memory_of(tensor: torch.Tensor) -> np.ndarray[Any, Any] | None:
    """The tensor's memory, a row of bytes per element; None for tensors of devices, and of other forms than rows."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
        return None
    is_in_another_form = tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or not tensor.is_contiguous()
    if tensor.device.type != "cpu" or is_in_another_form or tensor.is_inference() or tensor.numel() == 0:
        return None
    elements: np.ndarray[Any, Any] = _bytes_of(tensor).numpy().reshape(tensor.numel(), -1)
    return elements


def _sample_of(elements: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return elements if elements.nbytes <= _WHOLE_BYTES else elements[::max(1, len(elements) // _SAMPLES)]
