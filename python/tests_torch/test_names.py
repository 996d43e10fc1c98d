"""sluice.torch has names of its own; sluice.torch.neuron has those of PyTorch NeuronX."""

from __future__ import annotations

import pytest
import sluice.torch
import torch
from torch import nn

from conftest import assert_close

ONLY_THERE = ("BucketModelConfig", "bucket_model_trace", "move_trace_to_device", "multicore_context", "save", "set_multicore")
IN_BOTH = ("DataParallel", "PartitionerConfig", "analyze", "async_load", "dynamic_batch", "lazy_load", "load",
           "replace_weights")


@pytest.mark.parametrize("name", ONLY_THERE)
def test_a_name_of_the_other_library_is_not_in_sluice_torch_and_the_error_says_where(name: str) -> None:
    assert callable(getattr(sluice.torch.neuron, name))
    assert name not in sluice.torch.__all__
    with pytest.raises(AttributeError, match=f"no name '{name}'; it is sluice.torch.neuron.{name}"):
        getattr(sluice.torch, name)


@pytest.mark.parametrize("name", IN_BOTH)
def test_a_name_of_both_is_one_object(name: str) -> None:
    assert getattr(sluice.torch.neuron, name) is getattr(sluice.torch, name)


def test_a_name_of_neither_is_an_error_without_a_place() -> None:
    with pytest.raises(AttributeError, match="no name 'tracee'$"):
        getattr(sluice.torch, "tracee")
    assert "set_cores" not in sluice.torch.neuron.__all__


def test_every_name_of_neuron_is_of_the_other_library_and_listed_here() -> None:
    assert sorted(sluice.torch.neuron.__all__) == sorted([*ONLY_THERE, *IN_BOTH, "trace"])


def test_one_changed_import_runs_a_program_of_the_other_library(conv: nn.Module) -> None:
    import sluice.torch.neuron as torch_neuronx

    x = torch.rand(1, 1, 3, 3)
    traced = torch_neuronx.trace(conv, x, inline_weights_to_neff=False, compiler_args="--no-winograd")
    torch_neuronx.dynamic_batch(torch_neuronx.set_multicore(traced))
    batch = torch.rand(4, 1, 3, 3)
    assert_close(traced(batch), conv(batch).detach())


def test_an_option_has_its_name_of_one_place_only(conv: nn.Module) -> None:
    x = torch.rand(1, 1, 3, 3)
    with pytest.raises(TypeError, match="inline_weights_to_neff"):
        sluice.torch.trace(conv, x, inline_weights_to_neff=False)
    with pytest.raises(TypeError, match="inline_weights"):
        sluice.torch.neuron.trace(conv, x, inline_weights=False)
