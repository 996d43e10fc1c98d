"""Sessions: a package with its programs load, main and save, whose tensors have sources and sinks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _native, arrays, dtypes
from .dtypes import Array
from .errors import InvalidArgument, NotFound
from .package import Path, check_seed, check_threads

ROLES = ("constant", "input", "output")
PROGRAMS = ("load", "main", "save")


class ProgramTensor(NamedTuple):
    """A tensor of a session. `program`: the one that moves it."""

    name: str
    type: str
    role: str  #: "constant", "input", "output"
    program: str  #: "load", "main", "save"


def _tensor_of(described: tuple[str, str, int, int]) -> ProgramTensor:
    name, type_text, role, program = described
    return ProgramTensor(name, type_text, ROLES[role], PROGRAMS[program])


class Session:
    """Reports tensors without a source or sink before a run. Use it from one thread at a time; others wait.

    `threads`: cores; 0 for all. `stored_folder`: NAME.npy files of tensor data; `binds_stored` says which of
    them are bound, by default all. `seed`: of random operators, as for sluice.load.
    """

    def __init__(
        self,
        package: Path,
        *,
        threads: int = 0,
        stored_folder: Path | None = None,
        binds_stored: Callable[[ProgramTensor], bool] | None = None,
        seed: int | None = None,
    ) -> None:
        def asks(described: tuple[str, str, int, int]) -> bool:
            assert binds_stored is not None
            return bool(binds_stored(_tensor_of(described)))

        check_threads(threads)
        check_seed(seed)
        folder = os.fspath(stored_folder) if stored_folder is not None else ""
        self._native = _native.Session(os.fspath(package), threads, folder,
                                       None if binds_stored is None else asks, seed)
        self._lock = threading.Lock()
        # What the extension borrows. A constant may have a source and a sink; it knows earlier functions, too.
        self._sources: dict[str, object] = {}
        self._sinks: dict[str, object] = {}
        self._functions: list[object] = []
        self._tensors = tuple(map(_tensor_of, self._native.tensors()))

    @property
    def tensors(self) -> tuple[ProgramTensor, ...]:
        """Named constants, then inputs, then outputs."""
        return self._tensors

    def bind_source(self, name: str, array: object) -> Session:
        """An array that every run reads as it is then; a constant's is copied by `load`."""
        with self._lock:
            given = self._to_input(name, array)
            self._native.bind_source(name, given)
            self._sources[name] = given
        return self

    def bind_provider(self, name: str, function: Callable[[], object]) -> Session:
        """A function that gives the array whenever a program needs it; for tensors of known shape."""
        with self._lock:
            def provide() -> Any:
                return self._to_input(name, function())

            self._native.bind_provider(name, provide)
            self._functions.append(provide)
        return self

    def bind_sink(self, name: str, array: Array) -> Session:
        """An array that every run writes: an output by `run`, a constant by `save`."""
        number = self._element_type(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtypes.dtype_of(number) or array.dtype == object:
            raise InvalidArgument(f'sink "{name}" takes a numpy array of {dtypes.dtype_of(number)}')
        if not array.flags.writeable or not array.flags.c_contiguous:
            raise InvalidArgument(f'sink "{name}" must be writable and contiguous')
        with self._lock:
            self._native.bind_sink(name, array.reshape(-1).view(np.uint8))
            self._sinks[name] = array
        return self

    def bind_consumer(self, name: str, function: Callable[[Array], object]) -> Session:
        """A function that is called with a copy of the tensor."""
        with self._lock:
            def consume(item: Any) -> None:
                function(dtypes.decode(item))

            self._native.bind_consumer(name, consume)
            self._functions.append(consume)
        return self

    def verify(self, program: str = "main") -> None:
        """FailedPrecondition names the tensors of the program without a source or a sink."""
        self._native.verify(_number_of(program))

    def load(self) -> None:
        """Moves constants and stored tensors to the device, once."""
        self._run("load")

    def run(self) -> None:
        """Computes outputs from inputs, any number of times after `load`."""
        self._run("main")

    def save(self) -> None:
        """Passes constants with a sink to their sinks."""
        self._run("save")

    def _run(self, program: str) -> None:
        with self._lock:
            self._native.run(_number_of(program))

    def _element_type(self, name: str) -> int:
        for tensor in self._tensors:
            if tensor.name == name:
                return dtypes.element_type_within(tensor.type)
        known = ", ".join(f'"{tensor.name}"' for tensor in self._tensors)
        raise NotFound(f'the session has no tensor "{name}"; it has {known}')

    def _to_input(self, name: str, value: object) -> Any:
        number = self._element_type(name)
        declared = next(tensor.type for tensor in self._tensors if tensor.name == name)
        return arrays.to_input(value, number, name, declared)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {tensor.role} {tensor.name}: {tensor.type}" for tensor in self._tensors)
        return f"<sluice.Session{lines}>"


def _number_of(program: str) -> int:
    if program not in PROGRAMS:
        raise InvalidArgument(f"a program is one of {', '.join(map(repr, PROGRAMS))}, not {program!r}")
    return PROGRAMS.index(program)
