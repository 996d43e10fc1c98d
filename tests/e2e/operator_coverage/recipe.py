"""A recipe is one node with inputs on which it runs: the smallest of the onnx package's cases."""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

import newest_cases

Schema = onnx.defs.OpSchema
FIRST_OPSET = 7


@dataclass
class Recipe:
    node: onnx.NodeProto
    types: dict[str, onnx.TypeProto] = field(default_factory=dict)  # of all inputs and outputs
    values: dict[str, np.ndarray] = field(default_factory=dict)  # of inputs

    def copy(self) -> Recipe:
        return copy.deepcopy(self)

    def attribute(self, name: str):
        found = [a for a in self.node.attribute if a.name == name]
        return helper.get_attribute_value(found[0]) if found else None

    def set_attribute(self, name: str, value) -> None:
        self.drop_attribute(name)
        if value is not None:
            self.node.attribute.append(helper.make_attribute(name, value))

    def drop_attribute(self, name: str) -> None:
        kept = [a for a in self.node.attribute if a.name != name]
        del self.node.attribute[:]
        self.node.attribute.extend(kept)

    def drop_inputs(self, count: int) -> None:
        """Keeps the first `count` inputs."""
        del self.node.input[count:]

    def set_shape(self, name: str, shape: list[int]) -> None:
        element = self.types[name].tensor_type.elem_type
        self.types[name] = helper.make_tensor_type_proto(element, shape)

    def model(self, version: int) -> onnx.ModelProto:
        inputs = dict.fromkeys(name for name in self.node.input if name)
        outputs = [name for name in self.node.output if name]
        graph = helper.make_graph(
            [self.node], "case", [helper.make_value_info(name, self.types[name]) for name in inputs],
            [helper.make_value_info(name, self.types[name]) for name in outputs])
        return helper.make_model(graph, ir_version=10,
                                 opset_imports=[helper.make_opsetid("", version)])

    def input_tensors(self) -> list[onnx.TensorProto]:
        return [numpy_helper.from_array(self.values[name], name)
                for name in dict.fromkeys(filter(None, self.node.input))]

    def cost(self) -> tuple[bool, int]:
        """Numbers before strings, then the smallest first."""
        values = self.values.values()
        return any(value.dtype == object for value in values), sum(value.size for value in values)


def is_about_tensors(model: onnx.ModelProto) -> bool:
    infos = [*model.graph.input, *model.graph.output]
    return all(info.type.HasField("tensor_type") for info in infos)


def as_array(value) -> np.ndarray:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def recipe_of(case) -> Recipe:
    graph = case.model.graph
    infos = [*graph.input, *graph.output]
    return Recipe(node=copy.deepcopy(graph.node[0]),
                  types={info.name: copy.deepcopy(info.type) for info in infos},
                  values={info.name: as_array(value)
                          for info, value in zip(graph.input, case.data_sets[0][0])})


def collect() -> dict[str, list[Recipe]]:
    """By operator, the smallest first. Attributes that the newest version lacks make no recipe."""
    found: dict[str, list[Recipe]] = defaultdict(list)
    for case in newest_cases.collect():
        graph = case.model.graph
        if len(graph.node) == 1 and not graph.node[0].domain and is_about_tensors(case.model):
            newest = onnx.defs.get_schema(graph.node[0].op_type).attributes
            if all(attribute.name in newest for attribute in graph.node[0].attribute):
                found[graph.node[0].op_type].append(recipe_of(case))
    for recipes in found.values():
        recipes.sort(key=Recipe.cost)
    return found


def schemas() -> dict[str, list[Schema]]:
    """Schemas of the default domain: each operator's form at opset 7 and all later ones."""
    versions: dict[str, dict[int, Schema]] = defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions[schema.name][schema.since_version] = schema
    result = {}
    for name, forms in sorted(versions.items()):
        early = [version for version in forms if version <= FIRST_OPSET]
        wanted = sorted(v for v in forms if v > FIRST_OPSET or v == max(early, default=0))
        result[name] = [forms[version] for version in wanted if not forms[version].deprecated]
    return result
