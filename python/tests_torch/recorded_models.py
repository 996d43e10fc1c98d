"""Functions and modules whose traces record_graphs.py records, with example inputs and further calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from conftest import Conv, Counter
from test_state import Cache

Args = tuple[Any, ...]


def _nested() -> Any:
    def nested(pair: tuple[Any, Any], more: dict[str, Any], scale: int) -> Any:
        return {"sum": pair[0] + pair[1], "rest": (more["a"] * scale, [more["b"], 7])}

    def args() -> Args:
        return (torch.rand(2), torch.rand(2)), {"a": torch.rand(3), "b": torch.rand(1)}, 5

    return nested, args(), {}, [args()]


def _any_size() -> Any:
    shapes = {"x": {0: "N", 2: "H", 3: "W"}}
    return Conv().eval(), (torch.rand(2, 1, 8, 8),), {"dynamic_shapes": shapes}, \
        [(torch.rand(shape),) for shape in ((1, 1, 3, 3), (5, 1, 17, 9))]


def _branch() -> Any:
    def branch(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    return branch, (torch.ones(3),), {"frontend": "torchscript"}, [(torch.full((3,), 4.0),)]


def _conditional() -> Any:
    def conditional(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))

    return conditional, (torch.ones(3),), {}, [(-torch.ones(3),)]


def _encoder() -> Any:
    layer = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True).eval()
    return layer, (torch.rand(2, 5, 16),), {}, [(torch.rand(2, 5, 16),)]


def _recurrent() -> Any:
    return nn.LSTM(4, 6, 2, batch_first=True).eval(), (torch.rand(2, 5, 4),), {}, [(torch.rand(2, 5, 4),)]


def _types() -> Any:
    def types(half: torch.Tensor, brain: torch.Tensor, long: torch.Tensor, flag: torch.Tensor) -> Any:
        return half * 2, brain + brain, torch.where(flag, long, -long), ~flag

    def args() -> Args:
        return (torch.rand(3).half(), torch.rand(3).bfloat16(), torch.randint(-9, 9, (3,)), torch.rand(3) > 0.5)

    return types, args(), {}, [args()]


def _names_inside() -> Any:
    """Argument and result are named as values that the exporter makes."""
    def names(add: torch.Tensor, scalar_tensor_default: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"relu": ((add + 1).relu() * 2) + scalar_tensor_default}

    return names, (torch.rand(3), torch.rand(3)), {}, [(-torch.rand(3), torch.rand(3))]


PLAIN: dict[str, Callable[[], tuple[Any, Args, dict[str, Any], list[Args]]]] = {
    "nested": _nested, "any_size": _any_size, "branch": _branch, "conditional": _conditional, "encoder": _encoder,
    "recurrent": _recurrent, "types": _types, "names_inside": _names_inside}

Stateful = tuple[Any, Args, Mapping[torch.Tensor, int], list[Args]]


def _counter() -> Stateful:
    return Counter().eval(), (torch.zeros(1),), {}, [(torch.rand(1),) for _ in range(3)]


def _cache() -> Stateful:
    calls = [(torch.rand(1, 8), torch.tensor([position])) for position in range(4)]
    return Cache().eval(), calls[0], {}, list(calls)


def _alias() -> Stateful:
    total = torch.zeros(2)
    return (lambda x, total: (x * 2, total + x)), (torch.rand(2), total), {total: 1}, \
        [(torch.rand(2),) for _ in range(3)]


STATEFUL: dict[str, Callable[[], Stateful]] = {"counter": _counter, "cache": _cache, "alias": _alias}


def stepped(func: Any, example: Args, calls: Sequence[Args], aliases: Mapping[torch.Tensor, int]) -> list[Any]:
    """Call after call with arguments and results, without those that are states."""
    states = {i: tensor for i, tensor in enumerate(example) if any(tensor is each for each in aliases)}
    steps = []
    with torch.no_grad():
        for args in calls:
            results = func(*args, *states.values())
            if aliases:
                (output,) = aliases.values()
                states = {i: results[output] for i in states}
                results = results[0]
            steps.append((args, results.clone()))
    return steps


def masked_mean() -> tuple[Any, torch.Tensor, torch.Tensor]:
    """Means over the marked places, which padding does not change, and the marked numbers themselves."""
    class MaskedMean(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(20, 4)

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            rows = self.table(ids) * mask[..., None]
            return rows.sum(1) / mask.sum(1, keepdim=True), rows

    return MaskedMean().eval(), torch.randint(0, 20, (2, 8)), torch.ones(2, 8)
