"""Cuts an exported program into parts that run in Sluice and parts that run in torch."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx, nn


class Part(NamedTuple):
    """A piece of a program: a function of tensors that earlier parts or the caller give."""

    is_sluice: bool
    module: fx.GraphModule
    inputs: list[str]
    outputs: list[str]
    num_operators: int


class Cut(NamedTuple):
    parts: list[Part]  #: in an order in which they can run
    inputs: list[str]  #: names of the program's inputs
    outputs: list[str]  #: names of the values that are the program's outputs
    constants: dict[str, torch.Tensor]  #: outputs that no part computes


def cut(program: Any, in_torch: Collection[fx.Node]) -> Cut:
    """As few alternations as the order of the operators allows. Requires: a decomposed program."""
    constants = _constants_of(program)
    levels = _levels(program, set(in_torch), constants)
    by_level: dict[int, list[fx.Node]] = {}
    for node, level in levels.items():
        by_level.setdefault(level, []).append(node)
    output = next(node for node in program.graph.nodes if node.op == "output")
    results = [node for node in output.args[0] if isinstance(node, fx.Node)]
    copied = _copied(constants, [node for node, level in levels.items() if level % 2 == 1], results)
    parts = [_part(by_level[level], level % 2 == 0, copied, results) for level in sorted(by_level)]
    inputs = [node.name for node in program.graph.nodes if node.op == "placeholder" and node not in constants]
    fixed = {node.name: copied[node] for node in results if isinstance(copied.get(node), torch.Tensor)}
    return Cut(parts, inputs, [node.name for node in results], fixed)


def _constants_of(program: Any) -> dict[fx.Node, Any]:
    """Parameters, buffers, other tensors and submodules of the program by the node that stands for them."""
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
             **signature.inputs_to_lifted_tensor_constants}
    found: dict[fx.Node, Any] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in names:
            name = names[node.name]
            value = program.state_dict.get(name)
            found[node] = program.constants[name] if value is None else value
        elif node.op == "get_attr":
            found[node] = _attribute(program.graph_module, node.target)
    return found


def _copied(constants: Mapping[fx.Node, Any], in_torch: Sequence[fx.Node],
            results: Sequence[fx.Node]) -> dict[fx.Node, Any]:
    """The constants; those that stay in torch are copies, as the caller may change the originals later.

    A package has copies in any case.
    """
    stay = {source for node in in_torch for source in node.all_input_nodes} | set(results)
    memo: dict[int, Any] = {}  # of a tensor that has several names
    copied = {}
    for node, value in constants.items():
        if node in stay and id(value) not in memo:
            memo[id(value)] = value.detach().clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)
        copied[node] = memo.get(id(value), value)
    return copied


def _attribute(module: nn.Module, path: str) -> Any:
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _levels(program: Any, in_torch: set[fx.Node], constants: Mapping[fx.Node, Any]) -> dict[fx.Node, int]:
    """Even levels run in Sluice, odd ones in torch; an operator's level is at least those of what it reads."""
    levels: dict[fx.Node, int] = {}
    for node in program.graph.nodes:
        if node.op != "call_function" or node in constants:
            continue
        read = [source for source in node.all_input_nodes if source in levels]
        if node.target.__module__ == "_operator" and read:  # getitem: goes with the operator whose result it takes
            levels[node] = levels[read[0]]
            continue
        level = max((levels[source] for source in read), default=0)
        levels[node] = level + 1 if (level % 2 == 1) != (node in in_torch) else level
    return levels


def _part(nodes: list[fx.Node], is_sluice: bool, constants: Mapping[fx.Node, Any],
          results: Collection[fx.Node]) -> Part:
    inside = set(nodes)
    root, graph = nn.Module(), fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    inputs = [source for source in dict.fromkeys(each for node in nodes for each in node.all_input_nodes)
              if source not in inside and source not in constants]
    for source in inputs:
        copies[source] = graph.placeholder(source.name)
    for node in nodes:
        for source in node.all_input_nodes:
            if source in constants and source not in copies:
                copies[source] = _add_constant(root, graph, source.name, constants[source])
        copies[node] = graph.node_copy(node, lambda each: copies[each])
    outputs = [node for node in nodes if node in results or any(user not in inside for user in node.users)]
    outputs = [node for node in outputs if isinstance(node.meta.get("val"), torch.Tensor)]
    graph.output(tuple(copies[node] for node in outputs))
    module = fx.GraphModule(root, graph).eval()
    count = sum(node.target.__module__ != "_operator" for node in nodes)
    return Part(is_sluice, module, [node.name for node in inputs], [node.name for node in outputs], count)


def _add_constant(root: nn.Module, graph: fx.Graph, name: str, value: Any) -> fx.Node:
    if isinstance(value, torch.Tensor):
        root.register_buffer(name, value.detach())
    else:
        root.add_module(name, value)
    return graph.get_attr(name)
