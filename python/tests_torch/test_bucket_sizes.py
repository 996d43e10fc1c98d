"""Buckets by size: padding, selection and cutting happen inside the package."""

from __future__ import annotations

import pathlib

import pytest
import sluice
import sluice.torch
import torch
from torch import nn

from conftest import Counter, assert_close


class Attention(nn.Module):
    """Masked attention over a sequence of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mixed = self.inner(x, x, x, key_padding_mask=padding, need_weights=False)[0]
        return mixed, (mixed * ~padding[..., None]).sum(1)


def test_inputs_are_padded_to_the_next_size_and_outputs_cut(tmp_path: pathlib.Path) -> None:
    model = Attention().eval()
    traced = sluice.torch.trace(
        model, (torch.rand(1, 5, 8), torch.zeros(1, 5, dtype=torch.bool)),
        dynamic_shapes={"x": {1: "seq"}, "padding": {1: "seq"}},
        buckets=sluice.torch.Buckets({"seq": [4, 8, 16]}, pad={"padding": 1}))
    assert [spec.type for spec in traced.inputs] == ["f32[1,seq,8]", "bool[1,seq]"]
    traced.save(tmp_path / "sizes.sluice")
    plain = sluice.load(tmp_path / "sizes.sluice")
    for length in (1, 4, 5, 9, 16):
        x, padding = torch.rand(1, length, 8), torch.zeros(1, length, dtype=torch.bool)
        want = tuple(tensor.detach() for tensor in model(x, padding))
        assert_close(traced(x, padding), want)
        assert_close(tuple(map(torch.from_numpy, plain(x.numpy(), padding.numpy()))), want)
    with pytest.raises(ValueError, match=r"dimension 1 \(seq\) is 17; the largest bucket takes 16"):
        traced(torch.rand(1, 17, 8), torch.zeros(1, 17, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"is 3, that of another input 4"):
        traced(torch.rand(1, 4, 8), torch.zeros(1, 3, dtype=torch.bool))
    with pytest.raises(sluice.Error):
        plain(torch.rand(1, 17, 8).numpy(), torch.zeros(1, 17, dtype=torch.bool).numpy())


def test_two_sizes_make_buckets_of_all_pairs() -> None:
    conv = nn.Conv2d(1, 2, 3, padding=1).eval()
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 5, 6), dynamic_shapes=({2: "H", 3: "W"},),
                                buckets=sluice.torch.Buckets({"H": [4, 8], "W": [6, 7, 12]}))
    for height, width in ((1, 1), (4, 7), (8, 12), (5, 6)):
        x = torch.rand(1, 1, height, width)
        assert_close(traced(x), conv(x).detach())


def test_outputs_keep_the_size_of_the_bucket_without_unpad() -> None:
    traced = sluice.torch.trace(lambda x: x + 1, torch.rand(3), dynamic_shapes=({0: "n"},),
                                buckets=sluice.torch.Buckets({"n": [4, 8]}, unpad=False))
    assert traced(torch.rand(5)).shape == (8,)


def test_buckets_of_a_model_with_state_share_it() -> None:
    traced = sluice.torch.trace(Counter().eval(), torch.zeros(2), dynamic_shapes=({0: "n"},),
                                buckets=sluice.torch.Buckets({"n": [2, 4]}))
    assert traced(torch.zeros(1)).tolist() == [4]
    assert traced(torch.zeros(3)).tolist() == [5, 5, 5]


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        sluice.torch.Buckets({"n": [0, 3]})
    with pytest.raises(ValueError, match=r"sizes for \['m'\], dynamic_shapes names \['n'\]"):
        sluice.torch.trace(lambda x: x + 1, torch.rand(3), dynamic_shapes=({0: "n"},),
                           buckets=sluice.torch.Buckets({"m": [4]}))
    with pytest.raises(ValueError, match='pad names "y"'):
        sluice.torch.trace(lambda x: x + 1, torch.rand(3), dynamic_shapes=({0: "n"},),
                           buckets=sluice.torch.Buckets({"n": [4, 8]}, pad={"y": 1}))
