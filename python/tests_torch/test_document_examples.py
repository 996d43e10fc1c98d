"""The examples of the tracing document, word for word but for names of packages.

`torch_neuronx` (once written `torch.neuronx`) and `torch.jit` of save and load are `sluice.torch.neuron` here; nothing else
differs. The document: "PyTorch NeuronX Tracing API for Inference" of the AWS Neuron SDK.
"""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import sluice
import torch

from conftest import assert_close

FUNCTION = """
import torch
import torch_neuronx

def func(x, y):
    return 2 * x + y

example_inputs = torch.rand(3), torch.rand(3)

# Runs `func` with the provided inputs and records the tensor operations
trace = torch.neuronx.trace(func, example_inputs)

# `trace` can now be run with the TorchScript interpreter or saved
# and loaded in a Python-free environment
torch.jit.save(trace, 'func.pt')

# Executes on a NeuronCore
loaded = torch.jit.load('func.pt')
loaded(torch.rand(3), torch.rand(3))
"""

MODULE = """
import torch
import torch_neuronx
import torch.nn as nn

class Model(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3)

    def forward(self, x):
        return self.conv(x) + 1

model = Model()
model.eval()

example_inputs = torch.rand(1, 1, 3, 3)

# Traces the forward method and constructs a `ScriptModule`
trace = torch_neuronx.trace(model, example_inputs)
torch.jit.save(trace, 'model.pt')

# Executes on a NeuronCore
loaded = torch.jit.load('model.pt')
loaded(torch.rand(1, 1, 3, 3))
"""

WEIGHTS_APART = """
import torch
import torch_neuronx
import torch.nn as nn

class Model(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3)

    def forward(self, x):
        return self.conv(x) + 1

model = Model()
model.eval()

example_inputs = torch.rand(1, 1, 3, 3)

# Traces the forward method and constructs a `ScriptModule`
trace = torch_neuronx.trace(model, example_inputs,inline_weights_to_neff=False)

# Model can be saved like a normally traced model
torch.jit.save(trace, 'model.pt')

# Executes on a NeuronCore like a normally traced model
loaded = torch.jit.load('model.pt')
torch_neuronx.move_trace_to_device(loaded,0)
loaded(torch.rand(1, 1, 3, 3))
"""

BATCH = """
import torch
import torch_neuronx
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv = nn.Conv2d(1, 1, 3)

    def forward(self, x):
        return self.conv(x) + 1

n = Net()
n.eval()

inputs = torch.rand(1, 1, 3, 3)
inputs_batch_8 = torch.rand(8, 1, 3, 3)

# Trace a neural network with input batch size of 1
neuron_net = torch_neuronx.trace(n, inputs)

# Enable the dynamic batch size feature so the traced network
# can consume variable sized batch inputs
neuron_net_dynamic_batch = torch_neuronx.dynamic_batch(neuron_net)

# Run inference on inputs with batch size of 8
# different than the batch size used in compilation (tracing)
ouput_batch_8 = neuron_net_dynamic_batch(inputs_batch_8)
"""

PARTITIONER = """
import torch
import torch_neuronx
import torch.nn as nn

import logging

# adjust logger level to see what the partitioner is doing
logger = logging.getLogger("Neuron")

class MLP(nn.Module):
    def __init__(
        self, input_size=28 * 28, output_size=10, layers=[4096, 2048]
    ):
        super(MLP, self).__init__()
        self.fc1 = nn.Linear(input_size, layers[0])
        self.fc2 = nn.Linear(layers[0], layers[1])
        self.fc3 = nn.Linear(layers[1], output_size)
        self.relu = nn.ReLU()

    def forward(self, x):
        f1 = self.fc1(x)
        r1 = self.relu(f1)
        f2 = self.fc2(r1)
        r2 = self.relu(f2)
        f3 = self.fc3(r2)
        out = torch.log_softmax(f3, dim=1)
        sort_out,_ = torch.sort(out)
        return sort_out

n = MLP()
n.eval()

inputs = torch.rand(32,784)

# Configure the graph partitioner with the default values
partitioner_config = torch_neuronx.PartitionerConfig()

# Trace a neural network with graph partitioner enabled
neuron_net = torch_neuronx.trace(n, inputs, partitioner_config=partitioner_config)

# Run inference on the partitioned model
output = neuron_net(inputs)
"""

BUCKETS = """
import torch
import torch_neuronx
from typing import List

def choose(inputs: List[torch.Tensor]):
    index = 0 if inputs[0].shape[0] <= 128 else 1
    return inputs, torch.tensor(index)

def bucket_kernel():
    return torch.jit.script(choose)

class Model(torch.nn.Module):
    def forward(self, x):
        return x @ x.T

def get_model():
    return Model().eval(), {}

config = torch_neuronx.BucketModelConfig(bucket_kernel)
model = torch_neuronx.bucket_model_trace(get_model, [torch.rand(128,128),torch.rand(256,256)], config)
torch.jit.save(model, 'buckets.pt')
loaded = torch.jit.load('buckets.pt')
"""


def run_example(text: str, monkeypatch: pytest.MonkeyPatch, folder: pathlib.Path) -> dict[str, Any]:
    """The names that the example leaves."""
    monkeypatch.chdir(folder)
    for old, new in (("torch_neuronx", "sluice.torch.neuron"), ("torch.neuronx", "sluice.torch.neuron"),
                     ("torch.jit.save", "sluice.torch.neuron.save"), ("torch.jit.load", "sluice.torch.neuron.load")):
        text = text.replace(old, new)
    pathlib.Path("example.py").write_text(text)  # torch.jit.script reads sources
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(text, str(folder / "example.py"), "exec"), names)
    return names


def test_the_function_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    names = run_example(FUNCTION, monkeypatch, tmp_path)
    x, y = torch.rand(3), torch.rand(3)
    assert_close(names["loaded"](x, y), names["func"](x, y))
    assert_close(sluice.load("func.pt")(x.numpy(), y.numpy()), names["func"](x, y).numpy())


@pytest.mark.parametrize("text", [MODULE, WEIGHTS_APART], ids=["inlined", "apart"])
def test_the_module_examples_run(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    names = run_example(text, monkeypatch, tmp_path)
    x = torch.rand(1, 1, 3, 3)
    assert_close(names["loaded"](x), names["model"](x).detach())
    if text is WEIGHTS_APART:
        assert names["loaded"]._loaded.opened["cores"] == [0], "the example moves it there"


def test_the_note_on_separate_weights_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    names = run_example(WEIGHTS_APART, monkeypatch, tmp_path)
    other, x = names["Model"]().eval(), torch.rand(1, 1, 3, 3)
    sluice.torch.replace_weights(names["loaded"], other)
    assert_close(names["loaded"](x), other(x).detach())


def test_the_example_of_eight_rows_over_a_trace_of_one_runs(monkeypatch: pytest.MonkeyPatch,
                                                            tmp_path: pathlib.Path) -> None:
    names = run_example(BATCH, monkeypatch, tmp_path)
    assert names["neuron_net_dynamic_batch"] is names["neuron_net"]
    assert_close(names["ouput_batch_8"], names["n"](names["inputs_batch_8"]).detach())


def test_the_partitioner_example_runs_and_sluice_sorts(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    names = run_example(PARTITIONER, monkeypatch, tmp_path)
    assert_close(names["output"], names["n"](names["inputs"]).detach())
    assert type(names["neuron_net"]._loaded) is sluice.Model, "no operator is left to torch"


def test_the_partitioner_example_runs_with_sort_in_torch(monkeypatch: pytest.MonkeyPatch,
                                                         tmp_path: pathlib.Path) -> None:
    text = PARTITIONER.replace("PartitionerConfig()", 'PartitionerConfig(ops_to_partition={"aten::sort"})')
    names = run_example(text, monkeypatch, tmp_path)
    assert_close(names["output"], names["n"](names["inputs"]).detach())
    assert type(names["neuron_net"]._loaded) is not sluice.Model


def test_the_two_sizes_of_the_buckets_section_are_one_model(monkeypatch: pytest.MonkeyPatch,
                                                            tmp_path: pathlib.Path) -> None:
    """The section gives the two inputs and no whole example."""
    names = run_example(BUCKETS, monkeypatch, tmp_path)
    for size in (128, 256):
        x = torch.rand(size, size)
        assert_close(names["loaded"](x), x @ x.T)
