"""A traced model inside graphs of torch: compiled, exported, saved and loaded there."""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sluice.torch
import torch
from torch import nn

from conftest import assert_close
from sluice.torch import run_operator

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


def test_a_traced_network_is_one_operator_of_a_graph() -> None:
    layers = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4), nn.Softmax(-1)).eval()
    exported = [torch.export.export(model, (X,), strict=False).graph_module.graph
                for model in (layers, sluice.torch.trace(layers, X))]
    calls = [[str(node.target) for node in graph.nodes if node.op == "call_function" and "getitem" not in str(node.target)]
             for graph in exported]
    assert len(calls[0]) == 4 and calls[1] == ["sluice.run.default"]


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


def packages(count: int) -> list[torch.Tensor]:
    """Bytes of packages, as a loaded graph has them: x + number, for each number."""
    bytes_of = [sluice.torch.trace(lambda x, n=n: x + n, torch.rand(2)).__reduce__()[1][0] for n in range(count)]
    return [torch.frombuffer(bytearray(each), dtype=torch.uint8) for each in bytes_of]


def run(package: torch.Tensor) -> float:
    (result,) = run_operator.run(package, "", [torch.zeros(2)])
    return float(result[0])


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the packages that were loaded."""
    made: list[int] = []
    original = run_operator.load_package

    def load(package: bytes) -> Any:
        made.append(len(package))
        return original(package)

    monkeypatch.setattr(run_operator, "load_package", load)
    monkeypatch.setattr(run_operator, "_loaded", type(run_operator._loaded)())
    return made


def test_the_package_that_is_used_least_recently_goes_first(monkeypatch: pytest.MonkeyPatch, loads: list[int]) -> None:
    monkeypatch.setattr(run_operator, "_MAX_LOADED", 2)
    first, second, third = packages(3)
    assert [run(each) for each in (first, second, first, third)] == [0, 1, 0, 2]
    assert len(loads) == 3
    assert run(first) == 0 and len(loads) == 3
    assert run(second) == 1 and len(loads) == 4


def test_a_load_stops_no_call_of_another_package(monkeypatch: pytest.MonkeyPatch, loads: list[int]) -> None:
    slow, quick = packages(2)
    run(quick)
    entered, stays = threading.Event(), threading.Event()
    counting = run_operator.load_package

    def slowly(package: bytes) -> Any:
        entered.set()
        assert stays.wait(60)
        return counting(package)

    monkeypatch.setattr(run_operator, "load_package", slowly)
    with ThreadPoolExecutor(3) as pool:
        loading = [pool.submit(run, slow) for _ in range(2)]
        assert entered.wait(60)
        assert pool.submit(run, quick).result(60) == 1
        stays.set()
        assert [each.result(60) for each in loading] == [0, 0]
    assert len(loads) == 2, "two calls load a package once"


def test_a_package_that_does_not_load_is_tried_again(monkeypatch: pytest.MonkeyPatch, loads: list[int]) -> None:
    (package,) = packages(1)
    with monkeypatch.context() as patched:
        patched.setattr(run_operator, "load_package", lambda _: exec("raise MemoryError"))
        with pytest.raises(MemoryError):
            run(package)
    assert run(package) == 0
