"""Calls of models by position or name: one way for models of this process and of a runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from . import _native
from ._native import Runtime as NativeRuntime
from .signature import Described, Signature, TensorSpecs

Native = TypeVar("Native", _native.Model, _native.LoadedModel)


class SignedModel(_native.CallableModel, Generic[Native]):
    """A call runs the model on inputs by position or name and returns one output, or a tuple of several.

    The extension runs numpy arrays of the model's types as they are. A call of any other arguments comes to
    `_convert_and_call`.
    """

    _native: Native

    def __init__(self, native: Native, inputs: Sequence[Described], outputs: Sequence[Described],
                 has_fixed_inputs: bool, runtime: NativeRuntime | None = None) -> None:
        self._native = native
        self._signature = Signature(inputs, outputs, has_fixed_inputs, runtime)

    @property
    def inputs(self) -> TensorSpecs:
        return self._signature.inputs

    @property
    def outputs(self) -> TensorSpecs:
        return self._signature.outputs

    def _convert_and_call(self, *args: object, **kwargs: object) -> Any:
        return self._signature.call(self._native.run, self._signature.bind(args, kwargs))
