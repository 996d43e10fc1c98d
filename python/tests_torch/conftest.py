"""What the tests of sluice.torch share."""

from __future__ import annotations

import pathlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))  # for its `daemon`

TOLERANCE = 1e-4


def assert_close(got: Any, want: Any) -> None:
    torch.testing.assert_close(got, want, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(3)


@pytest.fixture
def conv() -> nn.Module:
    return Conv().eval()


class Conv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x) + 1


class Counter(nn.Module):
    """Counts its calls in a buffer that begins with 3."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((1,), 3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x + self.count


def same_calls(traced: Callable[..., Any], eager: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """Call after call gives the same."""
    for args in calls:
        with torch.no_grad():
            want = eager(*args)
        assert_close(traced(*args), want)


def while_replacing(call: Callable[[], None], replace: Callable[[], None]) -> None:
    """Runs `call` in eight threads while another repeats `replace`; raises what any of them raised."""
    done = threading.Event()

    def repeat() -> None:
        while not done.is_set():
            replace()

    with ThreadPoolExecutor(9) as pool:
        replacer = pool.submit(repeat)
        try:
            for caller in [pool.submit(call) for _ in range(8)]:
                caller.result()
        finally:
            done.set()
        replacer.result()
