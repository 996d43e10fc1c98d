"""torch.compile(backend="sluice")."""

from __future__ import annotations

import logging
import pathlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sluice.torch
import torch
from torch import nn

from conftest import assert_close
from sluice.torch import dynamo, watched


@pytest.fixture(autouse=True)
def _reset() -> None:
    torch._dynamo.reset()


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The graphs that became packages."""
    made: list[Any] = []
    original = dynamo._Graph.__init__

    def remember(self: Any, *args: Any) -> None:
        original(self, *args)
        made.append(self)

    monkeypatch.setattr(dynamo._Graph, "__init__", remember)
    return made


def model() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5)).eval()


def test_a_model_compiles_to_one_package(packages: list[Any]) -> None:
    eager = model()
    compiled = torch.compile(eager, backend="sluice")
    with torch.no_grad():
        for _ in range(2):
            x = torch.rand(2, 1, 8, 8)
            assert_close(compiled(x), eager(x))
    assert len(packages) == 1


def test_sizes_that_change_become_dynamic(packages: list[Any]) -> None:
    eager = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3)).eval()
    compiled = torch.compile(eager, backend="sluice")
    with torch.no_grad():
        for rows in (2, 3, 5, 9, 17):
            x = torch.rand(rows, 4)
            assert_close(compiled(x), eager(x))
    assert len(packages) == 2, "one for the first size and one for all others"


def test_graph_breaks_give_several_packages(packages: list[Any]) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        return y.sin() + 1

    x = torch.rand(5)
    assert_close(torch.compile(broken, backend="sluice")(x), broken(x))
    assert len(packages) == 2


def test_branches_on_data_take_the_right_way() -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x - 1

    compiled = torch.compile(branch, backend="sluice")
    for x in (torch.ones(3), -torch.ones(3), torch.ones(3)):
        assert_close(compiled(x), branch(x))


def test_inputs_and_buffers_written_in_place_change(packages: list[Any]) -> None:
    class Total(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x)
            return self.total * 1

    total = Total().eval()
    compiled = torch.compile(total, backend="sluice")
    with torch.no_grad():
        for i in range(1, 4):
            assert_close(compiled(torch.ones(3)), torch.full((3,), float(i)))
    assert_close(total.total, torch.full((3,), 3.0))
    assert len(packages) == 1


def test_changed_parameters_are_seen() -> None:
    eager = nn.Linear(3, 3).eval()
    compiled = torch.compile(eager, backend="sluice")
    x = torch.rand(1, 3)
    with torch.no_grad():
        assert_close(compiled(x), eager(x))
        eager.weight.mul_(2)
        assert_close(compiled(x), eager(x))


def test_parameters_that_get_other_memory_are_seen() -> None:
    eager = nn.Linear(3, 3).eval()
    compiled = torch.compile(eager, backend="sluice")
    x = torch.rand(1, 3)
    with torch.no_grad():
        assert_close(compiled(x), eager(x))
        eager.weight.data = torch.rand(3, 3)
        assert_close(compiled(x), eager(x))


@pytest.mark.parametrize("size", [3, 300])
def test_parameters_that_change_through_data_are_seen(size: int, packages: list[Any]) -> None:
    eager = nn.Linear(size, size).eval()
    compiled = torch.compile(eager, backend="sluice")
    x = torch.rand(1, size)
    with torch.no_grad():
        assert_close(compiled(x), eager(x))
        eager.weight.data.mul_(2)
        assert_close(compiled(x), eager(x))
        eager.bias.data[-1] = 5  # 300 floats are few enough to be compared whole
        assert_close(compiled(x), eager(x))
        assert_close(compiled(x), eager(x))
    assert len(packages) == 3, "an unchanged model is not compiled again"


def test_one_element_that_changes_through_data_is_seen_within_a_call_per_block(packages: list[Any]) -> None:
    eager = nn.Linear(300, 300).eval()
    compiled = torch.compile(eager, backend="sluice")
    x = torch.rand(1, 300)
    num_blocks = 6  # of 64 KiB, of 360,000 bytes
    with torch.no_grad():
        for _ in range(2 * num_blocks):
            assert_close(compiled(x), eager(x))
        assert len(packages) == 1, "an unchanged model is not compiled again"
        for element in (1, 70_001):  # none of the sample's
            eager.weight.data.view(-1)[element] = 5
            for _ in range(num_blocks):
                last = compiled(x)
            assert_close(last, eager(x))
    assert len(packages) == 3


def test_a_change_of_any_parameters_is_seen_within_1024_looks() -> None:
    large = torch.zeros(1025 * 65536, dtype=torch.uint8)
    patrol = watched.Patrol([watched.Watched(large)])
    assert not any(patrol.is_changed() for _ in range(1024)), "513 looks are a round"
    large.data[-1] = 1
    assert any(patrol.is_changed() for _ in range(1024))


@pytest.mark.parametrize("where", ["made", "called", "both"])
def test_inference_mode_compiles_once_and_sees_changes(where: str, packages: list[Any]) -> None:
    with torch.inference_mode(where != "called"):
        eager = nn.Linear(3, 3).eval()
    compiled = torch.compile(eager, backend="sluice")
    with torch.inference_mode(where != "made"), torch.no_grad():
        for _ in range(3):
            x = torch.rand(1, 3)
            assert_close(compiled(x), eager(x))
    assert len(packages) == 1
    with torch.inference_mode():
        eager.weight.mul_(2)
    with torch.inference_mode(where != "made"), torch.no_grad():
        assert_close(compiled(x), eager(x))


def test_an_interrupted_compilation_leaves_no_old_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    eager = nn.Linear(3, 3).eval()
    compiled = torch.compile(eager, backend="sluice")
    x = torch.rand(1, 3)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with torch.no_grad():
        compiled(x)
        eager.weight.mul_(2)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(dynamo, "_Graph", interrupt)
            compiled(x)
        assert_close(compiled(x), eager(x))


def test_a_call_during_a_compilation_waits_for_the_new_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    eager = nn.Linear(3, 3).eval()
    compiled = torch.compile(eager, backend="sluice")
    x = torch.rand(1, 3)
    entered, stays = threading.Event(), threading.Event()
    original = dynamo._Graph

    def slowly(*args: Any) -> Any:
        entered.set()
        assert stays.wait(60)
        return original(*args)

    def call() -> torch.Tensor:
        with torch.no_grad():
            return compiled(x)

    call()
    with torch.no_grad():
        eager.weight.mul_(2)
        want = eager(x)
    monkeypatch.setattr(dynamo, "_Graph", slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(call)
        assert entered.wait(60)
        second = pool.submit(call)
        with pytest.raises(TimeoutError):
            second.result(0.2)
        stays.set()
        assert_close(first.result(60), want)
        assert_close(second.result(60), want)


NUMBERS: dict[str, Any] = {
    "product": lambda x, n: x * n + 1,
    "of integers": lambda x, n: x.to(torch.int32) * n,
    "slice": lambda x, n: x[:n] * 2,
    "shape": lambda x, n: x + torch.full((abs(n), 1), n).sum(),
    "floor": lambda x, n: (x * (n // 2), x * (n % 3), x * -(-n // 2)),
    "of a size": lambda x, n: x * n * x.shape[0],
    "without a translation": lambda x, n: torch.roll(x, n),
    "returned": lambda x, n: (x + n, n * 2),
    "chosen": lambda x, n: x * 2 if n > 3 else x - n,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_an_integer_argument_is_no_constant(name: str) -> None:
    function = NUMBERS[name]
    compiled = torch.compile(function, backend="sluice", dynamic=True)
    with torch.no_grad():
        for n in (2, 3, 5, 7, -3, 2):
            x = torch.arange(1.0, 5.0)
            assert_close(compiled(x, n), function(x, n))


@pytest.mark.parametrize("dynamic, count", [(None, 2), (True, 1)])
def test_integer_arguments_share_a_package(dynamic: bool | None, count: int, packages: list[Any]) -> None:
    compiled = torch.compile(NUMBERS["product"], backend="sluice", dynamic=dynamic)
    with torch.no_grad():
        for n in (2, 3, 5, 7, 11):
            assert_close(compiled(torch.ones(2), n), torch.full((2,), n + 1.0))
    assert len(packages) == count


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("values", [(0.5, 1.5, 2.5, -3.0, 0.5), (True, False, True, False, True)])
def test_other_arguments_are_no_constants(values: tuple[Any, ...], dynamic: bool | None) -> None:
    compiled = torch.compile(NUMBERS["product"], backend="sluice", dynamic=dynamic)
    with torch.no_grad():
        for value in values:
            assert_close(compiled(torch.ones(2), value), torch.ones(2) * value + 1)


def test_training_is_refused() -> None:
    with pytest.raises(Exception, match=r"for inference, but gradients would be recorded; .*torch.no_grad"):
        torch.compile(nn.Linear(3, 3), backend="sluice")(torch.rand(1, 3))


def test_what_sluice_cannot_run_stays_in_torch(caplog: pytest.LogCaptureFixture) -> None:
    def far(x: torch.Tensor) -> torch.Tensor:
        return torch.cdist(x, x + 1) * 2

    x = torch.rand(3, 4)
    with caplog.at_level(logging.WARNING, "sluice.torch"):
        assert_close(torch.compile(far, backend="sluice")(x), far(x))
    assert "a graph stays in torch" in caplog.text


def test_options_reach_the_compiler() -> None:
    eager = nn.Linear(64, 64).eval()
    x = torch.rand(1, 64)
    with torch.no_grad():
        error = (torch.compile(eager, backend="sluice", options={"compiler_args": "--weights int8"})(x) - eager(x)).abs()
        assert 1e-6 < error.max().item() < 0.1
        with pytest.raises(Exception, match='no option "compiler_arg"'):
            torch.compile(nn.Linear(2, 2).eval(), backend="sluice", options={"compiler_arg": ""})(torch.rand(1, 2))


def test_the_wheel_registers_the_backend() -> None:
    text = (pathlib.Path(__file__).resolve().parents[1] / "pyproject.toml").read_text()
    assert '[project.entry-points.torch_dynamo_backends]\nsluice = "sluice.torch.dynamo:backend"' in text
    assert callable(sluice.torch.dynamo.backend)


TYPED = {
    "sum of f16": lambda x: (x.half() * 3).sum(-1), "cumsum of f16": lambda x: x.half().cumsum(-1),
    "sum of bf16": lambda x: x.bfloat16().sum(-1), "sum of bool": lambda x: (x > 0).sum(),
    "f64": lambda x: x.double() + 1, "counts": lambda x: (x > 0).to(torch.int8) * 2,
    "several": lambda x: (x.half().sum(0), x, x.bfloat16().mean(-1)), "arg": lambda x: x.argmax(-1).to(torch.int32),
    "complex": lambda x: torch.complex(x, x) * 2, "product of f16": lambda x: x.half() @ x.half().mT}


@pytest.mark.parametrize("name", TYPED)
def test_results_have_the_types_of_eager_torch(name: str) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    want, got = TYPED[name](x), torch.compile(TYPED[name], backend="sluice")(x)
    for each, other in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        assert (each.dtype, each.shape) == (other.dtype, other.shape)
        assert_close(each, other)


@pytest.mark.parametrize("frontend", ["export", "torchscript"])
@pytest.mark.parametrize("name", ["sum of f16", "sum of bf16", "several", "sum of bool"])
def test_traced_results_have_the_types_of_eager_torch(name: str, frontend: str) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    want, got = TYPED[name](x), sluice.torch.trace(TYPED[name], x, frontend=frontend)(x)
    for each, other in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        assert each.dtype == other.dtype
