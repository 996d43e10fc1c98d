#!/usr/bin/env python3
"""Attributes that the standard forbids are refused, with the operator, the node and the value.

Every attribute of every operator of the default domain gets a value of another kind, and values
outside what the standard allows (constraints/table.py). Every operator gets attributes that it does
not have: those of its older versions, an invented one, and one of Sluice's own. The rest of the node
is a case on which it runs. Both backends must refuse all of them, in words that name the operator, the node, the
attribute and the value.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import onnx
from report import Report, scratch_folder

from constraints.table import forbidden
from operator_coverage import by_hand, run
from operator_coverage.recipe import Recipe, collect

NODE = "culprit"
KINDS = onnx.AttributeProto
OTHER_KIND = {KINDS.INT: 0.5, KINDS.FLOAT: "text", KINDS.STRING: 3, KINDS.INTS: [0.5, 0.25],
              KINDS.FLOATS: ["text"], KINDS.STRINGS: [1, 2], KINDS.TENSOR: 3, KINDS.GRAPH: 3,
              KINDS.TYPE_PROTO: 3, KINDS.SPARSE_TENSOR: 3}
# Operators without a single-node test between tensors; control_flow_agrees.py covers these.
NO_RECIPE = {"If", "Loop", "Scan", "SequenceMap", "SequenceEmpty", "SplitToSequence", "Optional",
             "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceErase",
             "SequenceInsert", "SequenceLength"}


HISTORY = onnx.defs.get_all_schemas_with_history()


@dataclass(frozen=True)
class Attempt:
    operator: str
    attribute: str
    value: object
    is_other_kind: bool

    @property
    def text(self) -> str:
        return f"{self.operator}.{self.attribute} = {self.value!r}"


def shape_of(recipe: Recipe) -> tuple[int, int]:
    """Rank of the first input, and its spatial dimensions."""
    inputs = [recipe.values[name] for name in recipe.node.input if name in recipe.values]
    rank = inputs[0].ndim if inputs else 1
    return rank, max(1, rank - 2)


def former_attributes(schema: onnx.defs.OpSchema) -> set[str]:
    """Attributes of older versions that the newest does not have."""
    return {name for old in HISTORY if (old.domain, old.name) == (schema.domain, schema.name)
            for name in old.attributes} - set(schema.attributes)


def attempts_on(schema: onnx.defs.OpSchema, recipe: Recipe) -> list[Attempt]:
    attempts = []
    for name, attribute in schema.attributes.items():
        kind = int(attribute.type)
        attempts.append(Attempt(schema.name, name, OTHER_KIND[kind], True))
        values = forbidden(schema.name, name)
        for value in values(*shape_of(recipe)) if callable(values) else values or ():
            attempts.append(Attempt(schema.name, name, value, False))
    for name in ("bogus", "sluice_weights", *sorted(former_attributes(schema))):
        attempts.append(Attempt(schema.name, name, 1, True))
    return attempts


def schemas() -> list[onnx.defs.OpSchema]:
    return [schema for schema in onnx.defs.get_all_schemas()
            if schema.domain == "" and not schema.deprecated]


def check_tables(report: Report) -> None:
    unknown = [f"{schema.name}.{name}" for schema in schemas() for name in schema.attributes
               if forbidden(schema.name, name) is None]
    report.add(not unknown, f"the tables know every attribute {' '.join(unknown)}")


def write_all(folder: Path, wanted: list[str], report: Report) -> dict[str, Attempt]:
    recipes = collect()
    attempts: dict[str, Attempt] = {}
    for schema in schemas():
        if schema.name in NO_RECIPE or (wanted and schema.name not in wanted):
            continue
        found = recipes.get(schema.name) or [by_hand.MISSING[schema.name]()]
        recipe = found[0]
        recipe.node.name = NODE
        opset = onnx.defs.onnx_opset_version()
        run.write(recipe, opset, folder / f"{schema.name}-as-it-is")
        for number, attempt in enumerate(attempts_on(schema, recipe)):
            case = f"{schema.name}-{number}"
            broken = recipe.copy()
            broken.set_attribute(attempt.attribute, attempt.value)
            run.write(broken, opset, folder / case)
            attempts[case] = attempt
    return attempts


def spellings(value: object) -> list[str]:
    """How a message may say the value: of a list, any element, or how many there are."""
    if isinstance(value, list):
        return [word for item in value for word in spellings(item)] + [str(len(value))]
    return [str(value)]


def fault(attempt: Attempt, message: str) -> str:
    """What a message lacks; "" if nothing."""
    message = re.sub(r'importing "[^"]*"', "", message)  # the case's own name
    wanted = {"operator": [attempt.operator], "node": [NODE]}
    if attempt.is_other_kind:
        wanted["attribute"] = [attempt.attribute]
    else:
        wanted["value"] = spellings(attempt.value)
    return ", ".join(name for name, texts in wanted.items()
                     if not any(text in message for text in texts))


def judge(attempts: dict[str, Attempt], reasons: dict[str, str], backend: str, report: Report
          ) -> None:
    passed = 0
    for case, attempt in attempts.items():
        message = reasons.get(case)
        if message is None:
            report.add(False, f"{backend}: {attempt.text}: no answer; the command ended early")
        elif message == "":
            report.add(False, f"{backend}: {attempt.text}: accepted")
        elif missing := fault(attempt, message):
            report.add(False, f"{backend}: {attempt.text}: no {missing} in: {message}")
        else:
            passed += 1
    report.add(passed > 0, f"{backend}: {passed} of {len(attempts)} are refused in plain words")
    for case, reason in reasons.items():
        if case.endswith("-as-it-is") and reason:
            report.add(False, f"{backend}: {case}: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", help="default: all")
    parser.add_argument("--backends", default="reference,cpu", help="default: %(default)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the cases here")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report()
    check_tables(report)
    with scratch_folder() as scratch:
        folder = arguments.keep or Path(scratch)
        attempts = write_all(folder, arguments.operators, report)
        for backend in arguments.backends.split(","):
            judge(attempts, run.run(folder, backend), backend, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
