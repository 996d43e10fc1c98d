"""Inputs and outputs of a model: their order, names and types, and calls by position or name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, SupportsIndex, TypeVar, overload

import numpy as np

from . import _native, arrays, dtypes
from ._native import Runtime as NativeRuntime
from .dtypes import Array
from .exchange import ExchangedTensor
from .errors import InvalidArgument, NotFound

#: Runs the extension on converted inputs: (inputs, wanted outputs, memory or None) to outputs.
Execute = Callable[[list[Any], list[bool], list[Any] | None], list[Any]]
#: A tensor as the extension describes it: name, type, element type, shape, batch axis, whether it has a default.
Described = tuple[str, str, int, Any, int, bool]
_MISSING: Any = object()
GPU = "cuda"  #: the type of torch's devices, and the backend, of a GPU
_DEVICE_ALIGNMENT = 64  # bytes, of what the library takes in memory of a device
Native = TypeVar("Native", _native.Model, _native.LoadedModel)


class TensorSpec(NamedTuple):
    """An input or output as the model declares it. A dimension is None where any size fits."""

    name: str
    type: str  #: "f32[N,3,224,224]"
    element_type: int  #: ONNX's TensorProto.DataType
    shape: tuple[int | None, ...] | None
    batch_axis: int | None  #: along which requests may be joined
    has_default: bool = False  #: an input that may be left out: it has the model's value then

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type, of a sequence's elements too; of the package ml_dtypes for bf16, f8 and below."""
        return dtypes.dtype_of(self.element_type or dtypes.element_type_within(self.type))

    @property
    def is_tensor(self) -> bool:
        """False for "seq(...)", a list of arrays, and "optional(...)", a value or None."""
        return self.element_type != 0


class TensorSpecs(tuple[TensorSpec, ...]):
    """The inputs or the outputs of a model in their order, which are found by name, too: `model.inputs["image"]`."""

    @overload
    def __getitem__(self, key: SupportsIndex) -> TensorSpec: ...
    @overload
    def __getitem__(self, key: str) -> TensorSpec: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[TensorSpec, ...]: ...

    def __getitem__(self, key: Any) -> Any:
        """By index, slice or name. Raises KeyError, which lists the names."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        for spec in self:
            if spec.name == key:
                return spec
        raise KeyError(f'no tensor is called "{key}"; there are ' + ", ".join(f'"{spec.name}"' for spec in self))


def specs_of(described: Sequence[Described]) -> TensorSpecs:
    return TensorSpecs(TensorSpec(*spec[:4], spec[4] if spec[4] >= 0 else None, spec[5]) for spec in described)


class Signature:
    """Prepares arguments for the extension, and results for the caller. Immutable."""

    def __init__(self, inputs: Sequence[Described], outputs: Sequence[Described],
                 has_fixed_inputs: bool = False, runtime: _native.Runtime | None = None) -> None:
        self._runtime = runtime  # whose exchange may have inputs
        self._has_fixed_inputs = has_fixed_inputs  # initializers that the file lists as inputs
        self.inputs = specs_of(inputs)
        self.outputs = specs_of(outputs)
        self.output_names = [spec.name for spec in self.outputs]
        self._index = {spec.name: i for i, spec in enumerate(self.inputs)}
        self._all = [True] * len(self.outputs)

    def lines(self) -> str:
        """For representations: a line per tensor."""
        return ("".join(f"\n  input {spec.name}: {spec.type}{' = default' if spec.has_default else ''}"
                        for spec in self.inputs)
                + "".join(f"\n  output {spec.name}: {spec.type}" for spec in self.outputs))

    def has_input(self, name: str) -> bool:
        return name in self._index

    def find_input(self, name: str) -> int:
        index = self._index.get(name)
        if index is None:
            known = ", ".join(f'"{spec.name}"' for spec in self.inputs)
            raise NotFound(f'the model has no input "{name}"; it has {known}{self.fixed_input_hint(name)}')
        return index

    def fixed_input_hint(self, name: str) -> str:
        """What an error about a name that is no input adds: the option that may make it one."""
        if not self._has_fixed_inputs:
            return ""
        return ("; initializers that its file lists as inputs are constants: "
                f"compile with --overridable {name} to give such an input")

    def find_output(self, name: str) -> int:
        for i, known in enumerate(self.output_names):
            if known == name:
                return i
        names = ", ".join(f'"{known}"' for known in self.output_names)
        raise NotFound(f'the model has no output "{name}"; it has {names}')

    def order(self, feeds: Mapping[str, object]) -> list[object]:
        """Values in order of the inputs; None for a missing input with a default."""
        try:
            given: list[object] = [feeds[name] for name in self._index]
            if len(feeds) == len(given):
                return given
        except (KeyError, IndexError, TypeError):
            pass
        return self._order_with_reason(feeds)

    def _order_with_reason(self, feeds: Mapping[str, object]) -> list[object]:
        if not isinstance(feeds, Mapping):
            raise InvalidArgument(f"run takes a dict of inputs by name, not {type(feeds).__name__}; call the model "
                                  "itself for inputs in order")
        ordered: list[Any] = [_MISSING] * len(self.inputs)
        for name, value in feeds.items():
            ordered[self.find_input(name)] = value
        missing = [spec for spec, value in zip(self.inputs, ordered)
                   if value is _MISSING and not spec.has_default]
        if missing:
            names = ", ".join(f'"{spec.name}": {spec.type}' for spec in missing)
            raise InvalidArgument(f"inputs are missing: {names}")
        return [None if value is _MISSING else value for value in ordered]

    def bind(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[object]:
        """Values in order of the inputs, from the arguments of a call."""
        if len(args) > len(self.inputs):
            raise InvalidArgument(f"{len(args)} inputs given, the model takes {len(self.inputs)}")
        feeds = dict(zip((spec.name for spec in self.inputs), args))
        for name, value in kwargs.items():
            if name in feeds:
                raise InvalidArgument(f'input "{name}" is given twice')
            feeds[name] = value
        return self.order(feeds)

    def convert(self, ordered: Sequence[object]) -> list[Any]:
        return [
            None if value is None and spec.has_default
            else value.index_for(self._runtime, spec.name) if isinstance(value, ExchangedTensor)
            else arrays.to_input(value, spec.element_type, spec.name, spec.type) if spec.is_tensor
            else _elements(value, spec)
            for spec, value in zip(self.inputs, ordered)
        ]

    def call(self, execute: Execute, ordered: Sequence[object]) -> Any:
        """Converts, runs, and returns the output, or a tuple of several."""
        results = execute(self.convert(ordered), self._all, None)
        return self.results_of(results, has_torch(ordered))

    def results_of(self, raw: Sequence[Any], wants_torch: bool) -> Any:
        """What a call returns for the extension's outputs."""
        results = [_result(item, spec, wants_torch) for item, spec in zip(raw, self.outputs)]
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, execute: Execute, ordered: list[object], outputs: Sequence[str] | None,
            out: Mapping[str, Array] | None) -> dict[str, Any]:
        """Converts, runs, and returns outputs by name."""
        names = self.output_names if outputs is None else outputs
        indices = [self.find_output(name) for name in names]
        wanted = [i in indices for i in range(len(self.outputs))]
        memory: list[Array | None] = [None] * len(self.outputs)
        for name, given in (out or {}).items():
            index = self.find_output(name)
            memory[index] = writable(given, self.outputs[index])
        raw = [None if array is None else array.reshape(-1).view(np.uint8) for array in memory]
        converted = self.convert(ordered)
        results = execute(converted, wanted, raw)
        wants_torch = has_torch(ordered)
        named: dict[str, Any] = {}
        for i in indices:
            array = memory[i]
            if array is not None:
                named[self.outputs[i].name] = _shaped(array, results[i][1])
            else:
                named[self.outputs[i].name] = _result(results[i], self.outputs[i], wants_torch)
        return named


def _elements(value: object, spec: TensorSpec) -> list[Any]:
    """A sequence's tensors; of an optional none or one, or those of its sequence."""
    if value is None and spec.type.startswith("optional("):
        return []
    is_list = isinstance(value, (list, tuple))
    if not is_list and spec.type.startswith("seq("):
        raise InvalidArgument(f'input "{spec.name}": a {type(value).__name__}, model takes a list of arrays: '
                              f"{spec.type}")
    elements: Sequence[object] = value if isinstance(value, (list, tuple)) else [value]
    number = dtypes.element_type_within(spec.type)
    return [arrays.to_input(element, number, spec.name, spec.type) for element in elements]


def _result(item: Any, spec: TensorSpec, wants_torch: bool) -> Any:
    if isinstance(item, ExchangedTensor):
        return item
    result = dtypes.decode(item)
    if not spec.is_tensor:
        if wants_torch:
            result = [arrays.to_torch(element) for element in result]
        if spec.type.startswith("optional(") and not spec.type.startswith("optional(seq("):
            return result[0] if result else None
        return result
    return arrays.to_torch(result) if wants_torch else result


def has_torch(values: Sequence[object]) -> bool:
    return "torch" in sys.modules and any(arrays.is_torch(value) for value in values)


def writable(array: object, spec: TensorSpec) -> Array:
    """`array`, if the output can be written to it."""
    what = f'out["{spec.name}"]'
    if not spec.is_tensor:
        raise InvalidArgument(f"{what}: the output is {spec.type}, no tensor")
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} is a {type(array).__name__}, not a numpy array")
    if array.dtype != spec.dtype or array.dtype == object:
        raise InvalidArgument(f"{what} is of {array.dtype}, the output of {spec.type}")
    if not array.flags.writeable or not array.flags.c_contiguous:
        raise InvalidArgument(f"{what} must be writable and contiguous")
    if dtypes.BY_NUMBER[spec.element_type].bits < 8:
        raise InvalidArgument(f"{what}: outputs of {spec.type} are packed; leave it out")
    return array


def _shaped(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape == shape:
        return array
    return array.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape)


def has_gpu(values: Sequence[object]) -> bool:
    """Whether a value is a tensor of torch on a GPU."""
    return "torch" in sys.modules and any(arrays.is_torch(value) and _device(value).type == GPU for value in values)


def run_on_gpu(native: _native.Model, signature: Signature, ordered: Sequence[object]) -> list[Any]:
    """The outputs for torch's tensors on a GPU in order of the inputs, as new tensors there.

    Waits for what torch's current stream computes, and until the outputs are complete.
    Raises InvalidArgument for tensors on several devices, of other types or shapes, or that require a gradient, and
    for a model whose shapes are not fixed; FailedPrecondition for a model that another device runs a part of.
    """
    torch = sys.modules["torch"]
    tensors = [None if value is None and spec.has_default else _checked(spec, value)
               for spec, value in zip(signature.inputs, ordered)]
    device = next(_device(tensor) for tensor in tensors if tensor is not None)
    for spec, tensor in zip(signature.inputs, tensors):
        if tensor is not None and _device(tensor) != device:
            raise InvalidArgument(f'input "{spec.name}" is on {_device(tensor)}, another is on {device}; a call takes '
                                  "tensors of one device")
    tensors = [None if tensor is None else _readable(tensor) for tensor in tensors]
    outputs = [torch.empty(_fixed_shape(spec), dtype=_torch_dtype(spec), device=device) for spec in signature.outputs]
    with torch.cuda.device(device):
        # Streams of Sluice do not wait for torch's.
        torch.cuda.current_stream(device).synchronize()
        native.run_on_device(
            [None if each is None else (each.data_ptr(), each.nbytes, arrays.number_of_torch(each.dtype), tuple(each.shape))
             for each in tensors],
            [(each.data_ptr(), each.nbytes) for each in outputs], GPU, device.index)
    return outputs


def _device(value: Any) -> Any:
    return value.device


def _checked(spec: TensorSpec, value: Any) -> Any:
    """The tensor of an input, on a GPU and of the type that the model takes."""
    if not arrays.is_torch(value) or _device(value).type != GPU:
        where = f"on {_device(value)}" if arrays.is_torch(value) else f"a {type(value).__name__}"
        raise InvalidArgument(f'input "{spec.name}" is {where}, another is on a GPU; a call takes tensors of one device')
    if value.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise InvalidArgument(f'input "{spec.name}" requires a gradient, which a compiled model does not have; call it '
                              "inside torch.no_grad(), or pass tensor.detach()")
    if tuple(value.shape) != _fixed_shape(spec) or value.dtype != _torch_dtype(spec):
        got = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        raise InvalidArgument(f'input "{spec.name}": got {got}, model takes {spec.type}')
    return value


def _readable(tensor: Any) -> Any:
    """The same values as the library reads them: contiguous and aligned."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return plain if plain.data_ptr() % _DEVICE_ALIGNMENT == 0 else plain.clone()


def _fixed_shape(spec: TensorSpec) -> tuple[int, ...]:
    shape = spec.shape
    if not spec.is_tensor or shape is None or any(dim is None for dim in shape):
        raise InvalidArgument(f'"{spec.name}" is {spec.type}: tensors on a GPU need fixed shapes; compile with --shape, '
                              "or pass tensor.cpu()")
    return shape  # type: ignore[return-value]


def _torch_dtype(spec: TensorSpec) -> Any:
    name = dtypes.BY_NUMBER[spec.element_type].numpy.lstrip(".")
    found = getattr(sys.modules["torch"], name, None)
    if found is None:
        raise InvalidArgument(f'"{spec.name}" is {spec.type}: torch has no such tensors on a GPU')
    return found


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
