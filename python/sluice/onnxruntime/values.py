"""OrtValue, OrtDevice and IOBinding: tensors in memory of the processor."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import BY_NUMBER, dtype_of, find_element_type
from ..errors import InvalidArgument
from ..model import Model
from .nodes import type_name


class OrtDevice:
    """Kinds of devices by onnxruntime's numbers. The processor is the only one that holds values."""

    def __init__(self, kind: int = 0, memory: int = 0, device_id: int = 0, *_: object) -> None:
        self._kind = kind
        self._id = device_id

    @staticmethod
    def make(name: str, device_id: int = 0, *_: object) -> OrtDevice:
        check_device(name)
        return OrtDevice(0, 0, device_id)

    @staticmethod
    def cpu() -> int:
        return 0

    @staticmethod
    def cuda() -> int:
        return 1

    @staticmethod
    def dml() -> int:
        return 4

    @staticmethod
    def default_memory() -> int:
        return 0

    def device_type(self) -> int:
        return self._kind

    def device_id(self) -> int:
        return self._id


def check_device(name: str) -> None:
    if name.lower() != "cpu":
        raise InvalidArgument(f'sluice.onnxruntime has no device "{name}"; there is "cpu"')


class OrtValue:
    """A tensor. It shares the memory of the array it was made of."""

    def __init__(self, array: Any) -> None:
        self._array = np.asarray(array)

    @staticmethod
    def ortvalue_from_numpy(array: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        check_device(device_type)
        return OrtValue(array)

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any = np.float32,
                                     device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        check_device(device_type)
        dtype = dtype_of(element_type) if isinstance(element_type, int) else element_type
        return OrtValue(np.empty(tuple(shape), dtype))

    def numpy(self) -> Any:
        return self._array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._array if dtype is None else self._array.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return type_name(self.element_type())

    def element_type(self) -> int:
        return find_element_type(self._array.dtype) or 0

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return False

    def update_inplace(self, array: Any) -> None:
        self._array[...] = array


class OrtValueVector(list[OrtValue]):
    """A list of values, by onnxruntime's name."""

    def push_back(self, value: OrtValue) -> None:
        self.append(value)

    def reserve(self, count: int) -> None:
        """Accepted; a list grows by itself."""

    def shrink_to_fit(self) -> None:
        """Accepted; a list shrinks by itself."""

    def dlpack_at(self, index: int) -> Any:
        return self[index].__dlpack__()

    def element_type_at(self, index: int) -> int:
        return self[index].element_type()


class IOBinding:
    """Inputs and outputs bound by name to values, or to memory given by address. An InferenceSession runs it."""

    def __init__(self, session: object) -> None:
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._results: dict[str, OrtValue] = {}

    def bind_cpu_input(self, name: str, array: Any) -> None:
        self._inputs[name] = np.asarray(array)

    def bind_ortvalue_input(self, name: str, value: OrtValue) -> None:
        self._inputs[name] = value.numpy()

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any,
                   shape: Sequence[int], buffer_ptr: int) -> None:
        check_device(device_type)
        self._inputs[name] = _at(buffer_ptr, element_type, shape)

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0,
                    element_type: Any = None, shape: Sequence[int] | None = None,
                    buffer_ptr: int | None = None) -> None:
        check_device(device_type)
        self._outputs[name] = (_at(buffer_ptr, element_type, shape)
                               if buffer_ptr and shape is not None else None)

    def bind_ortvalue_output(self, name: str, value: OrtValue) -> None:
        self._outputs[name] = value.numpy()

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()

    def synchronize_inputs(self) -> None:
        """Inputs are in memory of the processor already."""

    def synchronize_outputs(self) -> None:
        """Outputs are in memory of the processor already."""

    def run_model(self, model: Model) -> None:
        names = list(self._outputs) or [spec.name for spec in model.outputs]
        out = {name: array for name, array in self._outputs.items() if array is not None}
        results = model.run(self._inputs, names, out=out)
        self._results = {name: OrtValue(results[name]) for name in names}

    def get_outputs(self) -> list[OrtValue]:
        return list(self._results.values())

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [value.numpy() for value in self._results.values()]


SessionIOBinding = IOBinding


def _at(address: int | None, element_type: Any, shape: Sequence[int] | None) -> Any:
    """An array over memory of the caller, who keeps it alive while it is bound."""
    if not address or shape is None or any(dim < 0 for dim in shape):
        raise InvalidArgument("a bound buffer needs an address and a shape without free dimensions")
    dtype = dtype_of(element_type) if isinstance(element_type, int) else np.dtype(element_type)
    if dtype.hasobject or dtype.name not in {entry.numpy for entry in BY_NUMBER.values()}:
        raise InvalidArgument(f"no buffers of {dtype}")
    count = int(np.prod(tuple(shape), dtype=np.int64))
    memory: Any = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype, count).reshape(tuple(shape))
