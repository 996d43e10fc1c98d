"""OrtValue, OrtDevice and IOBinding: tensors in memory of the processor."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._native import Cancellation
from ..arrays import empty, layout_of, to_numpy
from ..dtypes import BY_NUMBER, STRING, dtype_of, find_element_type
from ..errors import InvalidArgument
from ..model import Model
from .nodes import type_name

#: Element types whose arrays need ml_dtypes.
_BEYOND_NUMPY = {number for number, element in BY_NUMBER.items() if element.numpy.startswith(".")}


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
        return OrtValue(empty(tuple(shape), _dtype(element_type)))

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Any, onnx_element_type: int) -> OrtValue:
        """The bits of `data` as elements of this ONNX type and the same size, such as bf16 in an array of uint16."""
        if onnx_element_type not in BY_NUMBER:
            raise InvalidArgument(f"Not a valid ONNX Tensor data type: {onnx_element_type}")
        return OrtValue(_reinterpreted(np.asarray(data), _unpacked(dtype_of(onnx_element_type))))

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """A value that shares the memory of an object with `__dlpack__`, or of a capsule of it."""
        if isinstance(data, OrtValue):
            return OrtValue(data.numpy())
        if type(data).__name__ == "PyCapsule":
            data = _Capsule(data)
        elif not hasattr(data, "__dlpack__"):
            raise TypeError(f"from_dlpack takes an object with __dlpack__ or a capsule, not {type(data).__name__}")
        array = to_numpy(data, 0, "data")
        return OrtValue(array.view(np.bool_) if is_bool_tensor and array.dtype == np.uint8 else array)

    def numpy(self) -> Any:
        return self._array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Shares the value's memory where `copy` and `dtype` allow it."""
        if copy is None:
            return np.asarray(self._array, dtype)
        return np.array(self._array, dtype, copy=copy)

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

    def tensor_size_in_bytes(self) -> int:
        number = self.element_type()
        bits = BY_NUMBER[number].bits if number else 0
        return -(-self._array.size * bits // 8) if bits else int(self._array.nbytes)

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
        """Copies an array or an OrtValue of the same type and as many elements, in row-major order."""
        if isinstance(array, OrtValue):
            array = array.numpy()
        elif not isinstance(array, np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        if array.size != self._array.size:
            raise RuntimeError("The input size of numpy arrays does not match the size of the OrtValue: "
                               f"{array.size} elements, the OrtValue has {self._array.size}")
        if array.dtype != self._array.dtype:
            if self.element_type() not in _BEYOND_NUMPY or array.dtype.kind not in "iuV":
                raise RuntimeError(f"The type of the numpy array, {array.dtype}, is not that of the OrtValue, "
                                   f"{self._array.dtype}")
            array = _reinterpreted(array, self._array.dtype)  # callers without ml_dtypes hold such bits so
        self._array[...] = array.reshape(self._array.shape)


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

    def __init__(self, session: Any) -> None:
        self._session = session
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

    def run_model(self, model: Model, cancellation: Cancellation | None = None) -> None:
        names = list(self._outputs) or [spec.name for spec in model.outputs]
        out = {name: array for name, array in self._outputs.items() if array is not None}
        results = model.run(self._inputs, names, out=out, cancellation=cancellation)
        self._results = {name: OrtValue(results[name]) for name in names}

    def get_outputs(self) -> list[OrtValue]:
        return list(self._results.values())

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Arrays; a list of dicts for what is a list of maps in the model."""
        arrays: list[Any] = [value.numpy() for value in self._results.values()]
        results: list[Any] = self._session.with_dicts(list(self._results), arrays)
        return results


SessionIOBinding = IOBinding


def _at(address: int | None, element_type: Any, shape: Sequence[int] | None) -> Any:
    """An array over memory of the caller, who keeps it alive while it is bound."""
    if not address or shape is None or any(dim < 0 for dim in shape):
        raise InvalidArgument("a bound buffer needs an address and a shape without free dimensions")
    dtype, dims, size_bytes = layout_of(shape, _unpacked(_dtype(element_type)))
    if size_bytes > sys.maxsize - address:
        raise InvalidArgument(f"{size_bytes} bytes at address {address:#x} are beyond the address space")
    memory: Any = (ctypes.c_uint8 * size_bytes).from_address(address)
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(dims)


def _dtype(element_type: Any) -> np.dtype[Any]:
    """The numpy type of ONNX's number, or of a type as numpy takes it."""
    return dtype_of(element_type) if isinstance(element_type, int) else np.dtype(element_type)


def _unpacked(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, if its elements are whole bytes: onnxruntime packs narrower ones, numpy does not."""
    number = find_element_type(dtype)
    if number and number != STRING and BY_NUMBER[number].bits < 8:
        raise InvalidArgument(f"elements of {dtype} are packed in memory; give an OrtValue of an array")
    return dtype


def _reinterpreted(array: Any, dtype: np.dtype[Any]) -> Any:
    """The array's bits as elements of `dtype`, of as many bytes."""
    if array.dtype.hasobject or dtype.hasobject or array.dtype.itemsize != dtype.itemsize:
        raise InvalidArgument(f"elements of {array.dtype} cannot be taken as elements of {dtype}")
    return np.asarray(array, order="C").view(dtype)


class _Capsule:
    """A capsule of DLPack as an object that numpy reads. Only memory of the processor comes so."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
