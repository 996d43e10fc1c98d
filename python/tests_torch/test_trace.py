"""Tracing, calling, saving and loading."""

from __future__ import annotations

import copy
import inspect
import io
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import sluice
import sluice.torch
import torch
from torch import nn

from conftest import assert_close


def two_x_plus_y(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 2 * x + y


def test_a_function_is_traced_saved_and_loaded(tmp_path: pathlib.Path) -> None:
    traced = sluice.torch.trace(two_x_plus_y, (torch.rand(3), torch.rand(3)))
    traced.save(tmp_path / "func.sluice")
    assert traced.metadata["name"] == "two_x_plus_y"
    x, y = torch.rand(3), torch.rand(3)
    assert_close(sluice.torch.load(tmp_path / "func.sluice")(x, y), 2 * x + y)


def test_a_module_with_one_example_input_is_traced(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 3, 3))
    assert traced.metadata["name"] == type(conv).__name__
    x = torch.rand(1, 1, 3, 3)
    assert_close(traced(x), conv(x).detach())
    assert not traced(x).requires_grad


def test_nested_arguments_and_results_keep_their_structure() -> None:
    def nested(pair: tuple[Any, Any], more: dict[str, Any], scale: int) -> Any:
        return {"sum": pair[0] + pair[1], "rest": (more["a"] * scale, None, [more["b"], 7])}

    args = ((torch.rand(2), torch.rand(2)), {"a": torch.rand(3), "b": torch.rand(1)}, 5)
    traced = sluice.torch.trace(nested, args)
    assert [spec.name for spec in traced.inputs] == ["pair_0", "pair_1", "more_a", "more_b"]
    assert [spec.name for spec in traced.outputs] == ["sum", "rest_0", "rest_2_0"]
    got, want = traced(*args), nested(*args)
    assert torch.utils._pytree.tree_structure(got) == torch.utils._pytree.tree_structure(want)
    assert_close(got["rest"][0], want["rest"][0])
    assert got["rest"][2][1] == 7


def test_translations_of_the_exporter_are_parsed_once(conv: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    sluice.torch.trace(conv, torch.rand(1, 1, 5, 5))
    read, parsed = inspect.getsource, []
    monkeypatch.setattr(inspect, "getsource", lambda of: parsed.append(of) or read(of))
    sluice.torch.trace(conv, torch.rand(1, 1, 5, 5))
    assert len(parsed) < 50, "torch.onnx has 500 of them"


def test_dimensions_with_a_name_vary(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, torch.rand(2, 1, 8, 8), dynamic_shapes={"x": {0: "N", 2: "H", 3: "W"}})
    assert traced.inputs[0].type == "f32[N,1,H,W]"
    for shape in ((1, 1, 3, 3), (5, 1, 17, 9)):
        x = torch.rand(shape)
        assert_close(traced(x), conv(x).detach())


def test_numbers_are_fixed_by_the_trace() -> None:
    traced = sluice.torch.trace(lambda x, times: x * times, (torch.rand(2), 3))
    assert_close(traced(torch.ones(2), 3), torch.full((2,), 3.0))
    with pytest.raises(ValueError, match="4 was 3 when the model was traced"):
        traced(torch.ones(2), 4)


def test_a_program_without_torch_runs_the_file(conv: nn.Module, tmp_path: pathlib.Path) -> None:
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 3, 3))
    traced.save(tmp_path / "model.sluice")
    code = ("import sys, numpy, sluice; sys.modules['torch'] = None\n"
            f"model = sluice.load({str(tmp_path / 'model.sluice')!r})\n"
            "print(float(model(numpy.ones((1, 1, 3, 3), numpy.float32)).item()))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(conv(torch.ones(1, 1, 3, 3)).item(), abs=1e-5)


def test_the_command_line_runs_the_file(conv: nn.Module, tmp_path: pathlib.Path) -> None:
    sluice.torch.trace(conv, torch.rand(1, 1, 3, 3)).save(tmp_path / "model.sluice")
    np.save(tmp_path / "x.npy", np.ones((1, 1, 3, 3), np.float32))
    program = os.environ.get("SLUICE_PROGRAM", "sluice")
    subprocess.run([program, "run", tmp_path / "model.sluice", "--input", f"x={tmp_path / 'x.npy'}",
                    "--output-dir", tmp_path], check=True, capture_output=True)
    got = np.load(tmp_path / "output.npy")
    assert got.item() == pytest.approx(conv(torch.ones(1, 1, 3, 3)).item(), abs=1e-5)


def test_it_survives_torch_save_and_deepcopy(conv: nn.Module) -> None:
    traced = sluice.torch.trace(conv, torch.rand(1, 1, 3, 3))
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    x = torch.rand(1, 1, 3, 3)
    assert_close(torch.load(file, weights_only=False)(x), traced(x))
    assert_close(copy.deepcopy(traced)(x), traced(x))


def test_the_work_directory_gets_model_package_and_report(conv: nn.Module, tmp_path: pathlib.Path) -> None:
    sluice.torch.trace(conv, torch.rand(1, 1, 3, 3), compiler_workdir=tmp_path / "work")
    report = json.loads((tmp_path / "work" / "report.json").read_text())
    assert report["operators"]["Conv"] == 1 and report["inputs"] == ["x"]
    assert sluice.compile(tmp_path / "work" / "model.onnx").inputs[0].name == "x"


def test_the_work_directory_gets_the_graph_after_each_pass(tmp_path: pathlib.Path) -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()).eval()
    sluice.torch.trace(model, torch.rand(1, 1, 8, 8), compiler_workdir=tmp_path)
    files = sorted((tmp_path / "graphs").iterdir())
    assert files[0].name == "00-import.txt" and files[-1].name.endswith("-compiled.txt") and len(files) > 2
    texts = [file.read_text() for file in files]
    assert "body @" not in texts[0] and "body @" in texts[-1], "the activation is fused into the convolution"
    assert len(set(texts)) == len(texts), "each pass changes the graph"
    assert all(text.startswith("fact ") and " = Conv." in text for text in texts)


@pytest.mark.parametrize("args", ["--weights bf16", ["--weights", "bf16"]])
def test_compiler_arguments_reach_the_compiler(args: Any) -> None:
    linear = nn.Linear(64, 64).eval()
    x = torch.rand(2, 64)
    traced = sluice.torch.trace(linear, x, compiler_args=args)
    difference = (traced(x) - linear(x)).abs().max().item()
    assert 1e-6 < difference < 2e-2


def test_the_torchscript_frontend_records_branches_on_data() -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(NotImplementedError, match='frontend="torchscript"'):
        sluice.torch.trace(branch, torch.ones(3))
    traced = sluice.torch.trace(branch, torch.ones(3), frontend="torchscript")
    assert_close(traced(torch.ones(3)), torch.full((3,), 2.0))


def test_the_same_tensor_may_come_in_and_go_out() -> None:
    traced = sluice.torch.trace(lambda x: (x, x), torch.rand(3))
    x = torch.rand(3)
    first, second = traced(x)
    assert torch.equal(first, x) and torch.equal(second, x)


@pytest.mark.parametrize("frontend", ["export", "torchscript"])
def test_an_example_that_comes_twice_is_two_inputs(frontend: str) -> None:
    x = torch.rand(3)
    traced = sluice.torch.trace(lambda a, b: a - 2 * b, (x, x), frontend=frontend)
    assert_close(traced(torch.ones(3), torch.zeros(3)), torch.ones(3))


def test_the_torchscript_frontend_leaves_the_model_in_eval_mode() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout()).eval()
    sluice.torch.trace(model, torch.rand(1, 2), frontend="torchscript")
    assert not any(module.training for module in model.modules())


@pytest.mark.parametrize("name", ["add", "relu", "scalar_tensor_default", "mul", "val_0", "output", "node_add"])
def test_arguments_may_have_names_of_values_inside(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def function({name}, other):\n    return {{'relu_': (({name} + 1).relu() * 2), 'mul_1': other * 3}}", scope)
    x, y = torch.rand(3), torch.rand(3)
    traced = sluice.torch.trace(scope["function"], (x, y))
    assert [spec.name for spec in traced.inputs] == [name, "other"]
    assert_close(traced(x - 5, y), scope["function"](x - 5, y))
    with pytest.raises(ValueError, match=f'input "{name}": got'):
        traced(torch.rand(4), y)


@pytest.mark.parametrize("result", ["add", "relu", "mul", "conv", "conv2d", "model.conv.weight", "x_"])
def test_results_may_have_names_of_values_inside(conv: nn.Module, result: str) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = conv.conv

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {result: (self.conv(x) + 1).relu() * 2 + 3}

    x = torch.rand(1, 1, 5, 5)
    model = Named().eval()
    traced = sluice.torch.trace(model, x)
    assert_close(traced(x)[result], model(x)[result].detach())


@pytest.mark.parametrize("options", [{}, {"frontend": "torchscript"}, {"inline_weights": False}],
                         ids=["export", "torchscript", "weights apart"])
def test_weights_beyond_a_message_go_through_files(options: Any, monkeypatch: pytest.MonkeyPatch,
                                                   tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(sluice.onnx_files, "LARGEST_MESSAGE_BYTES", 10_000)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).eval()
    x = torch.rand(2, 64)
    for folder in (None, tmp_path):
        assert_close(sluice.torch.trace(model, x, compiler_workdir=folder, **options)(x), model(x).detach())
    assert (tmp_path / "model.onnx.data").stat().st_size > 30_000


@pytest.mark.parametrize("flag, others", [(True, (1, 1.0, False)), (1, (True, 1.0)), (0.0, (-0.0, 0, False)),
                                          (2.0, (2, 2.5)), ("a", ("b",)), (None, (0, False))])
def test_a_constant_of_another_type_or_value_is_refused(flag: Any, others: tuple[Any, ...]) -> None:
    traced = sluice.torch.trace(lambda x, flag: x + 1, (torch.rand(2), flag))
    assert_close(traced(torch.ones(2), flag), torch.full((2,), 2.0))
    for other in others:
        with pytest.raises(ValueError, match="when the model was traced, and is fixed"):
            traced(torch.ones(2), other)


def test_a_constant_without_a_number_equals_itself(tmp_path: pathlib.Path) -> None:
    traced = sluice.torch.trace(lambda x, fill: torch.nan_to_num(x, nan=0.0) + 1, (torch.rand(2), float("nan")))
    assert_close(traced(torch.ones(2), float("nan")), torch.full((2,), 2.0))
    assert_close(traced(torch.ones(2), np.float64("nan")), torch.full((2,), 2.0))
    traced.save(tmp_path / "nan.sluice")
    assert_close(sluice.torch.load(tmp_path / "nan.sluice")(torch.ones(2), float("nan")), torch.full((2,), 2.0))


@pytest.mark.parametrize("where", ["made", "traced", "both"])
def test_inference_mode_changes_no_trace(where: str) -> None:
    with torch.inference_mode(where != "traced"):
        model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    with torch.inference_mode(where != "made"), torch.no_grad():
        traced = sluice.torch.trace(model, torch.rand(4, 2))
        x = torch.rand(4, 2)
        assert_close(traced(x), model(x))
        config = sluice.torch.PartitionerConfig(ops_to_partition={"aten::linear"}, model_support_percentage_threshold=0.1)
        parts = sluice.torch.trace(model, torch.rand(4, 2), partitioner_config=config)
        assert_close(parts(x), model(x))


def test_sizes_are_divided_down() -> None:
    def ceiling(x: torch.Tensor) -> torch.Tensor:
        return x * -(-x.shape[0] // 4)

    traced = sluice.torch.trace(ceiling, torch.ones(5, 2), dynamic_shapes=({0: "N"},))
    for rows in (4, 5, 7, 8, 9):
        assert_close(traced(torch.ones(rows, 2)), ceiling(torch.ones(rows, 2)))


def test_numbers_read_from_tensors_are_divided_down() -> None:
    def halves(x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, ...]:
        number = n.item()
        return x * (number // 2), x * (number // -3), x * (number % 3)

    traced = sluice.torch.trace(halves, (torch.ones(2), torch.tensor(4)))
    for n in (5, 4, 0, -1, -4, -5, 2**40 + 1, -2**40 - 1):
        assert_close(traced(torch.ones(2), torch.tensor(n)), halves(torch.ones(2), torch.tensor(n)))


def test_arguments_by_keyword_are_traced_and_called_by_keyword(tmp_path: pathlib.Path) -> None:
    def weighted(x: torch.Tensor, scale: float = 2.0, mask: torch.Tensor | None = None, *,
                 extra: torch.Tensor | None = None) -> torch.Tensor:
        return x * scale if mask is None else x * scale * mask

    x, mask = torch.rand(3), torch.tensor([1.0, 0.0, 1.0])
    traced = sluice.torch.trace(weighted, x, example_kwarg_inputs={"mask": mask})
    assert [spec.name for spec in traced.inputs] == ["x", "mask"]
    traced.save(tmp_path / "weighted.sluice")
    for model in (traced, sluice.torch.load(tmp_path / "weighted.sluice")):
        for got in (model(x, mask=mask), model(x, 2.0, mask), model(mask=mask, x=x), model(x, mask=mask, scale=2.0)):
            assert_close(got, weighted(x, mask=mask))
    for kwargs, says in (({}, "arguments are"), ({"masks": mask}, "is unknown: masks"), ({"x": x}, "is given twice: x"),
                         ({"scale": 2.0}, '"mask" is missing'), ({"mask": mask, "scale": 3.0}, "is fixed")):
        with pytest.raises(sluice.InvalidArgument, match=says):
            traced(x, **kwargs)
    with pytest.raises(sluice.InvalidArgument, match='"extra" has no place'):
        sluice.torch.trace(weighted, x, example_kwarg_inputs={"extra": mask})
    with pytest.raises(sluice.InvalidArgument, match="unexpected keyword argument"):
        sluice.torch.trace(weighted, x, example_kwarg_inputs={"y": mask})


def test_arguments_may_come_by_keyword_alone() -> None:
    class Joined(nn.Module):
        def forward(self, parts: dict[str, torch.Tensor], last: torch.Tensor) -> torch.Tensor:
            return torch.cat([*parts.values(), last])

    parts, last = {"a": torch.rand(2), "b": torch.rand(1)}, torch.rand(2)
    traced = sluice.torch.trace(Joined().eval(), (), example_kwarg_inputs={"last": last, "parts": parts})
    assert_close(traced(parts=parts, last=last), torch.cat([*parts.values(), last]))


def test_a_trace_takes_the_threads_of_its_model(conv: nn.Module) -> None:
    x = torch.rand(1, 1, 5, 5)
    assert_close(sluice.torch.trace(conv, x, threads=1)(x), conv(x))
    with pytest.raises(sluice.InvalidArgument, match="threads"):
        sluice.torch.trace(conv, x, threads=-1)


def test_code_that_only_dynamo_reads_is_traced() -> None:
    def doubled(x: torch.Tensor) -> torch.Tensor:
        if type(x) is not torch.Tensor:  # as stand-ins of tensors are not
            raise TypeError("a tensor is needed")
        return 2 * x

    x = torch.rand(3)
    assert_close(sluice.torch.trace(doubled, x)(x), 2 * x)
