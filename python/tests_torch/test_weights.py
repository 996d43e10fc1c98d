"""Weights apart from the package's graph, replaced while calls go on."""

from __future__ import annotations

import itertools
import pathlib

import pytest
import sluice
import sluice.torch
import torch
from safetensors.torch import save_file
from torch import nn

from conftest import assert_close, while_replacing


class Normalized(nn.Module):
    """A convolution whose normalisation the compiler folds into it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 2)
        for tensor in (self.norm.running_mean, self.norm.running_var, self.norm.weight):
            nn.init.uniform_(tensor, 0.5, 1.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.conv(x)).relu().mean((2, 3)))


X = torch.rand(1, 1, 6, 6)


def test_the_documents_name_of_the_option_is_taken(conv: nn.Module, tmp_path: pathlib.Path) -> None:
    traced = sluice.torch.neuron.trace(conv, torch.rand(1, 1, 3, 3), inline_weights_to_neff=False)
    traced.save(tmp_path / "model.sluice")
    loaded = sluice.torch.load(tmp_path / "model.sluice")
    x = torch.rand(1, 1, 3, 3)
    assert_close(loaded(x), conv(x).detach())


def test_a_module_a_state_dict_and_a_file_replace_weights(tmp_path: pathlib.Path) -> None:
    models = [Normalized().eval() for _ in range(4)]
    traced = sluice.torch.trace(models[0], X, inline_weights=False)
    assert_close(traced(X), models[0](X).detach())
    assert sluice.torch.replace_weights(traced, models[1]) is None
    assert_close(traced(X), models[1](X).detach())
    sluice.torch.replace_weights(traced, models[2].state_dict())
    assert_close(traced(X), models[2](X).detach())
    save_file(models[3].state_dict(), tmp_path / "weights.safetensors")
    sluice.torch.replace_weights(traced, tmp_path / "weights.safetensors")
    assert_close(traced(X), models[3](X).detach())


def test_a_saved_package_has_the_new_weights_and_takes_others(tmp_path: pathlib.Path) -> None:
    first, second, third = (Normalized().eval() for _ in range(3))
    traced = sluice.torch.trace(first, X, inline_weights=False)
    sluice.torch.replace_weights(traced, second)
    traced.save(tmp_path / "model.sluice")
    assert_close(torch.from_numpy(sluice.load(tmp_path / "model.sluice")(X.numpy())), second(X).detach())
    loaded = sluice.torch.load(tmp_path / "model.sluice")
    sluice.torch.replace_weights(loaded, third)
    assert_close(loaded(X), third(X).detach())


def test_compiler_args_hold_for_replaced_weights() -> None:
    first, second = nn.Linear(64, 64).eval(), nn.Linear(64, 64).eval()
    traced = sluice.torch.trace(first, torch.rand(1, 64), inline_weights=False, compiler_args="--weights int8")
    sluice.torch.replace_weights(traced, second)
    x = torch.rand(1, 64)
    error = (traced(x) - second(x)).abs().max().item()
    assert 1e-6 < error < 0.1, "int8 rounds"


def test_all_mismatches_are_in_one_error() -> None:
    traced = sluice.torch.trace(Normalized().eval(), X, inline_weights=False)
    state = Normalized().state_dict()
    del state["conv.bias"]
    state["head.weight"] = torch.zeros(2, 5)
    state["norm.weight"] = state["norm.weight"].double()
    state["other"] = torch.zeros(1)
    with pytest.raises(ValueError) as error:
        sluice.torch.replace_weights(traced, state)
    for part in ('"conv.bias" is missing', '"head.weight" is float32[2, 5], the model takes float32[2, 4]',
                 '"norm.weight" is float64[4]', '"other" is no weight'):
        assert part in str(error.value)


def test_inlined_weights_cannot_be_replaced() -> None:
    for trace in (sluice.torch.trace, sluice.torch.neuron.trace):
        traced = trace(Normalized().eval(), X)
        with pytest.raises(RuntimeError, match="trace with inline_weights=False"):
            sluice.torch.replace_weights(traced, Normalized())
    with pytest.raises(ValueError, match='needs frontend="export"'):
        sluice.torch.trace(Normalized().eval(), X, inline_weights=False, frontend="torchscript")


def test_tied_weights_are_one_weight() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.table(ids))

    first, second = Tied().eval(), Tied().eval()
    ids = torch.tensor([1, 5])
    traced = sluice.torch.trace(first, ids, inline_weights=False)
    sluice.torch.replace_weights(traced, second)
    assert_close(traced(ids), second(ids).detach())
    with pytest.raises(ValueError, match="are one weight of the model, but differ"):
        sluice.torch.replace_weights(traced, {"table.weight": torch.zeros(7, 4), "head.weight": torch.ones(7, 4)})


def test_states_keep_their_values() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.register_buffer("total", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += x * self.scale
            return self.total * 1

    traced = sluice.torch.trace(Sum().eval(), torch.ones(1), inline_weights=False)
    assert traced(torch.ones(1)).item() == 1
    sluice.torch.replace_weights(traced, {"scale": torch.full((1,), 10.0)})
    assert traced(torch.ones(1)).item() == 11


def test_eight_threads_never_see_a_mixture() -> None:
    """Both halves of the result are the number of the weight set; 100,000 calls during replacements."""
    class Halves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left = nn.Parameter(torch.zeros(4, 16))
            self.right = nn.Parameter(torch.zeros(4, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([x @ self.left, x @ self.right], 1)

    traced = sluice.torch.trace(Halves().eval(), torch.ones(1, 4), inline_weights=False)
    x, wrong, seen, numbers = torch.full((1, 4), 0.25), [], set(), itertools.count(1.0)

    def call() -> None:
        for _ in range(12_500):
            result = traced(x)
            seen.add(result[0, 0].item())
            if (result != result[0, 0]).any():
                wrong.append(result)

    def replace() -> None:
        number = next(numbers)
        sluice.torch.replace_weights(traced, {"left": torch.full((4, 16), number),
                                              "right": torch.full((4, 16), number)})

    while_replacing(call, replace)
    assert not wrong
    assert len(seen) > 2, "weights were replaced while the threads called"
