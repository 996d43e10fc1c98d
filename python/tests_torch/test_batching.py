"""Dynamic batching: batches of any size over a model traced with one size."""

from __future__ import annotations

import io

import pytest
import sluice.torch
import torch
from torch import nn

from conftest import Counter, assert_close


def test_eight_rows_run_over_a_trace_of_one(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 3, 3))
    batched = sluice.torch.dynamic_batch(traced)
    assert batched is traced
    x = torch.rand(8, 1, 3, 3)
    assert_close(batched(x), conv(x).detach())


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8])
def test_batches_smaller_and_larger_than_the_trace_are_padded_and_split(rows: int) -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"sum": x + y[:, :2], "log": y.log()}

    traced = sluice.torch.dynamic_batch(sluice.torch.trace(both, (torch.rand(3, 2), torch.rand(3, 4))))
    x, y = torch.rand(rows, 2), torch.rand(rows, 4) + 1
    got, want = traced(x, y), both(x, y)
    assert set(got) == set(want)
    assert_close(got, want)


def test_padding_repeats_the_last_row() -> None:
    """Zeros would give infinities here, which a sum over the chunk would show."""
    def normalized(x: torch.Tensor) -> torch.Tensor:
        return x.log() + 0 * x.log().sum()

    traced = sluice.torch.dynamic_batch(sluice.torch.trace(normalized, torch.rand(4, 2) + 1))
    x = torch.rand(5, 2) + 1
    assert_close(traced(x), x.log())


def test_other_dimensions_and_unequal_batches_are_value_errors() -> None:
    traced = sluice.torch.dynamic_batch(sluice.torch.trace(lambda x: x * 2, torch.rand(2, 3, 5)))
    assert traced(torch.rand(3, 3, 5)).shape == (3, 3, 5)
    with pytest.raises(ValueError, match=r"got \[2, 7, 5\], model takes f32\[2,3,5\] with any first dimension"):
        traced(torch.rand(2, 7, 5))
    with pytest.raises(ValueError, match="at least one row"):
        traced(torch.rand(0, 3, 5))
    pair = sluice.torch.dynamic_batch(sluice.torch.trace(lambda x, y: x + y, (torch.rand(1, 2), torch.rand(1, 2))))
    with pytest.raises(ValueError, match="has 3 rows, input"):
        pair(torch.rand(2, 2), torch.rand(3, 2))


def test_models_whose_first_dimensions_differ_are_refused() -> None:
    unequal = sluice.torch.trace(lambda x, y: (x, y), (torch.rand(1, 2), torch.rand(3, 2)))
    with pytest.raises(ValueError, match=r"same first dimension.*f32\[1,2\].*f32\[3,2\]"):
        sluice.torch.dynamic_batch(unequal)
    with pytest.raises(ValueError, match="first dimension"):
        sluice.torch.dynamic_batch(sluice.torch.trace(lambda x: x.sum(0), torch.rand(2, 3)))
    scalar = sluice.torch.trace(lambda x, y: x + y, (torch.rand(2, 3), torch.tensor(1.0)))
    with pytest.raises(ValueError, match="but input"):
        sluice.torch.dynamic_batch(scalar)


def test_models_with_state_are_refused() -> None:
    with pytest.raises(ValueError, match=r"keeps state \(count\)"):
        sluice.torch.dynamic_batch(sluice.torch.trace(Counter().eval(), torch.zeros(1)))


def test_torch_save_keeps_dynamic_batching(conv: nn.Module) -> None:
    traced = sluice.torch.dynamic_batch(sluice.torch.trace(conv, torch.rand(2, 1, 3, 3)))
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    x = torch.rand(5, 1, 3, 3)
    assert_close(torch.load(file, weights_only=False)(x), conv(x).detach())
