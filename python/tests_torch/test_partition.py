"""The partitioner and the analysis: operators that stay in torch."""

from __future__ import annotations

import io
import json
import logging
import pathlib
from typing import Any

import pytest
import sluice.torch
import torch
from torch import nn

from conftest import Counter, assert_close


class Sorted(nn.Module):
    """A small perceptron with sorted results."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 8), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.log_softmax(self.fc2(self.fc1(x).relu()), dim=1)
        sort_out, _ = torch.sort(out)
        return sort_out


class Unsupported(nn.Module):
    """Two operators without an ONNX translation, between others."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        y = self.fc(x).relu()
        low, _ = torch.kthvalue(y, 2)
        far = torch.cdist(y, y + 1)
        return {"low": low * 2, "far": self.fc(far @ y)}


X = torch.rand(3, 6)
CONFIG = sluice.torch.PartitionerConfig


def parts_of(traced: Any) -> list[str]:
    parts: list[str] = traced._loaded.parts()
    return parts


def test_named_operators_stay_in_torch_and_the_model_is_one(tmp_path: pathlib.Path) -> None:
    model = Sorted().eval()
    traced = sluice.torch.trace(model, X, partitioner_config=CONFIG(ops_to_partition={"aten::sort"}))
    assert parts_of(traced) == ["sluice", "torch"]
    assert_close(traced(X), model(X).detach())
    traced.save(tmp_path / "parts.sluice")
    loaded = sluice.torch.load(tmp_path / "parts.sluice")
    assert parts_of(loaded) == ["sluice", "torch"]
    x = torch.rand(3, 6)
    assert_close(loaded(x), model(x).detach())
    file = io.BytesIO()
    torch.save(loaded, file)
    file.seek(0)
    assert_close(torch.load(file, weights_only=False)(x), model(x).detach())


def test_operators_without_translation_stay_in_torch() -> None:
    model = Unsupported().eval()
    with pytest.raises(NotImplementedError, match=r"sluice.torch.analyze lists every operator.*partitioner_config=PartitionerConfig"):
        sluice.torch.trace(model, X)
    traced = sluice.torch.trace(model, X, partitioner_config=CONFIG())
    assert parts_of(traced) == ["sluice", "torch", "sluice"]
    assert_close(traced(X), {name: value.detach() for name, value in model(X).items()})
    with pytest.raises(ValueError, match=r'input "x": got f32\[2,6\], model takes f32\[3,6\]'):
        traced(torch.rand(2, 6))


def test_a_model_that_sluice_runs_whole_is_a_plain_package(tmp_path: pathlib.Path) -> None:
    model = Sorted().eval()
    traced = sluice.torch.trace(model, X, partitioner_config=CONFIG())
    traced.save(tmp_path / "whole.sluice")
    assert_close(torch.from_numpy(sluice.load(tmp_path / "whole.sluice")(X.numpy())), model(X).detach())


def test_states_cross_parts() -> None:
    traced = sluice.torch.trace(nn.Sequential(Counter(), nn.Softmax(0)).eval(), torch.rand(4),
                                partitioner_config=CONFIG(ops_to_partition={"aten::softmax"},
                                                          model_support_percentage_threshold=0.1))
    eager = nn.Sequential(Counter(), nn.Softmax(0)).eval()
    for _ in range(3):
        x = torch.rand(4)
        assert_close(traced(x), eager(x))
    assert traced.state["0.count"].tolist() == [6]


def test_batches_of_any_size_run_over_parts() -> None:
    model = Sorted().eval()
    traced = sluice.torch.trace(model, X, partitioner_config=CONFIG(ops_to_partition={"aten::sort"}))
    x = torch.rand(7, 6)
    assert_close(sluice.torch.dynamic_batch(traced)(x), model(x).detach())


def test_parts_whose_results_are_no_batch_take_none() -> None:
    traced = sluice.torch.trace(lambda x: torch.sort(x)[0].sum(0), X, partitioner_config=CONFIG(ops_to_partition={"aten::sort"}))
    with pytest.raises(ValueError, match="same first dimension"):
        sluice.torch.dynamic_batch(traced)


def test_limits_of_the_document_are_value_errors() -> None:
    model = Unsupported().eval()
    for config, message in (
        (CONFIG(model_support_percentage_threshold=0.9), "less than model_support_percentage_threshold 90%"),
        (CONFIG(min_subgraph_size=4), "has 3 operators, less than min_subgraph_size 4"),
        (CONFIG(max_subgraph_count=2), "the model has 3 parts, more than max_subgraph_count 2"),
    ):
        with pytest.raises(ValueError, match=message):
            sluice.torch.trace(model, X, partitioner_config=config)
    for kwargs in ({"min_subgraph_size": 0}, {"max_subgraph_count": -2}, {"model_support_percentage_threshold": 1.5},
                   {"ops_to_partition": {"sort"}}, {"trace_kwargs": {"buckets": 1}}, {"analyze_parameters": {"x": 1}}):
        with pytest.raises(ValueError, match=next(iter(kwargs)).split("_")[0] + "|aten::sort"):
            CONFIG(**kwargs)  # type: ignore[arg-type]
    sluice.torch.trace(model, X, partitioner_config=CONFIG(min_subgraph_size=3, max_subgraph_count=3))


def test_the_smallest_part_decides_on_min_subgraph_size() -> None:
    class Uneven(nn.Module):
        """Three operators, one that stays in torch, and one more."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = (x + 1).relu() * 2
            return torch.cdist(y, y).relu()

    model = Uneven().eval()
    assert parts_of(sluice.torch.trace(model, X, partitioner_config=CONFIG(min_subgraph_size=1))) == [
        "sluice", "torch", "sluice"]
    with pytest.raises(ValueError, match="a part in Sluice has 1 operators, less than min_subgraph_size 2"):
        sluice.torch.trace(model, X, partitioner_config=CONFIG(min_subgraph_size=2))


def test_half_of_the_operators_must_be_supported_by_default() -> None:
    class Distances(torch.nn.Module):
        """Five operators that stay in torch, and `supported` that do not."""

        def __init__(self, supported: int) -> None:
            super().__init__()
            self.supported = supported

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(5):
                x = torch.cdist(x, x)
            for _ in range(self.supported):
                x = x.relu()
            return x

    with pytest.raises(ValueError, match="less than model_support_percentage_threshold 50%"):
        sluice.torch.trace(Distances(4).eval(), torch.rand(3, 3), partitioner_config=CONFIG())
    assert parts_of(sluice.torch.trace(Distances(5).eval(), torch.rand(3, 3), partitioner_config=CONFIG())) == [
        "torch", "sluice"]


def test_a_number_of_workers_of_the_analysis_is_taken() -> None:
    config = CONFIG(analyze_parameters={"max_workers": 2})
    model = Unsupported().eval()
    with torch.no_grad():
        assert_close(sluice.torch.trace(model, X, partitioner_config=config)(X), model(X))


def test_ignored_operators_do_not_count() -> None:
    config = CONFIG(model_support_percentage_threshold=1.0,
                    analyze_parameters={"additional_ignored_ops": {"aten::kthvalue", "aten::cdist"}})
    assert parts_of(sluice.torch.trace(Unsupported().eval(), X, partitioner_config=config)) == [
        "sluice", "torch", "sluice"]


def test_trace_kwargs_reach_the_parts_and_the_logger_tells(tmp_path: pathlib.Path,
                                                           caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sluice.torch"):
        sluice.torch.trace(Sorted().eval(), X, partitioner_config=CONFIG(
            ops_to_partition={"aten::sort"}, trace_kwargs={"compiler_workdir": tmp_path}))
    assert (tmp_path / "part0" / "model.onnx").exists()
    assert "aten::sort stays in torch" in caplog.text


def test_analyze_lists_all_unsupported_operators_with_their_lines(tmp_path: pathlib.Path) -> None:
    report = sluice.torch.analyze(Unsupported().eval(), X, compiler_workdir=tmp_path)
    assert [entry["kind"] for entry in report["unsupported_operators"]] == ["aten::kthvalue", "aten::cdist"]
    for entry, code in zip(report["unsupported_operators"], ("torch.kthvalue(y, 2)", "torch.cdist(y, y + 1)")):
        assert "test_partition.py:" in entry["failureAt"]
        assert entry["failureAt"].endswith(code)
    assert report["supported_operators"]["aten"]["aten::linear"] == 2
    assert report["support_percentage"] == "75.00%"
    assert json.loads((tmp_path / "analysis.json").read_text()) == report
    rest = sluice.torch.analyze(Unsupported().eval(), X, additional_ignored_ops={"aten::kthvalue", "aten::cdist"})
    assert rest["support_percentage"] == "100.00%"


def test_operators_that_give_their_input_do_not_count() -> None:
    class Resting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = torch.nn.Dropout()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cdist(self.dropout(x).clone().detach(), x.contiguous()).relu()

    report = sluice.torch.analyze(Resting().eval(), torch.rand(3, 3))
    assert report["supported_operators"] == {"aten": {"aten::relu": 1}}
    assert report["support_percentage"] == "50.00%"


def test_values_that_pass_between_parts_may_have_names_of_values_inside(tmp_path: pathlib.Path) -> None:
    """Each part begins and ends with an `add`, as the parts before it do."""
    def function(x: torch.Tensor) -> torch.Tensor:
        first = x + 1
        low, _ = torch.sort(first)
        second = low + first
        again, _ = torch.sort(second.relu() + second)
        return (again + second).relu() + first

    traced = sluice.torch.trace(function, X, partitioner_config=CONFIG(ops_to_partition={"aten::sort"}))
    assert parts_of(traced) == ["sluice", "torch", "sluice", "torch", "sluice"]
    assert_close(traced(X), function(X))
    traced.save(tmp_path / "parts.sluice")
    assert_close(sluice.torch.load(tmp_path / "parts.sluice")(X + 1), function(X + 1))


class Tables(nn.Module):
    """Has a parameter, a buffer, an attribute and a literal in a part of torch, and one that is an output."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.register_buffer("low", torch.rand(3, 3))
        self.register_buffer("kept", torch.rand(4))
        self.high = torch.rand(6)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.fc(x).relu()
        far = torch.cdist((y @ self.fc.weight)[:, :3], self.low + torch.cdist(y + self.high, y))
        return far * 2 + self.low.sum(), self.kept


@pytest.mark.parametrize("reopened", [False, True])
def test_a_later_change_of_the_original_changes_no_part(reopened: bool) -> None:
    model = Tables().eval()
    traced = sluice.torch.trace(model, X, partitioner_config=CONFIG(
        ops_to_partition={"aten::matmul", "aten::mm", "aten::add", "aten::sum", "aten::linear"},
        model_support_percentage_threshold=0.1))
    assert set(parts_of(traced)) == {"sluice", "torch"}
    with torch.no_grad():
        want = model(X)
    if reopened:
        traced = traced.reopen()
    want = tuple(each.clone() for each in want)
    assert_close(traced(X), want)
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers(), model.high):
            tensor.add_(1)
    assert_close(traced(X), want)
    traced(X)[1].zero_()
    assert_close(traced(X), want)


def test_parts_of_torch_share_their_constants() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cdist(torch.cdist(x, table).relu() @ table, table)

    table = torch.rand(5, 6)
    traced = sluice.torch.trace(function, X, partitioner_config=CONFIG())
    assert parts_of(traced) == ["torch", "sluice", "torch"]
    places = {buffer.data_ptr() for step in traced._loaded._steps if not step.is_sluice
              for buffer in step.runs.buffers()}
    assert len(places) == 1 and table.data_ptr() not in places
