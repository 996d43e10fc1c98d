#!/usr/bin/env python3
"""Every operator of ONNX's default domain, in every version and with every type it takes, runs on
each backend, or stands in docs/operator-gaps.md with a reason.

The list of operators is that of the installed onnx package, from opset 7 on; nodes are its own test
cases, said in the words of each version and with each type in turn. Whether results are right is
the conformance tests' matter: here a node must compile and run. `--write` refreshes the document.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path



from report import ROOT, Report

from operator_coverage import by_hand, gaps, run, variants
from operator_coverage.recipe import Schema, collect, schemas

DOCUMENT = ROOT / "docs/operator-gaps.md"


class Writer:
    """Writes cases of all variants, and records the reason for variants without a case."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recipes = collect()
        self.variants: list[gaps.Variant] = []
        self.no_case: dict[gaps.Variant, str] = {}

    def write_all(self, wanted: list[str]) -> None:
        for name, forms in schemas().items():
            if wanted and name not in wanted:
                continue
            recipes = self._recipes.get(name, [])
            if name in by_hand.MISSING:
                recipes = [by_hand.MISSING[name]()]
            if name in by_hand.EXTRA:
                recipes = recipes + by_hand.EXTRA[name]()
            for schema in forms:
                self._write_version(schema, recipes)

    def _write_version(self, schema: Schema, recipes: list) -> None:
        version = schema.since_version
        said = (variants.in_version(recipe, version) for recipe in recipes)
        told = [recipe for recipe in said if recipe is not None]
        if not told:
            self._add_without(gaps.Variant(schema.name, version, "", ""))
            return
        self._write(gaps.Variant(schema.name, version, "", ""), told[0])
        for constraint in schema.type_constraints:
            for text in sorted(constraint.allowed_type_strs):
                variant = gaps.Variant(schema.name, version, constraint.type_param_str, text)
                self._write_type(variant, schema, told)

    def _write_type(self, variant: gaps.Variant, schema: Schema, recipes: list) -> None:
        element = variants.element_of(variant.type)
        if element is None:
            self._add_without(variant)
            return
        for recipe in recipes:
            try:
                made = variants.retyped(recipe, schema, variant.parameter, element)
            except (KeyError, ValueError, TypeError, OverflowError):
                made = None
            if made is not None and variants.is_accepted(made, variant.version):
                self._write(variant, made)
                return
        self._add_without(variant)

    def _write(self, variant: gaps.Variant, recipe) -> None:
        run.write(recipe, variant.version, self._folder / variant.case)
        self.variants.append(variant)

    def _add_without(self, variant: gaps.Variant) -> None:
        self.variants.append(variant)
        self.no_case[variant] = "no case"


def judge(writer: Writer, backend: str, folder: Path, report: Report) -> dict:
    """Adds failures without a known reason to the report; returns the others by rule."""
    reasons = run.run(folder, backend)
    missing: dict = defaultdict(list)
    ran = elsewhere = 0
    for variant in writer.variants:
        if variant in writer.no_case:
            rules = gaps.UNSUPPORTED + gaps.ELSEWHERE
            reason = "no test case becomes this"
        else:
            rules = gaps.UNSUPPORTED
            reason = reasons.get(variant.case, "no verdict; the command ended early")
        rule = gaps.rule_for(rules, variant)
        if reason == "":
            ran += 1
            if rule is not None:
                report.add(False, f"{backend}: {variant.case} runs, though {rule.reason}")
        elif rule is None:
            report.add(False, f"{backend}: {variant.case}: {reason}")
        elif rule in gaps.ELSEWHERE:
            elsewhere += 1
        else:
            missing[rule].append(variant)
    refused = sum(map(len, missing.values()))
    report.add(ran > 0, f"{backend}: of {len(writer.variants)} combinations of operator, version "
                        f"and type {ran} run, {refused} are refused with a reason, {elsewhere} are "
                        "tried by the conformance cases")
    return missing


def check_document(text: str, write: bool, report: Report) -> None:
    if write:
        DOCUMENT.write_text(text)
    report.add(DOCUMENT.exists() and DOCUMENT.read_text() == text,
               f"{DOCUMENT.relative_to(ROOT)} is what --write writes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", help="default: all")
    parser.add_argument("--backends", default="reference,cpu", help="default: %(default)s")
    parser.add_argument("--write", action="store_true", help="write docs/operator-gaps.md")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the cases here")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        writer = Writer(folder)
        writer.write_all(arguments.operators)
        for backend in arguments.backends.split(","):
            missing = judge(writer, backend, folder, report)
        if not arguments.operators:
            text = gaps.document(missing, len(writer.variants))
            check_document(text, arguments.write, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
