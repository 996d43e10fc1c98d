"""sluice.torch.analyze: which operators of a model Sluice runs."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Collection
from typing import Any

import torch

from .. import _native
from ..tracing.compiling import make_workdir
from . import exporting
from .functional import Functional, example_call
from .operators import check_names, decomposed, operators_of


def analyze(func: Any, example_inputs: Any, *, compiler_workdir: str | pathlib.Path | None = None,
            additional_ignored_ops: Collection[str] | None = None, max_workers: int | None = None) -> dict[str, Any]:
    """Lists all operators of a function or module by whether Sluice runs them. Compiles nothing. Operators that give their
    input as it is, such as detach, are left out.

    `compiler_workdir`: a folder that gets the result as analysis.json. `additional_ignored_ops`: names such as
    "aten::sort" to leave out. `max_workers`: taken from the tracing document; one process does the work.
    Returns "torch" and "sluice" (versions), "support_percentage", "supported_operators" (counts by namespace
    and name), and "unsupported_operators": "kind", "failureAt" (file, line and code), "call", for each use.
    """
    ignored = set(additional_ignored_ops or ())
    check_names(ignored)
    if max_workers is not None and max_workers < 1:
        raise ValueError(f"max_workers must be at least 1, not {max_workers}")
    workdir = make_workdir(compiler_workdir)
    call = example_call(func, example_inputs, {})
    program = exporting.to_program(Functional(call).eval(), call.tensors, [state.initial for state in call.states], None,
                                   workdir)
    report = report_of([each for each in operators_of(decomposed(program)) if each.name not in ignored])
    if workdir is not None:
        (workdir / "analysis.json").write_text(json.dumps(report, indent=2) + "\n")
    return report


def report_of(found: Collection[Any]) -> dict[str, Any]:
    supported: dict[str, dict[str, int]] = {}
    for each in found:
        if each.is_supported and each.is_counted:
            names = supported.setdefault(each.name.partition("::")[0], {})
            names[each.name] = names.get(each.name, 0) + 1
    unsupported = [{"kind": each.name, "failureAt": each.place, "call": each.node.format_node() or each.node.name}
                   for each in found if not each.is_supported]
    return {"torch": torch.__version__, "sluice": _native.version(),
            "support_percentage": f"{100 * support_of(found):.2f}%",
            "supported_operators": supported, "unsupported_operators": unsupported}


def support_of(found: Collection[Any]) -> float:
    """The share of supported operators, from 0 to 1, without operators that give their input as it is."""
    counted = [each.is_supported for each in found if each.is_counted]
    return sum(counted) / len(counted) if counted else 1.0
