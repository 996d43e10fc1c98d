"""Buckets: one package traced at several shapes, a kernel that chooses, and state that buckets share."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sluice
import sluice.torch
import torch
from sluice.torch.neuron import BucketModelConfig, bucket_model_trace
from torch import nn

from conftest import assert_close


class Scorer(nn.Module):
    """Sums of positions, for sequences of any length; `scale` differs by bucket if a test wants it."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.weight = nn.Linear(4, 3)
        self.scale = scale

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (self.weight(x) * mask[..., None]).sum(1) * self.scale


def kernel_of_lengths(tensors: list[torch.Tensor]) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The smallest length that fits, with zeros behind."""
    length = tensors[0].shape[1]
    padded: list[torch.Tensor] = []
    index = 0
    for size in [4, 8, 16]:
        if length <= size:
            for tensor in tensors:
                shape = list(tensor.shape)
                shape[1] = size - length
                padded.append(torch.cat([tensor, torch.zeros(shape)], 1))
            return padded, torch.tensor([index])
        index += 1
    return tensors, torch.tensor([index])


def get_kernel() -> Callable[..., Any]:
    return torch.jit.script(kernel_of_lengths)


def scorer(scale: float = 1.0) -> tuple[nn.Module, dict[torch.Tensor, int]]:
    return Scorer(scale).eval(), {}


EXAMPLES = [(torch.rand(1, size, 4), torch.ones(1, size)) for size in (4, 8, 16)]


def test_the_kernel_chooses_among_buckets_of_one_package(tmp_path: pathlib.Path) -> None:
    traced = bucket_model_trace(scorer, EXAMPLES, BucketModelConfig(get_kernel))
    traced.save(tmp_path / "buckets.sluice")
    loaded = sluice.torch.load(tmp_path / "buckets.sluice")
    eager = Scorer().eval()
    for length in (1, 4, 5, 8, 11, 16):
        x, mask = torch.rand(1, length, 4), torch.ones(1, length)
        want = eager(x, mask).detach()
        assert_close(traced(x, mask), want)
        assert_close(loaded(x, mask), want)


def test_no_bucket_that_fits_is_an_error_that_names_the_largest() -> None:
    traced = bucket_model_trace(scorer, EXAMPLES, BucketModelConfig(get_kernel))
    with pytest.raises(ValueError, match=r"chose bucket 3; there are 3, and the last takes \[1, 16, 4\], \[1, 16\]"):
        traced(torch.rand(1, 17, 4), torch.ones(1, 17))
    wrong = BucketModelConfig(lambda: lambda tensors: (tensors, torch.tensor([1])))
    traced = bucket_model_trace(scorer, EXAMPLES, wrong)
    with pytest.raises(ValueError, match=r"no bucket fits inputs of \[1, 5, 4\].*largest bucket takes \[1, 16, 4\]"):
        traced(torch.rand(1, 5, 4), torch.ones(1, 5))


def test_without_torch_the_number_of_the_bucket_is_an_input(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "buckets.sluice"
    bucket_model_trace(scorer, EXAMPLES, BucketModelConfig(get_kernel)).save(path)
    model = sluice.load(path)
    x, mask = EXAMPLES[1]
    got = model(np.int64(1), x.numpy(), mask.numpy())
    assert_close(torch.from_numpy(got), Scorer().eval()(x, mask).detach())
    with pytest.raises(sluice.Error):
        model(np.int64(3), x.numpy(), mask.numpy())


def test_buckets_share_equal_weights(tmp_path: pathlib.Path) -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(5)
            self.table = nn.Embedding(2000, 64)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.table(ids).sum(1)

    kernel = BucketModelConfig(lambda: lambda tensors: (tensors, torch.tensor(tensors[0].shape[1] > 4)))
    ids = [torch.zeros(1, size, dtype=torch.int64) for size in (4, 8)]
    two = bucket_model_trace(lambda: (Wide().eval(), {}), ids, kernel, compiler_workdir=tmp_path / "two")
    assert_close(two(ids[1]), Wide().eval()(ids[1]).detach())
    sluice.torch.trace(Wide().eval(), ids[0], compiler_workdir=tmp_path / "one")
    sizes = [(tmp_path / name / "model.sluice").stat().st_size for name in ("one", "two")]
    assert sizes[1] < 1.2 * sizes[0]


def test_compiler_arguments_hold_for_all_buckets() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(5)
            self.linear = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x)

    kernel = BucketModelConfig(lambda: lambda tensors: (tensors, torch.tensor(tensors[0].shape[0] > 2)))
    examples = [torch.rand(size, 64) for size in (2, 4)]
    traced = bucket_model_trace(lambda: (Wide().eval(), {}), examples, kernel,
                                compiler_args="--weights bf16")
    for x in examples:
        assert 1e-6 < (traced(x) - Wide().eval()(x)).abs().max().item() < 2e-2, "bf16 rounds"


def test_func_kwargs_are_for_all_buckets_or_one_each() -> None:
    x, mask = EXAMPLES[1]
    want = Scorer().eval()(x, mask).detach()
    for kwargs, factor in (({"scale": 3.0}, 3), ([{"scale": float(i)} for i in (2, 4, 6)], 4)):
        config = BucketModelConfig(get_kernel, func_kwargs=kwargs)
        assert_close(bucket_model_trace(scorer, EXAMPLES, config)(x, mask), want * factor)
    config = BucketModelConfig(get_kernel, func_kwargs=[{}])
    with pytest.raises(ValueError, match="1 entries for 3 buckets"):
        bucket_model_trace(scorer, EXAMPLES, config)


class Memory(nn.Module):
    """Adds its input to a state of `length` numbers and gives the state."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(length))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        following = self.seen + x
        return following * 1, following


def memory(length: int) -> tuple[nn.Module, dict[torch.Tensor, int]]:
    model = Memory(length).eval()
    return model, {model.seen: 1}


def memory_kernel() -> Callable[..., Any]:
    return lambda tensors: (tensors, torch.tensor([0 if tensors[0].shape[0] == 2 else 1]))


def first_part(shapes: list[list[list[int]]], states: list[torch.Tensor], index: torch.Tensor) -> list[torch.Tensor]:
    expected = shapes[int(index)]
    parts: list[torch.Tensor] = []
    for i in range(len(expected)):
        parts.append(states[i][:expected[i][0]])
    return parts


def test_buckets_share_a_state_buffer() -> None:
    config = BucketModelConfig(
        memory_kernel, shared_state_buffer=[torch.zeros(3)],
        shared_state_buffer_preprocessor=lambda: torch.jit.script(first_part),
        func_kwargs=[{"length": 2}, {"length": 3}])
    traced = bucket_model_trace(memory, [torch.rand(2), torch.rand(3)], config)
    assert_close(traced(torch.tensor([1.0, 2.0])), torch.tensor([1.0, 2.0]))
    assert_close(traced(torch.tensor([1.0, 1.0, 1.0])), torch.tensor([2.0, 3.0, 1.0]))
    assert_close(traced(torch.tensor([1.0, 1.0])), torch.tensor([3.0, 4.0]))
    other = traced.session()
    assert_close(other(torch.ones(3)), torch.ones(3))


def test_the_whole_buffer_is_given_without_a_preprocessor() -> None:
    config = BucketModelConfig(memory_kernel, shared_state_buffer=[torch.ones(2)],
                               func_kwargs={"length": 2})
    traced = bucket_model_trace(memory, [torch.rand(2), torch.rand(2)], config)
    assert_close(traced(torch.ones(2)), torch.full((2,), 2.0))
    assert_close(traced(torch.ones(2)), torch.full((2,), 3.0))


def test_without_a_shared_buffer_buckets_keep_states_of_their_own() -> None:
    config = BucketModelConfig(memory_kernel, func_kwargs=[{"length": 2}, {"length": 3}])
    traced = bucket_model_trace(memory, [torch.rand(2), torch.rand(3)], config)
    for expected in (1.0, 2.0):
        assert_close(traced(torch.ones(2)), torch.full((2,), expected))
        assert_close(traced(torch.ones(3)), torch.full((3,), expected))


def test_states_of_buckets_are_read_set_and_reset() -> None:
    config = BucketModelConfig(memory_kernel, func_kwargs=[{"length": 2}, {"length": 3}])
    traced = bucket_model_trace(memory, [torch.rand(2), torch.rand(3)], config)
    first, second = traced.state
    traced(torch.ones(2)), traced(torch.ones(3))
    assert traced.state[first].tolist() == [1, 1] and traced.state[second].tolist() == [1, 1, 1]
    traced.state[second] = torch.full((3,), 7.0)
    assert_close(traced(torch.ones(3)), torch.full((3,), 8.0))
    before = traced.state.snapshot()
    traced.state.reset()
    assert_close(traced(torch.ones(2)), torch.ones(2))
    traced.state.restore(before)
    assert_close(traced(torch.ones(3)), torch.full((3,), 9.0))


def test_a_shared_buffer_is_one_state_and_keeps_its_value_on_another_core() -> None:
    config = BucketModelConfig(memory_kernel, shared_state_buffer=[torch.ones(2)], func_kwargs={"length": 2})
    traced = bucket_model_trace(memory, [torch.rand(2), torch.rand(2)], config)
    traced(torch.ones(2))
    sluice.torch.set_cores(traced, 0)
    assert_close(traced(torch.ones(2)), torch.full((2,), 3.0))
    assert list(traced.state) == ["buffer.0"]
    traced.state.reset()
    assert traced.state["buffer.0"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="state cannot be split"):
        sluice.torch.DataParallel(traced)
    if sluice.torch.num_cores() > 1:
        with pytest.raises(ValueError, match=r"keeps state \(buffer.0\)"):
            sluice.torch.set_cores(traced, count=-1)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="must return a model and its input_output_aliases"):
        bucket_model_trace(lambda: Scorer().eval(), EXAMPLES, BucketModelConfig(get_kernel))
    with pytest.raises(ValueError, match="example_inputs must be a list"):
        bucket_model_trace(scorer, [], BucketModelConfig(get_kernel))
    with pytest.raises(ValueError, match="needs a shared_state_buffer"):
        BucketModelConfig(get_kernel, shared_state_buffer_preprocessor=lambda: first_part)
    config = BucketModelConfig(memory_kernel, shared_state_buffer=[torch.zeros(3)],
                               func_kwargs=[{"length": 2}, {"length": 3}])
    traced = bucket_model_trace(memory, [torch.rand(2), torch.rand(3)], config)
    with pytest.raises(ValueError, match="states of bucket 0 are of"):
        traced(torch.ones(2))


def test_an_input_named_as_the_selector_is_refused() -> None:
    def model() -> Any:
        return (lambda bucket: bucket * 2), {}

    with pytest.raises(ValueError, match='"bucket" is the input that selects'):
        bucket_model_trace(model, [torch.rand(2), torch.rand(3)],
                           BucketModelConfig(lambda: lambda tensors: (tensors, torch.tensor(0))))
