"""docs/operators.md is what the command prints; `--write` makes it so.

On weaker instruction sets the cpu backend has the same kernels: no operator becomes generic.
"""

import os
import pathlib
import subprocess
import sys

DOCUMENT = pathlib.Path("docs/operators.md")
COMMAND = [os.environ.get("SLUICE", "build/release/bin/sluice"), "operators", "--backend",
           "reference,cpu", "--markdown"]
WEAKER_SETS = ("avx512", "avx2", "portable")


def printed_by(**environment):
    return subprocess.run(COMMAND, capture_output=True, text=True, check=True,
                          env={**os.environ, **environment}).stdout


def main():
    printed = printed_by()
    if "--write" in sys.argv:
        DOCUMENT.write_text(printed)
        return 0
    differing = [isa for isa in WEAKER_SETS if printed_by(SLUICE_CPU_ISA=isa) != printed]
    for isa in differing:
        print(f"with SLUICE_CPU_ISA={isa} other kernels are generic")
    is_current = DOCUMENT.read_text() == printed
    if not is_current:
        print(f"{DOCUMENT} is not what the command prints; refresh it with\n"
              "    python3 tests/e2e/operators_document.py --write")
    return 0 if is_current and not differing else 1


if __name__ == "__main__":
    sys.exit(main())
