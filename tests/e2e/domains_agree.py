#!/usr/bin/env python3
"""Operators of ai.onnx.ml and com.microsoft, forms of ONNX's own that the compiler rewrites, and what
early files hold: `reference` and `cpu` agree with onnxruntime, and with scikit-learn on what it
trained; domains/exceptions.py has the cases that ONNX's own evaluator judges."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from report import Report, scratch_folder

from domains import blocks, categories, classic, contrib, forms, maps, old_files, stretches, svm, texts, trees
from domains.case import write
from harness.sluice_cli import binary

FAMILIES = {"trees": trees.build, "classic": classic.build, "categories": categories.build,
            "svm": svm.build, "maps": maps.build, "contrib": contrib.build, "blocks": blocks.build, "forms": forms.build,
            "old_files": old_files.build, "stretches": stretches.build, "texts": texts.build}
TOLERANCES = ["f32=1e-4,1e-4", "f64=1e-4,1e-4"]  # onnxruntime, too, computes scores in f32
# The compiler rounds dynamic inputs by its own scale, or not at all: half a step of onnxruntime's, for
# each of the four products of an element.
DYNAMIC = {"dynamic_quantize_matmul", *(case.name for case in blocks.rounded())}
DYNAMIC_TOLERANCES = ["f32=0.05,0.02"]


def run_cases(folder: Path, names: set[str], backend: str, report: Report,
              tolerances: list[str]) -> None:
    command = [str(binary()), "conformance", str(folder), "--verbose", "--backend", backend,
               *(word for tolerance in tolerances for word in ("--tolerance", tolerance))]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    names = set(names)
    for line in output.splitlines():
        told = re.match(r"(pass|FAIL|skip) (\w+)", line)
        if told and told[2] in names:
            names.discard(told[2])
            report.add(told[1] == "pass", f"{backend}: {line}")
    for name in sorted(names):
        report.add(False, f"{backend}: {name}: no verdict; the command ended early")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="family",
                        help=f"of {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--backends", default="reference,cpu", help="default: %(default)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the cases here")
    arguments = parser.parse_intermixed_args()
    report = Report()
    with scratch_folder() as scratch:
        folder = arguments.keep or Path(scratch)
        strict, dynamic = set(), set()
        for family in arguments.families or FAMILIES:
            for case in FAMILIES[family]():
                is_dynamic = case.name in DYNAMIC
                try:
                    write(case, folder / ("dynamic" if is_dynamic else "strict"))
                except Exception as problem:
                    report.add(False, f"{case.name}: onnxruntime: {problem}")
                    continue
                (dynamic if is_dynamic else strict).add(case.name)
        for backend in arguments.backends.split(","):
            run_cases(folder / "strict", strict, backend, report, TOLERANCES)
            if dynamic:
                run_cases(folder / "dynamic", dynamic, backend, report, DYNAMIC_TOLERANCES)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
