"""Queues of a model: arrays go in one per tensor, and the model takes the next of each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native, arrays
from .dtypes import Array
from .errors import Error, InvalidArgument, from_status
from .requests import Request, collector, duration_ns
from .signature import SignedModel, TensorSpec, writable

_STATUS_OF = {1: 9, 2: 3, 3: 5, 4: 8, 5: 4, 6: 14, 7: 8, 8: 9, 9: 8, 10: 12, 1001: 1, 1002: 3, 1003: 15}


class Entry(Request):
    """An array in a queue. The result is the array, or its rows that the model wrote."""

    def end(self, status: int, message: str, outputs: list[Any] | None, size_bytes: int) -> None:
        if status != 0:
            error = from_status(_STATUS_OF.get(status, 13), "")
            message = message or f"the entry's request ended: {type(error).__name__}"
            status = error.code
        super().end(status, message, outputs, size_bytes)

    def cancel(self) -> bool:
        """False: closing the queues returns all entries."""
        return False


class Queues:
    """Made by LoadedModel.queues. When every queue has an array, the first of each become a request.

    Any thread puts arrays; those of several tensors meet in the order in which they were put. The arrays are the
    queues' until their entry is done.
    """

    def __init__(self, native: _native.Queues, model: SignedModel[_native.LoadedModel]) -> None:
        self._native = native
        self._model = model  # loaded as long as this object is there
        self._specs = {spec.name: (spec, is_output) for specs, is_output in
                       ((model.inputs, False), (model.outputs, True)) for spec in specs}
        self._is_open = True

    def put(self, name: str, array: Array, timeout: float | None = 0) -> Entry:
        """Adds an array of the tensor's type, contiguous; a writable one for an output.

        A full queue waits at most `timeout` seconds, None without limit, then raises ResourceExhausted.
        """
        spec, is_output = self._find(name)
        if is_output:
            writable(array, spec)
        elif not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise InvalidArgument(f'"{name}" takes a contiguous numpy array: the model reads it where it lies')
        given = arrays.to_input(array, spec.element_type, name, spec.type)
        entry = Entry(lambda _, size_bytes: _rows(array, size_bytes) if is_output else array)
        timeout_ns = -1 if timeout is None else duration_ns(timeout, "timeout")
        self._native.put(collector.replies(), entry, name, given, timeout_ns)
        return entry

    def close(self) -> None:
        """Waits for running requests; waiting entries raise Cancelled."""
        if self._is_open:
            self._is_open = False
            self._native.close()

    def __enter__(self) -> Queues:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        except Error:
            pass  # of a model or runtime that is gone already

    def __repr__(self) -> str:
        return f"<sluice.Queues of {', '.join(self._specs)}{'' if self._is_open else ', closed'}>"

    def _find(self, name: str) -> tuple[TensorSpec, bool]:
        found = self._specs.get(name)
        if found is None:
            hint = self._model._signature.fixed_input_hint(name)
            raise InvalidArgument(f'no queue "{name}"; there are {", ".join(self._specs)}{hint}')
        return found


def _rows(array: Array, size_bytes: int) -> Array:
    """What the model wrote: only the first dimension varies."""
    if size_bytes >= array.nbytes or array.ndim == 0:
        return array
    return array[: size_bytes // (array.nbytes // array.shape[0])]
