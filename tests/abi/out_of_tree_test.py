#!/usr/bin/env python3
"""Builds the plug-ins of examples/12_plugin against the installed headers alone, runs the conformance
suite on each, then a network of which it computes one operator. Two plug-ins may have classes of one name.

usage: out_of_tree_test.py BUILD CXX
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD, CXX = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **environment):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def run_digits_with(plugin, folder):
    """Its Softmax runs on the plug-in, the rest on cpu; the answers stay right."""
    name = plugin.stem.removeprefix("libsluice_backend_")
    sluice, digits = BUILD / "bin/sluice", ROOT / "examples/digits"
    package, place = folder / "digits.sluice", {"SLUICE_BACKEND_PATH": str(plugin.parent)}
    run(sluice, "compile", digits / "digits.onnx", "-o", package, "--backend", f"{name},cpu", **place)
    facts = json.loads(run(sluice, "inspect", package, "--json", **place))
    assigned = {entry["operator"]: entry["backend"] for entry in facts["operations"]}
    assert assigned["Softmax"] == name, assigned
    assert "cpu" in assigned.values(), assigned
    for line in (digits / "expected.txt").read_text().splitlines()[:3]:
        image, truth = line.split()
        answer = run(sluice, "run", package, "--input", f"image={digits / 'images' / image}", "--top", 1,
                     digits / "labels.txt", **place)
        assert truth in answer, f"{image} is a {truth}, got {answer}"


#: A plug-in whose classes are visible to the linker, as they are without options that hide them.
VISIBLE = """#include "kernels.hpp"
class Mine : public sluice::plugin::HostBackend {
 public:
  Mine() : HostBackend(example::kKernels) {}
  std::string device_name() const override { return "device of " NAME; }
};
struct MinePlugin : sluice::plugin::HostPlugin<Mine> {
  static constexpr const char* kName = NAME;
  static constexpr const char* kVersion = "1.0";
};
SLUICE_PLUGIN(MinePlugin)
"""


def classes_of_one_name_are_of_two_plugins(include, folder):
    folder.mkdir()
    source = folder / "mine.cc"
    source.write_text(VISIBLE)
    for name in ("one", "two"):
        run(CXX, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{include}", f"-I{ROOT / 'examples/12_plugin'}",
            f'-DNAME="{name}"', source, "-o", folder / f"libsluice_backend_{name}.so")
    said = run(BUILD / "bin/sluice", "doctor", SLUICE_BACKEND_PATH=str(folder))
    for name in ("one", "two"):
        assert f"device of {name}" in said, said


with tempfile.TemporaryDirectory(prefix="sluice-plugin-") as folder:
    prefix, build = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "build")
    run("cmake", "--install", BUILD, "--component", "development", "--prefix", prefix)
    run("cmake", "-S", ROOT / "examples/12_plugin", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Werror")
    run("cmake", "--build", build)
    for name in ("example", "far"):
        plugin = build / f"libsluice_backend_{name}.so"
        run(sys.executable, ROOT / "tests/abi/exports_test.py", plugin)
        output = run(BUILD / "test/backend_conformance", SLUICE_CONFORMANCE_PLUGINS=plugin,
                     GTEST_OUTPUT="")
        if f"[       OK ] Plugins/CommandLists.RunAgainWithOtherBindings/{name}" not in output:
            sys.exit(f"the suite did not run on {name}:\n{output}")
        run_digits_with(plugin, pathlib.Path(folder))
        print("\n".join(line for line in output.splitlines() if line.startswith("[  PASSED")))
    classes_of_one_name_are_of_two_plugins(prefix / "include", pathlib.Path(folder, "mine"))
