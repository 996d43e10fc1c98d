"""A model in parts, some of which run in Sluice and some in torch. It runs, is saved and is loaded as one."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from .. import arrays, dtypes
from ..errors import InvalidArgument
from ..model import Path, TensorSpec

_INDEX = "parts.json"
MAGIC = b"PK\x03\x04"  #: how the file of a model in parts begins: it is a zip archive

Bound = tuple[str, str, TensorSpec]  # name for callers, name among the values, type


class Step(NamedTuple):
    """A part and the values that it reads and gives."""

    is_sluice: bool
    runs: Callable[..., Any]  #: a TracedModel or a module of torch
    inputs: list[str]
    outputs: list[str]
    examples: list[torch.Tensor]  #: inputs that torch.export.save traces a part of torch with


class PartitionRunner:
    """Runs as a Model does. Any thread may call it."""

    def __init__(self, steps: Sequence[Step], inputs: Sequence[Bound], outputs: Sequence[Bound],
                 constants: Mapping[str, torch.Tensor], metadata: dict[str, str]) -> None:
        self._steps = steps
        self._bound_inputs = list(inputs)
        self._bound_outputs = list(outputs)
        self._constants = dict(constants)
        self.metadata = metadata
        self.opened: dict[str, Any] = {}
        self.inputs = tuple(spec for _, _, spec in inputs)
        self.outputs = tuple(spec for _, _, spec in outputs)

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        values = dict(self._constants)
        for name, value, spec in self._bound_inputs:
            values[value] = _checked(feeds[name], spec)
        with torch.no_grad():
            for step in self._steps:
                results = step.runs(*(values[name] for name in step.inputs))
                values.update(zip(step.outputs, results))
        return {name: values[value].clone() if value in self._constants else values[value]
                for name, value, _ in self._bound_outputs}

    def parts(self) -> list[str]:
        """Where each part runs, in order: "sluice" or "torch"."""
        return ["sluice" if step.is_sluice else "torch" for step in self._steps]

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None) -> PartitionRunner:
        steps = [step._replace(runs=step.runs.reopen(threads=threads, cores=cores))  # type: ignore[attr-defined]
                 if step.is_sluice else step for step in self._steps]
        return PartitionRunner(steps, self._bound_inputs, self._bound_outputs, self._constants, self.metadata)

    def save(self, path: Path) -> None:
        """Writes one file that sluice.torch.load reads; other programs cannot run the parts of torch."""
        index = {"metadata": self.metadata, "inputs": self._bound_inputs, "outputs": self._bound_outputs,
                 "steps": [{"is_sluice": step.is_sluice, "inputs": step.inputs, "outputs": step.outputs}
                           for step in self._steps]}
        parts = [_part_bytes(step) for step in self._steps]  # before the file is touched: a part may not be exportable
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(_INDEX, json.dumps(index))
            archive.writestr("constants.pt", _bytes_of(lambda file: torch.save(self._constants, file)))
            for i, part in enumerate(parts):
                archive.writestr(f"part{i}", part)

    def close(self) -> None:
        """The parts are freed with the runner."""


def _bytes_of(write: Callable[[Any], Any]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _part_bytes(step: Step) -> bytes:
    runs: Any = step.runs
    if step.is_sluice:
        return bytes(runs.__reduce__()[1][0])
    program = torch.export.export(runs, tuple(step.examples), strict=False)
    return _bytes_of(lambda file: torch.export.save(program, file))


def load_parts(source: str | bytes, load_part: Callable[[bytes], Any]) -> PartitionRunner:
    """Reads what PartitionRunner.save wrote. `load_part` makes a TracedModel of a package's bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            index = json.loads(archive.read(_INDEX))
            constants = torch.load(io.BytesIO(archive.read("constants.pt")), weights_only=True)
            steps = [_load_step(entry, archive.read(f"part{i}"), load_part)
                     for i, entry in enumerate(index["steps"])]
            inputs, outputs = ([(name, value, _read_spec(spec)) for name, value, spec in index[kind]]
                               for kind in ("inputs", "outputs"))
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        name = "the file" if isinstance(source, bytes) else os.fspath(source)
        raise InvalidArgument(f"{name} is no model of sluice.torch, or damaged: {error}") from error
    return PartitionRunner(steps, inputs, outputs, constants, index["metadata"])


def _load_step(entry: Mapping[str, Any], data: bytes, load_part: Callable[[bytes], Any]) -> Step:
    if entry["is_sluice"]:
        return Step(True, load_part(data), entry["inputs"], entry["outputs"], [])
    program = torch.export.load(io.BytesIO(data))
    examples, _ = program.example_inputs
    return Step(False, program.module(), entry["inputs"], entry["outputs"], list(examples))


def _read_spec(fields: Sequence[Any]) -> TensorSpec:
    name, text, number, shape, *rest = fields  # a field more since models have defaults
    return TensorSpec(name, text, number, tuple(shape), *rest)


def _checked(value: Any, spec: TensorSpec) -> torch.Tensor:
    tensor = value if isinstance(value, torch.Tensor) else arrays.to_torch(
        arrays.to_numpy(value, spec.element_type, spec.name))
    given = arrays.from_torch(tensor)
    number = dtypes.find_element_type(given.dtype)
    if number != spec.element_type or tuple(tensor.shape) != spec.shape:
        name = dtypes.BY_NUMBER[number].name if number is not None else str(given.dtype)
        dims = ",".join(map(str, tensor.shape))
        raise InvalidArgument(f'input "{spec.name}": got {name}[{dims}], model takes {spec.type}')
    return tensor
