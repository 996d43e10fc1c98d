"""Records small traces for python/tests/test_recorded.py, which replays them where torch is not installed.

    scripts/torch-python build/release python/tests_torch/record_graphs.py

Each trace is the ONNX model that the compiler got, with arguments and results of eager torch. Files are written to
python/tests/recorded; index.json says what belongs together. Run it when the exporter of a new torch is to be proved.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import sluice.torch
import torch
from sluice.torch import functional, partition_runner
from sluice.torch.trace import to_model
from torch import nn
from torch.utils import _pytree as pytree

import recorded_models as models
from conftest import Conv
from test_partition import Unsupported
from test_weights import Normalized

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "tests" / "recorded"
Args = tuple[Any, ...]


class Recorder:
    """Writes models and tensors, and remembers what they are."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._index: dict[str, Any] = {}

    def add(self, name: str, model: onnx.ModelProto, calls: Sequence[tuple[Args, Any]], **more: Any) -> None:
        """A model with calls: arguments and what eager torch made of them."""
        self.write_model(name, model)
        tensors: dict[str, torch.Tensor] = {}
        for i, (args, results) in enumerate(calls):
            for kind, tree in (("in", args), ("out", results)):
                leaves = [leaf for leaf in pytree.tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]
                tensors |= {f"{i}.{kind}.{j}": leaf for j, leaf in enumerate(leaves)}
        self.write_tensors(name, tensors)
        self.note(name, calls=len(calls), **more)

    def note(self, name: str, **more: Any) -> None:
        self._index[name] = more

    def write_model(self, name: str, model: onnx.ModelProto) -> None:
        """Without the exporter's notes: they have paths of this machine."""
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        _strip(copy.graph)
        (self._folder / f"{name}.onnx").write_bytes(copy.SerializeToString(deterministic=True))

    def write_tensors(self, name: str, tensors: Mapping[str, torch.Tensor]) -> None:
        arrays = {key: _as_array(tensor) for key, tensor in tensors.items()}
        np.savez_compressed(self._folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]

    def write_index(self) -> None:
        text = json.dumps({"torch": torch.__version__, "graphs": self._index}, indent=1)
        (self._folder / "index.json").write_text(text + "\n")


def _strip(graph: onnx.GraphProto) -> None:
    del graph.metadata_props[:]
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer, *graph.node):
        value.doc_string = ""
        del value.metadata_props[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _strip(attribute.g)


def _as_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A bfloat16 as the number of its bits."""
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.int16).numpy().view(np.uint16)
    return tensor.detach().numpy()


def traced(func: Any, example: Any, **options: Any) -> onnx.ModelProto:
    """What the compiler gets."""
    with tempfile.TemporaryDirectory() as folder:
        sluice.torch.trace(func, example, compiler_workdir=folder, **options)
        return onnx.load_model(pathlib.Path(folder, "model.onnx"))


def eager(func: Callable[..., Any], *calls: Args) -> list[tuple[Args, Any]]:
    with torch.no_grad():
        return [(args, pytree.tree_map(_copied, func(*args))) for args in calls]


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def record_traces(to: Recorder) -> None:
    for name, make in models.PLAIN.items():
        func, example, options, more_calls = make()
        model = traced(func, example, **options)
        to.add(name, model, eager(func, example, *more_calls))


def record_states(to: Recorder) -> None:
    for name, make in models.STATEFUL.items():
        func, example, aliases, calls = make()
        model = traced(func, example, input_output_aliases=aliases)
        to.add(name, model, models.stepped(func, example, calls, aliases))


def record_weights(to: Recorder) -> None:
    first, second = Normalized().eval(), Normalized().eval()
    x = torch.rand(1, 1, 6, 6)
    to.add("apart", traced(first, x, inline_weights=False), [*eager(first, (x,)), *eager(second, (x,))])
    to.write_tensors("apart_weights", second.state_dict())
    linear = nn.Linear(64, 8).eval()
    x = torch.rand(2, 64)
    to.add("narrow", traced(linear, x), eager(linear, (x,)), options=["--weights", "bf16"])


def record_buckets(to: Recorder) -> None:
    model = Conv().eval()
    sizes = (4, 6, 9)
    examples = [torch.rand(1, 1, size, size) for size in sizes]
    for i, x in enumerate(examples):
        graph = to_model(functional.example_call(model, (x,), {}), None, "export", None)
        to.add(f"bucket{i}", graph, eager(model, (x,)))
    masked, ids, mask = models.masked_mean()
    for i, size in enumerate((4, 8)):
        args = (ids[:, :size], mask[:, :size])
        graph = to_model(functional.example_call(masked, args, {}), None, "export", None)
        to.add(f"size{i}", graph, eager(masked, args), sizes={"seq": size})
    to.add("sizes", graph, eager(masked, *((ids[:, :n], mask[:, :n]) for n in (1, 4, 5, 8))))


def record_parts(to: Recorder) -> None:
    """Every part that runs in Sluice, and all values between the parts: they stand for the parts of torch."""
    model, x = Unsupported().eval(), torch.rand(3, 6)
    with tempfile.TemporaryDirectory() as folder:
        config = sluice.torch.PartitionerConfig(trace_kwargs={"compiler_workdir": folder})
        runner = sluice.torch.trace(model, x, partitioner_config=config)._loaded
        assert isinstance(runner, partition_runner.PartitionRunner)
        values: dict[str, torch.Tensor] = {value: x for _, value, _ in runner._bound_inputs}
        steps = []
        for i, step in enumerate(runner._steps):
            values |= zip(step.outputs, step.runs(*(values[name] for name in step.inputs)))
            steps.append({"is_sluice": step.is_sluice, "inputs": step.inputs, "outputs": step.outputs})
            if step.is_sluice:
                to.write_model(f"part{i}", onnx.load_model(pathlib.Path(folder, f"part{i}", "model.onnx")))
    to.write_tensors("parts", values)
    outputs = {name: value for name, value, _ in runner._bound_outputs}
    to.write_tensors("parts_eager", dict(model(x)))
    to.note("parts", steps=steps, outputs=outputs)


def main() -> None:
    torch.manual_seed(3)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    recorder = Recorder(FOLDER)
    for record in (record_traces, record_states, record_weights, record_buckets, record_parts):
        record(recorder)
    recorder.write_index()
    print(f"{sum(file.stat().st_size for file in FOLDER.iterdir()) >> 10} kB in {FOLDER}")


if __name__ == "__main__":
    main()
