"""Which operators of an exported program have an ONNX translation, and where in Python they come from."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import torch
from torch.onnx._internal.exporter import _fx_passes, _registration

from ..errors import InvalidArgument
from .exporting import OPSET, quiet

_GIVES_ITS_INPUT = {"aten::alias", "aten::clone", "aten::contiguous", "aten::detach", "aten::lift_fresh",
                    "aten::lift_fresh_copy"}


class Operator(NamedTuple):
    """An operator in a program."""

    node: torch.fx.Node
    name: str  #: "aten::sort"; of several that one was decomposed into, each has the name of the one
    is_supported: bool  #: whether Sluice runs it

    @property
    def is_counted(self) -> bool:
        """Whether reports count it. The compiler drops an operator that gives its input as it is."""
        name = _name(self.node.target)
        is_inactive = name == "aten::dropout" and False in self.node.args
        return not (self.is_supported and (name in _GIVES_ITS_INPUT or is_inactive))

    @property
    def place(self) -> str:
        """The line of Python, such as 'model.py:12 in forward: torch.sort(x)'; "" if torch does not know it."""
        lines = re.findall(r'File "([^"]+)", line (\d+), in (\w+)(?:\n\s*([^\n]+))?',
                           self.node.meta.get("stack_trace") or "")
        if not lines:
            return ""
        file, line, function, code = lines[-1]
        return f"{file}:{line} in {function}" + (f": {code.strip()}" if code else "")


def decomposed(program: Any) -> Any:
    """The program with the operators that torch.onnx translates."""
    with quiet(program.state_dict.values()):
        return _fx_passes.decompose_with_registry(program, _registry())


def operators_of(program: Any, forced_out: Collection[str] = ()) -> list[Operator]:
    """The operators of a decomposed program, in order. `forced_out`: names that count as not supported."""
    registry = _registry()
    found = []
    for node in program.graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        names = {_name(node.target), *_sources(node)}
        has_translation = bool(registry.get_decomps(node.target)) or not hasattr(node.target, "_schema")
        found.append(Operator(node, _reported(node), has_translation and not names & set(forced_out)))
    return found


def check_names(names: Collection[str]) -> None:
    for name in names:
        if not re.fullmatch(r"\w+::\w+", name):
            raise InvalidArgument(f'"{name}" is no name of an operator; they are written "aten::sort"')


def _registry() -> Any:
    return _registration.ONNXRegistry.from_torchlib(OPSET)


def _name(target: Any) -> str:
    """aten.sort.default as "aten::sort"."""
    parts = str(target).split(".")
    return f"{parts[0]}::{parts[1]}" if len(parts) > 1 else str(target)


def _sources(node: torch.fx.Node) -> list[str]:
    """Names of the operators that this one was decomposed from, the original first."""
    sources: list[str] = []
    pending = list(node.meta.get("from_node") or [])
    while pending:
        source = pending.pop(0)
        if source.target and "." in str(source.target):
            sources.insert(0, _name(source.target))
        pending += list(source.from_node or [])
    return sources


def _reported(node: torch.fx.Node) -> str:
    sources = [source for source in _sources(node) if "::" in source]
    return sources[0] if sources else _name(node.target)
