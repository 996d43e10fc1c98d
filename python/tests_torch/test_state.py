"""State: buffers that change, and pairs named by input_output_aliases."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import sluice
import sluice.torch
import torch
from torch import nn

from conftest import Counter, assert_close, same_calls


class Cache(nn.Module):
    """Attention over the keys and values of earlier calls."""

    def __init__(self, length: int = 6, width: int = 8) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("keys", torch.zeros(length, width))
        self.register_buffer("values", torch.zeros(length, width))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(x).chunk(3, -1)
        self.keys.index_copy_(0, position, key)
        self.values.index_copy_(0, position, value)
        scores = query @ self.keys.T
        seen = torch.arange(self.keys.shape[0]) <= position
        return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ self.values


class Stream(nn.Module):
    """A convolution over a stream; the last samples of a call are kept for the next."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 3)
        self.register_buffer("tail", torch.zeros(1, 1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        joined = torch.cat([self.tail, x], -1)
        self.tail = joined[..., -2:]
        return self.conv(joined)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 5)
        self.register_buffer("h", torch.zeros(1, 5))
        self.register_buffer("c", torch.rand(1, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h, c = self.cell(x, (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        return h


def test_a_counter_counts() -> None:
    model = Counter().eval()
    traced = sluice.torch.trace(model, torch.zeros(1))
    assert model.count.item() == 3, "the trace leaves the original as it was"
    assert [traced(torch.zeros(1)).item() for _ in range(3)] == [4, 5, 6]


def test_batch_norm_in_eval_has_no_state() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval()
    traced = sluice.torch.trace(model, torch.rand(2, 1, 5, 5))
    assert len(traced.state) == 0
    same_calls(traced, model, *[(torch.rand(2, 1, 5, 5),)] * 3)


@pytest.mark.parametrize("model, calls", [
    (Cache(), [(torch.rand(1, 8), torch.tensor([i])) for i in range(3)]),
    (Stream(), [(torch.rand(1, 1, 5),) for _ in range(3)]),
    (Recurrent(), [(torch.rand(1, 4),) for _ in range(3)]),
])
def test_calls_one_to_three_agree_with_eager(model: nn.Module, calls: Any) -> None:
    traced = sluice.torch.trace(model.eval(), calls[0])
    same_calls(traced, model, *calls)


class Adder(nn.Module):
    """Gives its next state as a second output, as models for input_output_aliases do."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> Any:
        total = self.total + x
        return total * 2, total


def test_an_aliased_output_is_state_and_is_not_returned() -> None:
    model = Adder().eval()
    traced = sluice.torch.trace(model, torch.ones(2), input_output_aliases={model.total: 1})
    assert [traced(torch.ones(2))[0].item() for _ in range(3)] == [2, 4, 6]
    assert list(traced.state) == ["total"]


def test_an_example_input_may_be_the_state() -> None:
    x, total = torch.ones(2), torch.full((2,), 10.0)
    traced = sluice.torch.trace(lambda x, total: (x * 2, total + x), (x, total), input_output_aliases={total: 1})
    assert [spec.name for spec in traced.inputs] == ["x"]
    traced(x), traced(x)
    assert traced.state["total"].tolist() == [12, 12]


def test_state_is_read_set_reset_and_restored() -> None:
    traced = sluice.torch.trace(Counter().eval(), torch.zeros(1))
    traced(torch.zeros(1))
    before = traced.state.snapshot()
    traced.state["count"] = torch.tensor([40.0])
    assert traced(torch.zeros(1)).item() == 41
    traced.state.restore(before)
    assert traced(torch.zeros(1)).item() == 5
    traced.state.reset()
    assert traced.state["count"].tolist() == [3]
    with pytest.raises(ValueError, match=r'state "count": got float32\[2\], model keeps f32\[1\]'):
        traced.state["count"] = np.zeros(2, np.float32)
    with pytest.raises(KeyError, match='no state "cuont"'):
        traced.state["cuont"] = 0


def test_a_failed_run_leaves_the_state() -> None:
    traced = sluice.torch.trace(Counter().eval(), torch.zeros(1))
    traced(torch.zeros(1))
    with pytest.raises(ValueError):
        traced(torch.zeros(7))
    assert traced.state["count"].tolist() == [4]


def test_sessions_have_states_of_their_own() -> None:
    first = sluice.torch.trace(Counter().eval(), torch.zeros(1))
    first(torch.zeros(1))
    second = first.session()
    assert second(torch.zeros(1)).item() == 4 and first(torch.zeros(1)).item() == 5


def test_threads_do_not_lose_calls() -> None:
    loaded = sluice.torch.trace(Counter().eval(), torch.zeros(1))._loaded
    futures = [loaded.submit(np.zeros(1, np.float32)) for _ in range(200)]
    assert sorted(future.result().item() for future in futures) == list(range(4, 204))


def test_the_file_keeps_initial_values_without_torch(tmp_path: pathlib.Path) -> None:
    traced = sluice.torch.trace(Counter().eval(), torch.zeros(1))
    traced(torch.zeros(1))
    traced.save(tmp_path / "counter.sluice")
    loaded = sluice.load(tmp_path / "counter.sluice")
    assert isinstance(loaded, sluice.StatefulModel)
    assert [loaded(np.zeros(1, np.float32)).item() for _ in range(2)] == [4, 5]


def test_wrong_aliases_are_refused() -> None:
    model = Adder().eval()
    x = torch.ones(2)
    for aliases, text in (({model.total: 2}, "gives 2 tensors"), ({torch.ones(2): 1}, "no example input"),
                          ({model.total: 1, x: 1}, "paired twice")):
        with pytest.raises(ValueError, match=text):
            sluice.torch.trace(model, x, input_output_aliases=aliases)
    with pytest.raises(ValueError, match=r"is torch.float32\[2\], output 0"):
        sluice.torch.trace(lambda x: x.sum(), x, input_output_aliases={x: 0})


def test_mutations_that_are_no_state_are_refused() -> None:
    class Attribute(nn.Module):
        total = torch.zeros(1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total = self.total + x
            return self.total

    with pytest.raises(ValueError, match='register_buffer\\("total"'):
        sluice.torch.trace(Attribute().eval(), torch.ones(1))
    with pytest.raises(ValueError, match='writes to its input "x"'):
        sluice.torch.trace(lambda x: x.mul_(2), torch.ones(1))


def test_bf16_state_keeps_its_bits() -> None:
    class Low(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.full((2,), 1.5, dtype=torch.bfloat16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += x.to(torch.bfloat16)
            return self.total.float()

    model = Low().eval()
    traced = sluice.torch.trace(model, torch.ones(2))
    same_calls(traced, model, *[(torch.ones(2),)] * 3)
    assert_close(torch.from_numpy(traced.state["total"].astype(np.float32)), model.total.float())


def test_constants_beside_a_state_that_callers_leave_out_are_compared() -> None:
    state = torch.zeros(2)

    def step(x: torch.Tensor, doubled: bool, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        following = state + (x * 2 if doubled else x)
        return following * 1, following

    traced = sluice.torch.trace(step, (torch.ones(2), True, state), input_output_aliases={state: 1})
    assert traced(torch.ones(2), True).tolist() == [2, 2]
    for wrong in (False, 1, None, torch.ones(2)):
        with pytest.raises(ValueError, match="when the model was traced, and is fixed"):
            traced(torch.ones(2), wrong)
    assert traced(torch.ones(2), True, None).tolist() == [4, 4]
