"""The result of a trace: a module of torch that runs in Sluice."""

from __future__ import annotations

import os
import pathlib
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from .. import arrays, dtypes
from ..errors import FailedPrecondition, InvalidArgument
from ..loaded_model import LoadedModel
from ..model import Model, Path, TensorSpec
from ..opening import open_package as load_package
from ..runtime import CoreGroup, Runtime
from ..signature import GPU, TensorSpecs
from ..stateful import State, StatefulModel, with_states
from ..tracing.batching import Batching
from ..tracing.size_buckets import SizeCheck
from . import bucket_runner, record, run_operator
from .bucket_runner import BucketRunner
from .partition_runner import MAGIC, PartitionRunner, load_parts
from .structure import call_by_place

Runner = Model | BucketRunner | PartitionRunner


_placement: list[Callable[[Runner], Runner]] = []


def choose_placement(place: Callable[[Runner], Runner]) -> None:
    """`place` is applied to each model that is traced or loaded. placement.py calls this."""
    _placement[:] = [place]


def placed(model: Runner) -> Runner:
    for place in _placement:
        model = place(model)
    return model


class TracedModel(nn.Module):
    """Takes and gives what the traced function does. Inference only: gradients do not pass.

    Any thread may call it. Calls of a model without states run in parallel; those of one with states follow
    one another, and `session` gives a model with states of its own.
    """

    def __init__(self, model: Runner) -> None:
        super().__init__()
        self._loaded = model
        self._record = record.decode(model.metadata)
        self._arguments = self._record["arguments"]
        self._results = self._record["results"]
        self._hidden_inputs = frozenset(self._record["hidden_inputs"])
        self._hidden_outputs = frozenset(self._record["hidden_outputs"])
        self._replacing = threading.Lock()
        self._sizes = SizeCheck.of(model.metadata)
        self._describe(model)
        self.batching: Batching | None = None  #: set by sluice.torch.dynamic_batch
        self.eval()

    def _describe(self, model: Runner) -> None:
        """What the operator of torch's graphs needs; only plain packages can be in such a graph."""
        self._package: torch.Tensor | None = None
        if type(model) is Model:
            size = os.path.getsize(model.path)
            self._package = torch.from_file(model.path, shared=False, size=size, dtype=torch.uint8)
            self._signature = run_operator.signature_of(model.inputs, model.outputs)
            run_operator.remember(self._package, model)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._loaded.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._loaded.outputs

    @property
    def metadata(self) -> dict[str, str]:
        """Facts about the model and its trace."""
        return self._loaded.metadata

    @property
    def state(self) -> State:
        """The states by name. Empty if the model has none."""
        loaded = self._loaded
        return loaded.state if isinstance(loaded, (StatefulModel, BucketRunner)) else State([], ())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """`kwargs`: arguments by the names that the traced function has for them."""
        if kwargs:
            args = call_by_place(self._record.get("parameters", ()), self._arguments, args, kwargs)
        if torch.compiler.is_compiling() and self._package is not None and self.batching is None:
            outputs = torch.ops.sluice.run(self._package, self._signature, self.flatten(args))
            return self.unflatten(outputs)
        if torch.jit.is_tracing():
            raise FailedPrecondition("torch.jit.trace records operators of torch, and a traced model has none: save it by "
                                     "save(path), or give torch.compile or torch.export what contains it")
        return self._forward(*args)

    @torch.compiler.disable
    def _forward(self, *args: Any) -> Any:
        return self.unflatten(self.run_flat(self.flatten(args)))

    def session(self) -> TracedModel:
        """The same loaded model with states of its own."""
        loaded = self._loaded
        session = TracedModel(loaded.session() if isinstance(loaded, (StatefulModel, BucketRunner)) else loaded)
        session.batching = self.batching
        return session

    def replace(self, change: Callable[[Runner], Runner]) -> None:
        """Later calls run what `change` makes of the model; states keep their values."""
        with self._replacing:
            made = change(self._loaded)
            if isinstance(self._loaded, StatefulModel) and isinstance(made, StatefulModel):
                self._loaded.continue_with(made)
            elif isinstance(self._loaded, BucketRunner) and isinstance(made, BucketRunner):
                self._loaded.continue_with(made)
            else:
                self._loaded = made
                self._describe(made)

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None) -> TracedModel:
        """The same model loaded once more, with states of its own. `threads`, `cores`: as in sluice.load."""
        copy = TracedModel(self._loaded.reopen(threads=threads, cores=cores))
        copy.batching = self.batching
        return copy

    def load_into(self, runtime: Runtime | CoreGroup, **options: Any) -> TracedModel:
        """The same model, which `runtime` loads and runs: in a daemon, if that is a sluice.Client. `options`: of its load.

        States begin anew; this process keeps them, and they travel with each call. Raises InvalidArgument for a model
        with parts in torch, or with replicas.
        """
        there = TracedModel(_loaded_into(self._loaded, lambda package: runtime.load(package, **options)))
        there.batching = self.batching
        return there

    def save(self, path: Path, *, _extra_files: Any = None) -> None:
        """Writes the package: sluice.load, the C and C++ libraries and the command `sluice` read it."""
        if _extra_files is not None:  # torch.jit.save gives it
            self.save_to_buffer()
        self._loaded.save(path)

    def save_to_buffer(self, **_: Any) -> None:
        """Called by torch.jit.save. Raises FailedPrecondition."""
        raise FailedPrecondition("torch.jit.save writes TorchScript, which a traced model is not: call save(path), whose "
                                 "file sluice.torch.load reads, or torch.save")

    def train(self, mode: bool = True) -> TracedModel:
        if mode:
            raise InvalidArgument("a traced model is for inference; train the original and trace it again")
        return super().train(False)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], *args: Any, **kwargs: Any) -> TracedModel:
        """What .half(), .to() and their like call. Raises InvalidArgument if they would change a tensor's type, or take a
        model of the processors elsewhere."""
        target = fn(torch.empty(0)).device.type
        if target != "cpu" and not self._is_for_gpu():
            raise InvalidArgument(f"a traced model stays where it was compiled for, on the processors: it cannot move to {target}; "
                                  'trace the original with device="cuda"')
        for spec in (*self.inputs, *self.outputs):
            dtype = getattr(torch, dtypes.BY_NUMBER[spec.element_type].numpy.lstrip("."), None) if spec.is_tensor else None
            if isinstance(dtype, torch.dtype) and fn(torch.empty(0, dtype=dtype)).dtype != dtype:
                raise InvalidArgument(f'a traced model keeps the types of its trace, and "{spec.name}" is {spec.type}: '
                                      "convert the original and trace it again")
        return self

    def _is_for_gpu(self) -> bool:
        """Whether the compiler was to use a GPU, by the facts of the package."""
        words = self.metadata.get("options", "").split()
        backends = words[words.index("--backend") + 1] if "--backend" in words else ""
        return GPU in backends.split(",")

    def __reduce__(self) -> Any:
        with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
            path = pathlib.Path(folder, "traced.sluice")
            self.save(path)  # may replace the file, so that an open descriptor would not see it
            return _from_bytes, (path.read_bytes(), self.batching)

    def __deepcopy__(self, _: Any) -> TracedModel:
        return self.session()

    def extra_repr(self) -> str:
        lines = [f"input {spec.name}: {spec.type}" for spec in self.inputs]
        lines += [f"output {spec.name}: {spec.type}" for spec in self.outputs]
        lines += [f"state {name}" for name in self.state]
        return "\n".join(lines)

    def flatten(self, args: tuple[Any, ...]) -> list[Any]:
        """The tensors of a call's arguments, in order of `inputs`."""
        if not self._hidden_inputs:
            return self._arguments.flatten(args)
        # An example input that is a state may be left out at the end or passed as None.
        num_args = self._arguments.spec.num_children
        padded = (*args, *([None] * (num_args - len(args))))
        leaves = torch.utils._pytree.tree_flatten(padded)[0]
        if len(leaves) != len(self._arguments.leaves):
            raise InvalidArgument(f"{len(leaves)} inputs given, the model was traced with "
                                  f"{len(self._arguments.leaves)}, of which {len(self._hidden_inputs)} are states")
        return self._arguments.tensors_of(leaves, self._hidden_inputs)

    def run_flat(self, tensors: list[Any]) -> list[Any]:
        """A call whose arguments are flattened; gives tensors in order of `outputs`."""
        loaded = self._loaded  # once: all chunks of a batch see the same weights

        def call(values: list[Any]) -> list[Any]:
            if self._sizes is not None:
                self._sizes.check(values)
            results = loaded.run({spec.name: _as_array(value) for spec, value in zip(loaded.inputs, values)})
            return [_as_torch(results[spec.name]) for spec in loaded.outputs]

        return call(tensors) if self.batching is None else self.batching.run(call, tensors, getattr(loaded, "each", map))

    def unflatten(self, outputs: list[Any]) -> Any:
        """The results as the traced function gives them."""
        if not self._hidden_outputs:
            return self._results.unflatten(outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class LoadedRunner:
    """A package that a runtime has loaded, such as a daemon. It runs as a Model does; unloaded with its last reference."""

    def __init__(self, package: Model, loaded: LoadedModel) -> None:
        self._package = package
        self._loaded = loaded
        self.opened: dict[str, Any] = {}

    @property
    def inputs(self) -> TensorSpecs:
        return self._package.inputs

    @property
    def outputs(self) -> TensorSpecs:
        return self._package.outputs

    @property
    def metadata(self) -> dict[str, str]:
        return self._package.metadata

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return self._loaded.run(feeds)

    def reopen(self, *, threads: int = 0, cores: Sequence[int] | None = None) -> Any:
        raise InvalidArgument("a runtime has loaded the model, on cores of its own: give its load a group, or place the "
                              "model that was traced")

    def save(self, path: Path) -> None:
        self._package.save(path)

    def close(self) -> None:
        self._loaded.unload()


def _loaded_into(runner: Any, load: Callable[[Model], LoadedModel]) -> Any:
    """What runs as `runner` does, over the model that `load` has made of its package."""
    if type(runner) is Model:
        return LoadedRunner(runner, load(runner))
    if isinstance(runner, StatefulModel) and type(runner._model) is Model:
        return StatefulModel(_loaded_into(runner._model, load), runner._states)
    if isinstance(runner, BucketRunner):
        return BucketRunner(_loaded_into(runner._model, load), runner._kernel, runner._preprocessor)
    raise InvalidArgument("a runtime loads packages: this model has parts in torch, replicas on cores of this process, or is "
                          "in a runtime already")


def _as_array(value: Any) -> Any:
    is_on_processor = isinstance(value, torch.Tensor) and value.device.type != GPU
    return arrays.from_torch(value) if is_on_processor else value


def _as_torch(value: Any) -> Any:
    return value if isinstance(value, torch.Tensor) else arrays.to_torch(value)


def _open(source: str | bytes, threads: int) -> Runner:
    if _first_bytes(source) == MAGIC:
        parts: Any = load_parts(source, lambda part: TracedModel(_open(part, 0)))
        return with_states(parts)
    model = load_package(source, threads=threads)
    return BucketRunner(model) if "metadata." + bucket_runner.KEY in model.metadata else model


def _first_bytes(source: str | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:len(MAGIC)]
    if not os.path.isfile(source):
        return b""
    with open(source, "rb") as file:
        return file.read(len(MAGIC))


def _from_bytes(package: bytes, batching: Batching | None = None) -> TracedModel:
    """What torch.load calls. Pickles have its name."""
    traced = TracedModel(placed(_open(package, 0)))
    traced.batching = batching
    return traced


def load(path: Path | bytes, *, threads: int = 0) -> TracedModel:
    """Loads what TracedModel.save wrote. `threads`: number of cores; 0 takes all that the process may use."""
    return TracedModel(placed(_open(path if isinstance(path, bytes) else os.fspath(path), threads)))
