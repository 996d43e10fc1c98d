#!/usr/bin/env python3
"""NaN, infinities, huge and tiny numbers in every operator that takes floats: edges/table.py.

A line of the table says results by the text of the standard, or why it leaves them open. Each case runs on
`reference` and `cpu`, as the compiler optimizes it and as the file has it. Where the table says no results,
`cpu` must give those of `reference`. An operator of onnx without a line fails the test.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import onnx
from onnx import numpy_helper
from report import Report, scratch_folder

from edges.cases import TINY, Case, Exempt
from edges.table import OPERATORS, TABLE, entries_of
from harness.sluice_cli import binary
from operator_coverage import by_hand
from operator_coverage.recipe import Recipe, collect

# Relative; absolute, for numbers that a subnormal step of the type is larger than.
TOLERANCES = ["f32=2e-5,1e-36", "f64=1e-9,1e-300", "f16=2e-3,2e-7", "bf16=1.6e-2,1e-36"]
WAYS = [(backend, option) for backend in ("reference", "cpu") for option in ((), ("--no-optimize",))]


def takes_floats(schema: onnx.defs.OpSchema) -> bool:
    return any("float" in text and "tensor(" in text for formal in schema.inputs for text in formal.types)


def operators() -> list[str]:
    return sorted(s.name for s in onnx.defs.get_all_schemas()
                  if s.domain == "" and not s.deprecated and takes_floats(s))


def check_table(report: Report) -> None:
    known = set(operators())
    missing, unknown = sorted(known - set(TABLE)), sorted(set(TABLE) - known)
    report.add(not missing, f"the table has a line for every operator {' '.join(missing)}")
    report.add(not unknown, f"the table has no line for anything else {' '.join(unknown)}")


def write(case: Case, folder: Path) -> None:
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for kind, arrays in (("input", case.inputs), ("output", case.outputs or [])):
        for index, array in enumerate(arrays):
            (data / f"{kind}_{index}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def write_all(folder: Path, wanted: list[str]) -> dict[str, set[str]]:
    """Names of the cases by folder: with results, with results and subnormal numbers, and without results."""
    recipes: dict[str, list[Recipe]] = collect()
    for name, make in by_hand.MISSING.items():
        recipes.setdefault(name, [make()])
    cases: dict[str, set[str]] = {"told": set(), "tiny": set(), "agreed": set()}
    for operator in wanted or OPERATORS:
        for line, entry in enumerate(entries_of(operator)):
            for name, case in entry.cases(operator, recipes.get(operator, [])):
                title = f"{operator}-{line}-{name}"
                kind = "agreed" if case.outputs is None else "tiny" if title.endswith(TINY) else "told"
                write(case, folder / kind / title)
                cases[kind].add(title)
    return cases


def verdicts(folder: Path, *options: str, keeps_subnormals: bool = False) -> dict[str, str]:
    """By case: "" if it passed, else the reason."""
    command = [str(binary()), "conformance", str(folder), "--verbose", *options]
    for tolerance in TOLERANCES:
        command += ["--tolerance", tolerance]
    environment = {**os.environ, "SLUICE_CPU_DENORMALS": "keep"} if keeps_subnormals else None
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment).stdout
    found = (re.match(r"(pass|FAIL|skip) ([\w.-]+):? ?(.*)", line) for line in output.splitlines())
    return {told[2]: "" if told[1] == "pass" else told[3] for told in found if told}


def judge(cases: set[str], found: dict[str, str], way: str, report: Report) -> None:
    failed = {case: found.get(case, "no verdict; the command ended early") for case in sorted(cases)}
    for case, reason in failed.items():
        if reason:
            report.add(False, f"{way}: {case}: {reason}")
    passed = sum(not reason for reason in failed.values())
    report.add(passed > 0 or not cases, f"{way}: {passed} of {len(cases)} cases are right")


def check_covered(cases: set[str], wanted: list[str], report: Report) -> None:
    """No line of the table becomes nothing."""
    lines: dict[str, int] = defaultdict(int)
    for case in cases:
        lines["-".join(case.split("-")[:2])] += 1
    empty = [f"{operator}-{line}" for operator in wanted or OPERATORS for line, entry in enumerate(entries_of(operator))
             if not isinstance(entry, Exempt) and not lines[f"{operator}-{line}"]]
    report.add(not empty, f"every line becomes cases {' '.join(empty)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", help="default: all")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the cases here")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report()
    check_table(report)
    with scratch_folder() as scratch:
        folder = arguments.keep or Path(scratch)
        cases = write_all(folder, arguments.operators)
        check_covered(set.union(*cases.values()), arguments.operators, report)
        for backend, options in WAYS:
            way = " ".join((backend, *options))
            for kind in filter(cases.get, ("told", "tiny")):
                found = verdicts(folder / kind, "--backend", backend, *options, keeps_subnormals=kind == "tiny")
                judge(cases[kind], found, f"{way}, {kind}", report)
            if cases["agreed"] and backend == "cpu":
                found = verdicts(folder / "agreed", "--backend", "cpu", "--against", "reference", *options)
                judge(cases["agreed"], found, f"{way} against reference", report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
