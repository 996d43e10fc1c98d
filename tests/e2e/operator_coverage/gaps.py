"""Unsupported combinations with reasons, and operators that other tests cover."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Variant:
    operator: str
    version: int
    parameter: str  # of types; "" for the node as its own case has it
    type: str  # "tensor(float)"

    @property
    def case(self) -> str:
        name = f"{self.operator}-{self.version}"
        return name + f"-{self.parameter}-{re.sub(r'[^a-z0-9]', '', self.type)}" * bool(self.type)


@dataclass(frozen=True)
class Rule:
    """Holds for the variants whose "operator parameter type" the expression matches."""

    pattern: str
    reason: str

    def holds(self, variant: Variant) -> bool:
        text = f"{variant.operator} {variant.parameter} {variant.type}"
        return re.fullmatch(self.pattern, text) is not None


SIX_BITS = "Sluice has no element type for 6-bit floats"
BLENDED = "interpolation: undefined for strings, no kernel for complex numbers"

UNSUPPORTED = [
    Rule(r".* tensor\(float6e[23]m[23]\)", SIX_BITS),
    Rule(r"(Resize|Upsample|GridSample) \w+ tensor\((string|complex\d+)\)", BLENDED),
    Rule(r"Col2Im T tensor\((bool|string|complex\d+)\)",
         "addition of columns: undefined for bools and strings, no kernel for complex numbers"),
    Rule(r"TfIdfVectorizer T tensor\(string\)", "strings with a pool of integers; a pool of strings is supported"),
    Rule(r"OneHot T2 tensor\(uint64\)", "the planner does not read a depth of type u64"),
]

# Variants that no test case of the onnx package becomes.
ELSEWHERE = [
    Rule(r"(If|Loop|Scan) .*", "the conformance cases and those of control flow try it"),
    Rule(r"(Sequence\w+|SplitToSequence|ConcatFromSequence|Optional\w*) .*",
         "takes or gives a sequence or an optional: the conformance cases try it"),
    Rule(r".* (seq|optional)\(.*", "a sequence or an optional: the conformance cases try it"),
]


def rule_for(rules: list[Rule], variant: Variant) -> Rule | None:
    return next((rule for rule in rules if rule.holds(variant)), None)


def types_of(variants: list[Variant]) -> str:
    names = sorted({re.sub(r"tensor\((\w+)\)", r"\1", variant.type) for variant in variants})
    return ", ".join(filter(None, names))


def document(missing: dict[Rule, list[Variant]], count: int) -> str:
    """Markdown: a row for each operator under each rule."""
    lines = [
        "# ONNX operators that do not run",
        "",
        f"Of {count} combinations of operator, version and element type that ONNX's default domain",
        "defines from opset 7 on, these are refused when a model is compiled, with a message that",
        "names the node. Everything else runs on every backend.",
        "",
        "`python3 tests/e2e/operator_coverage.py --write` writes this file; a test compares.",
        "",
        "| operator | versions | types | reason |",
        "|---|---|---|---|",
    ]
    for rule in UNSUPPORTED:
        by_operator: dict[str, list[Variant]] = defaultdict(list)
        for variant in missing.get(rule, []):
            by_operator[variant.operator].append(variant)
        for operator, variants in sorted(by_operator.items()):
            versions = ", ".join(map(str, sorted({variant.version for variant in variants})))
            lines.append(f"| {operator} | {versions} | {types_of(variants)} | {rule.reason} |")
    return "\n".join(lines) + "\n"
