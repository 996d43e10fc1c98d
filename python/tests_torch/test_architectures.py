"""Networks that nobody here wrote agree with eager torch."""

from __future__ import annotations

from typing import Any

import pytest
import sluice.torch
import torch
from torch import nn
from torch.utils import _pytree as pytree

from architectures import ARCHITECTURES

TOLERANCE = 1e-4  #: of the largest element of a result: new networks may give small numbers


def spread(model: nn.Module) -> None:
    """What a training would have moved from its beginning, such as a mean of 0 or a head of zeros, hides mistakes."""
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point() and tensor.numel() > 1 and tensor.min() == tensor.max():
            with torch.no_grad():
                tensor += torch.empty_like(tensor).uniform_(-0.1, 0.1)


def assert_equal_results(got: Any, want: Any) -> None:
    (got_tensors, got_tree), (want_tensors, want_tree) = pytree.tree_flatten(got), pytree.tree_flatten(want)
    assert got_tree == want_tree
    for ours, theirs in zip(got_tensors, want_tensors):
        largest = theirs.abs().max()
        assert largest > 0 and (ours - theirs).abs().max() <= TOLERANCE * largest


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_architecture_agrees_with_eager(name: str) -> None:
    model, inputs = ARCHITECTURES[name]()
    spread(model.eval())
    traced = sluice.torch.trace(model, inputs)
    assert len(traced.state) == 0
    with torch.no_grad():
        want = model(*inputs)
    for _ in range(3):
        assert_equal_results(traced(*inputs), want)


def test_a_trace_leaves_experts_as_they_are() -> None:
    model, inputs = ARCHITECTURES["transformers/mixtral"]()
    before = model.eval().get_experts_implementation()
    sluice.torch.trace(model, inputs)
    assert model.get_experts_implementation() == before


def test_there_are_thirty_architectures() -> None:
    assert len(ARCHITECTURES) >= 30
