"""A traced model inside graphs of torch: compiled, exported, saved and loaded there."""

from __future__ import annotations

import io

import sluice.torch
import torch
from torch import nn

from conftest import assert_close

X = torch.rand(3, 4)


class Around(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x * 2) + 1


def make() -> tuple[nn.Module, nn.Module]:
    """A model and the same with its trace inside."""
    torch._dynamo.reset()
    linear = nn.Linear(4, 5).eval()
    traced = sluice.torch.trace(linear, X, dynamic_shapes=({0: "N"},))
    return Around(linear).eval(), Around(traced).eval()


def test_torch_compile_takes_a_traced_model_without_a_graph_break() -> None:
    eager, around = make()
    compiled = torch.compile(around, backend="eager", fullgraph=True)
    with torch.no_grad():
        for rows in (3, 5, 8):
            x = torch.rand(rows, 4)
            assert_close(compiled(x), eager(x))


def test_torch_export_saves_and_loads_a_traced_model() -> None:
    eager, around = make()
    program = torch.export.export(around, (X,), dynamic_shapes=({0: torch.export.Dim("N")},), strict=False)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    for rows in (3, 7):
        x = torch.rand(rows, 4)
        assert_close(loaded(x), eager(x).detach())


def test_a_batched_model_runs_between_compiled_graphs() -> None:
    eager, _ = make()
    one = sluice.torch.dynamic_batch(sluice.torch.trace(eager.inner, torch.rand(1, 4)))
    compiled = torch.compile(Around(one).eval(), backend="eager")
    with torch.no_grad():
        assert_close(compiled(X), eager(X))
