"""A functional module to an ONNX model, by torch.export or TorchScript."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import logging
import operator
import pathlib
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import onnx
import torch

from ..errors import Error, InvalidArgument, Unimplemented
from ..tracing import graph_names
from .functional import Functional
from .shapes import as_dims, suggested_bounds

OPSET = 23
_TORCHSCRIPT_OPSET = 17
FRONTENDS = ("export", "torchscript")
_EXPERTS = "_experts_implementation_internal"  # of a configuration; its public name sets those of parts, too
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # of colours
_UNKNOWN_OPERATOR = re.compile(r"No ONNX function found for <OpOverload\(op='([\w.]+)'")


@contextlib.contextmanager
def quiet(weights: Iterable[torch.Tensor]) -> Iterator[None]:
    """Without gradients, and without what torch's exporters warn and print on their own account.

    The exporters copy the weights, and those that are inference tensors in inference mode only.
    """
    is_inference = torch.is_inference_mode_enabled() or any(each.is_inference() for each in weights)
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    with torch.inference_mode(is_inference), torch.no_grad(), warnings.catch_warnings(), \
            contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels):
                logger.setLevel(level)


@contextlib.contextmanager
def batched_experts(module: torch.nn.Module) -> Iterator[None]:
    """Experts of transformers are batched products meanwhile.

    By default they are products of groups of rows, which ONNX has no operator for, or a loop over the experts that a token
    chose.
    """
    configs = [config for part in module.modules()
               if getattr(config := getattr(part, "config", None), _EXPERTS, None) in ("grouped_mm", "eager")]
    before = [getattr(config, _EXPERTS) for config in configs]
    try:
        for config in configs:
            setattr(config, _EXPERTS, "batched_mm")
        yield
    finally:
        for config, value in reversed(list(zip(configs, before))):
            setattr(config, _EXPERTS, value)


def failure(action: str, error: BaseException, advice: str, workdir: pathlib.Path | None) -> Error:
    """One line of a foreign error and our advice; all of its text goes to the work directory."""
    text = _ESCAPES.sub("", str(error)).strip() or type(error).__name__
    operator_name = _UNKNOWN_OPERATOR.search(text)
    first = f"no translation of {operator_name[1]}" if operator_name else text.splitlines()[0][:300]
    where = "set compiler_workdir to keep the whole message"
    if workdir is not None:
        (workdir / "error.txt").write_text(text)
        where = f"the whole message is in {workdir / 'error.txt'}"
    return Unimplemented(f"{action}: {first}\n{advice}; {where}")


def to_program(module: Functional, tensors: Sequence[torch.Tensor], states: Sequence[torch.Tensor],
               dynamic_shapes: Sequence[Any] | None, workdir: pathlib.Path | None) -> Any:
    """The torch.export.ExportedProgram. Dimensions given by name get the bounds that the model needs.

    The call runs on stand-ins of its tensors, as they are fast. Where it fails there, Dynamo reads its code instead.
    """
    args = (tuple(tensors), tuple(states))

    def export(bounds: Mapping[str, tuple[int | None, int | None]], strict: bool = False) -> Any:
        entries = None
        if dynamic_shapes is not None:
            entries = (as_dims(dynamic_shapes, bounds), (None,) * len(states))
        with quiet(itertools.chain(module.parameters(), module.buffers())), batched_experts(module):
            return torch.export.export(module, args, dynamic_shapes=entries, strict=strict,
                                       prefer_deferred_runtime_asserts_over_guards=True)

    try:
        try:
            return export({})
        except torch._dynamo.exc.UserError as error:
            bounds = suggested_bounds(str(error), dynamic_shapes or ())
            if not bounds:
                raise
            return export(bounds)
    except Exception as error:
        if dynamic_shapes is not None and "onstraint" in str(error):
            raise InvalidArgument(
                f"dynamic_shapes: {_lines_about_dimensions(str(error))}\nthe model fixes a dimension that "
                "dynamic_shapes declares as variable; declare it as fixed, or set the bounds that it needs with "
                "torch.export.Dim(name, min=, max=)" + _suggestion(str(error))) from error
        with contextlib.suppress(Exception):  # of the two failures, the first names the user's line
            return export({}, strict=True)
        raise failure("torch.export cannot trace the function", error,
                      'replace control flow that depends on values by torch.where or torch.cond, or try '
                      'frontend="torchscript", which records the branches that the example takes',
                      workdir) from error


def _suggestion(text: str) -> str:
    """Torch's own proposal, such as H = Dim('H', min=3)."""
    _, found, fixes = text.partition("Suggested fixes:\n")
    lines = [line.strip() for line in fixes.split("\n\n")[0].splitlines() if line.strip()]
    return f"; torch suggests {', '.join(lines)}"[:300] if found else ""


def _lines_about_dimensions(text: str) -> str:
    lines = [line.strip(" -") for line in text.splitlines() if "L[" in line or "dimension" in line.lower()
             or "specialized" in line]
    return (lines[0] if lines else text.splitlines()[0])[:300]


def _parse_translations_once() -> None:
    """torch.onnx.export reads its whole table of translations each time, and onnxscript parses the source of each of 500
    functions again for that: two thirds of the export of a small model. An onnxscript of another form stays as it is."""
    try:
        from onnxscript._internal.values import TracedOnnxFunction
    except ImportError:
        return
    parsed = getattr(TracedOnnxFunction, "function_ir", None)
    if isinstance(parsed, property) and parsed.fget is not None:
        kept = functools.cached_property(parsed.fget)
        kept.__set_name__(TracedOnnxFunction, "function_ir")
        TracedOnnxFunction.function_ir = kept


def to_onnx(program: Any, input_names: Sequence[str], output_names: Sequence[str], *, optimize: bool,
            workdir: pathlib.Path | None) -> onnx.ModelProto:
    """The ONNX model of an exported program."""
    inputs = graph_names.placeholders("input", len(input_names))
    outputs = graph_names.placeholders("output", len(output_names))
    _parse_translations_once()
    try:
        with quiet(program.state_dict.values()):
            model: onnx.ModelProto = torch.onnx.export(
                program, dynamo=True, opset_version=OPSET, input_names=inputs, output_names=outputs,
                optimize=optimize, verbose=False, custom_translation_table=_translations(program)).model_proto
    except Exception as error:
        raise failure("torch.onnx cannot translate the traced function", error,
                      "sluice.torch.analyze lists every operator that has no translation; "
                      "partitioner_config=PartitionerConfig() leaves those to torch", workdir) from error
    graph_names.name_values(model.graph, [*inputs, *outputs], [*input_names, *output_names])
    return model


def _translations(program: Any) -> dict[Any, Any] | None:
    """Torch divides sizes rounding towards zero. That of -n // 4, and of numbers that are read, is down."""
    for node in program.graph.nodes:
        if node.target is operator.floordiv and any(_may_be_negative(each) for each in node.args):
            return {operator.floordiv: _divide_down}
    return None


def _may_be_negative(operand: Any) -> bool:
    number = operand.meta["val"] if isinstance(operand, torch.fx.Node) else operand
    if not isinstance(number, torch.SymInt):
        return bool(number < 0)
    return bool(number.node.shape_env.bound_sympy(number.node.expr).lower < 0)


def _divide_down(number: Any, divisor: Any) -> Any:
    from onnxscript.onnx_opset import opset18  # what torch.onnx translates with

    # Mod has the sign of the divisor.
    return opset18.Div(opset18.Sub(number, opset18.Mod(number, divisor)), divisor)


def by_torchscript(module: Functional, tensors: Sequence[torch.Tensor], states: Sequence[torch.Tensor],
                   input_names: Sequence[str], output_names: Sequence[str],
                   dynamic_axes: dict[str, dict[int, str]], workdir: pathlib.Path | None) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:  # the exporter puts weights of 2 GiB beside the file
        path = pathlib.Path(folder, "model.onnx")
        try:
            with quiet(itertools.chain(module.parameters(), module.buffers())), batched_experts(module):
                torch.onnx.export(_Flat(module, len(tensors)).eval(), (*tensors, *states), path, dynamo=False,
                                  opset_version=_TORCHSCRIPT_OPSET, input_names=list(input_names),
                                  output_names=list(output_names), dynamic_axes=dynamic_axes)
        except Exception as error:
            raise failure("TorchScript cannot trace the function", error,
                          'frontend="export" takes more operators', workdir) from error
        return onnx.load_model(path)


class _Flat(torch.nn.Module):
    """TorchScript traces functions of tensors only."""

    def __init__(self, module: Functional, num_tensors: int) -> None:
        super().__init__()
        self.module = module
        self._num_tensors = num_tensors

    def forward(self, *args: torch.Tensor) -> Any:
        return self.module(args[:self._num_tensors], args[self._num_tensors:])
