#!/usr/bin/env python3
"""libsluice keeps what tests/abi/libsluice.abi promised: symbols with their versions, and sizes of structs.

    library_test.py LIBSLUICE LAYOUT [--update]

New symbols and structs are allowed, and so is growth of a struct that only the library allocates or that
starts with struct_size. A release runs it with --update."""

import pathlib
import subprocess
import sys

PROMISED = pathlib.Path(__file__).parent / "libsluice.abi"
# Callers allocate these, alone or in arrays, and nothing tells the library how long they are.
FIXED = {"sluice_array", "sluice_code_count", "sluice_core", "sluice_exchanged_input", "sluice_latency",
         "sluice_named_array", "sluice_output_memory", "sluice_type"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library):
    names = output_of("nm", "--dynamic", "--defined-only", "--with-symbol-versions", library).splitlines()
    found = (line.split()[-1].partition("@@") for line in names if line.split()[-2] != "A")
    return {name: version for name, _, version in found}


def sizes(layout):
    return {name: int(size) for name, size in map(str.split, output_of(layout).splitlines())}


def broken(promise, have_symbols, have_sizes):
    kind, name, value = promise.split()
    if kind == "symbol":
        if have_symbols.get(name) != value:
            yield f"{name}: promised with version {value}, the library has {have_symbols.get(name)}"
        return
    size = have_sizes.get(name, 0)
    if size < int(value) or (name in FIXED and size != int(value)):
        yield f"{name}: promised with {value} bytes, has {size}"


def main():
    have_symbols, have_sizes = symbols(sys.argv[1]), sizes(sys.argv[2])
    if "--update" in sys.argv:
        lines = [f"symbol {name} {version}" for name, version in sorted(have_symbols.items())]
        lines += [f"struct {name} {size}" for name, size in sorted(have_sizes.items())]
        PROMISED.write_text("\n".join(lines) + "\n")
        return 0
    strays = [name for name in have_symbols if not name.startswith("sluice_")]
    problems = [f"{name}: exported, but no function of the headers" for name in strays]
    promises = PROMISED.read_text().splitlines()
    for promise in promises:
        problems += broken(promise, have_symbols, have_sizes)
    print("\n".join(problems))
    print(f"{len(promises) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


sys.exit(main())
