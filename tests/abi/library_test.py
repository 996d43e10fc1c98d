#!/usr/bin/env python3
"""The libraries keep the C interface of the last release, which tests/abi/recorded and symbols.txt hold.

    library_test.py COMPILER LIBSLUICE [LIBSLUICE_COMPILER RECORDED_PROGRAM] [--update]

New functions, constants and structs are allowed. So is growth at the end of a struct that starts with struct_size, or
that the library alone allocates. A program that is compiled with the recorded
headers runs with the libraries.

A release runs it with --update, and so does a change of the interface before 1.0: docs/api.md, "Versions".
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import c_headers

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
RECORDED = HERE / "recorded"
SYMBOLS = HERE / "symbols.txt"
# Without struct_size, and allocated by the library alone, which gives pointers to them.
GROWABLE = {"sluice_device", "sluice_device_list", "sluice_group_info", "sluice_group_list", "sluice_footprint",
            "sluice_loaded_model", "sluice_loaded_model_list", "sluice_model_statistics", "sluice_health", "sluice_span",
            "sluice_profile", "sluice_shared_memory", "sluice_tensor_offer", "sluice_tensor_spec",
            "sluice_program_tensor", "sluice_reply_detail_info", "sluice_tokens", "sluice_string", "sluice_piece"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols_of(libraries):
    """Name to version of all that the libraries export."""
    found = {}
    for library in libraries:
        lines = output_of("nm", "--dynamic", "--defined-only", "--with-symbol-versions", library).splitlines()
        exported = (line.split()[-1].partition("@@") for line in lines if line.split()[-2] != "A")
        found |= {name: version for name, _, version in exported}
    return found


def symbol_problems(promised, have, functions):
    for name, version in promised.items():
        if have.get(name) != version:
            yield f"{name}: promised with version {version}, the libraries have {have.get(name)}"
    for name in have:
        if name not in functions:
            yield f"{name}: exported, but no function of the headers"
    for name in functions:
        if not have.get(name):
            yield f"{name}: in the headers, but not exported with a version: add it to cmake/*.map"


def may_grow(name, fields):
    return name in GROWABLE or f"{name}.struct_size" in fields


def interface_problems(compiler, old, new):
    """What of the recorded interface is gone or changed in the new one."""
    before, after = c_headers.layout(compiler, old), c_headers.layout(compiler, new)
    for key, value in before.items():
        kind, name = key.split()
        if key not in after:
            yield f"{kind} {name}: promised, and gone"
        elif kind == "struct" and (int(after[key]) < int(value) or
                                   (after[key] != value and not may_grow(name, old.fields))):
            yield f"struct {name}: promised with {value} bytes, has {after[key]}"
        elif kind != "struct" and after[key] != value:
            yield f"{kind} {name}: promised as {value}, is {after[key]}"
    for name in old.functions:
        if name not in new.functions:
            yield f"function {name}: promised, and gone"
    yield from c_headers.type_errors(compiler, old, new)


def unsized_problems(interface):
    """Structs that a function takes and that could never grow, besides those that the record fixes."""
    fixed = {name for name in interface.structs if not may_grow(name, interface.fields)}
    for name, prototype in interface.functions.items():
        for struct in re.findall(r"\b(sluice_\w+)\* \w+", prototype.partition("(")[2]):
            if struct in GROWABLE and f"{struct}.struct_size" not in interface.fields:
                yield f"{name}: takes {struct}, which has no struct_size and is said to grow"
    for struct in sorted(fixed - set(c_headers.read(RECORDED).structs)):
        yield f"struct {struct}: new and without struct_size; begin it with one, or record it as fixed with --update"


def run_recorded_program(program):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([program, ROOT / "examples/digits/digits.onnx", pathlib.Path(folder, "digits.sluice")],
                             capture_output=True, text=True, check=False)
    if run.returncode != 0:
        yield f"{program} ended with {run.returncode}: {run.stdout}{run.stderr}"


# (file, what to replace, by what, what the test must say): shows that the test sees each kind of break.
BREAKS = [
    ("sluice/sluice.h", "  int64_t size_bytes;\n", "", "field sluice_array.size_bytes: promised, and gone"),
    ("sluice/sluice.h", "  int32_t element_type;\n  int32_t rank;\n", "  int32_t rank;\n  int32_t element_type;\n",
     "field sluice_tensor_spec.element_type: promised as"),
    ("sluice/sluice.h", "  int64_t timeout_ns;\n", "  double timeout_ns;\n", "sluice_run_options.timeout_ns"),
    ("sluice/request.h", "} sluice_output_memory;", "  int64_t more;\n} sluice_output_memory;",
     "struct sluice_output_memory: promised with"),
    ("sluice/status.h", "SLUICE_NOT_FOUND 5", "SLUICE_NOT_FOUND 6", "constant SLUICE_NOT_FOUND: promised as 5"),
    ("sluice/runtime.h", "sluice_runtime_close(", "sluice_runtime_end(", "function sluice_runtime_close: promised"),
    ("sluice/backend.h", "  void (*destroy)(sluice_backend* backend);\n", "", "sluice_backend_api.destroy"),
    ("sluice/statistics.h", "uint64_t id,", "int64_t id,", "sluice_runtime_stop_profile"),
]


def blind_spots(compiler):
    """Breaks of the recorded interface that interface_problems does not see."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(RECORDED, folder, dirs_exist_ok=True)
        for header, text, by, _ in BREAKS:
            path = pathlib.Path(folder, header)
            content = path.read_text()
            if text not in content:
                yield f"{header} has no {text!r} to break"
            path.write_text(content.replace(text, by, 1))
        seen = list(interface_problems(compiler, c_headers.read(RECORDED), c_headers.read(folder)))
    for header, text, by, wanted in BREAKS:
        if not any(wanted in problem for problem in seen):
            yield f"{header} with {by!r} in place of {text!r}: expected {wanted!r}, seen {seen}"


def update(have):
    """Records the interface of today."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    for header in sorted((ROOT / "include").rglob("*.h")):
        place = RECORDED / header.relative_to(ROOT / "include")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(c_headers.strip(header.read_text()))
    SYMBOLS.write_text("".join(f"{name} {version}\n" for name, version in sorted(have.items())))
    subprocess.run([ROOT / "scripts/format", RECORDED], check=False)


def main():
    compiler, *built = [word for word in sys.argv[1:] if word != "--update"]
    libraries, programs = built[:2], built[2:]
    have = symbols_of(libraries)
    if "--update" in sys.argv:
        update(have)
        return 0
    old, new = c_headers.read(RECORDED), c_headers.read(ROOT / "include")
    promised = dict(line.split() for line in SYMBOLS.read_text().splitlines())
    of_these = {name: text for name, text in new.functions.items() if len(libraries) > 1 or name in have}
    if len(libraries) < 2:
        print("this build has no libsluice_compiler: its functions and the recorded program are not tried")
        promised = {name: version for name, version in promised.items() if "COMPILER" not in version}
    problems = [*symbol_problems(promised, have, of_these), *interface_problems(compiler, old, new),
                *unsized_problems(new), *blind_spots(compiler)]
    for program in programs:
        problems += run_recorded_program(program)
    print("\n".join(problems))
    checked = len(promised) + len(old.fields) + len(old.constants) + len(old.functions) + len(BREAKS) + 1
    print(f"{checked - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
