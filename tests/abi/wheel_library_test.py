#!/usr/bin/env python3
"""The wheel's one library exports what libsluice and libsluice_compiler promise, and the wheel's program runs over it.

    wheel_library_test.py LIBSLUICE_PYTHON PROGRAM
"""

import pathlib
import subprocess
import sys
import tempfile

import library_test

DIGITS = library_test.ROOT / "examples/digits/digits.onnx"


def problems(library, program):
    have = library_test.symbols_of([library])
    for line in library_test.SYMBOLS.read_text().splitlines():
        name, version = line.split()
        if have.get(name) != version:
            yield f"{name}: promised with version {version}, {library} has {have.get(name)}"
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder, "digits.sluice")
        for arguments in (["compile", DIGITS, "-o", package], ["run", package, "--input", "random"]):
            run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                yield f"{program} {arguments[0]} ended with {run.returncode}: {run.stdout}{run.stderr}"


def main():
    found = list(problems(*sys.argv[1:3]))
    print("\n".join(found) or "the wheel's library has every promised symbol, and its program compiles and runs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
