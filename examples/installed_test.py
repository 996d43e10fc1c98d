#!/usr/bin/env python3
"""Installs Sluice to a temporary tree, copies the examples out of the source tree, and builds and runs every
program of them against what was installed by find_package, here and over a daemon. Then builds some by pkg-config.

usage: installed_test.py BUILD CC CXX
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, CC, CXX = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
EXAMPLES = pathlib.Path(__file__).resolve().parent
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Werror"


def run(*command, cwd, **environment):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def run_all(folder, prefix, binaries, *names):
    """Runs programs of examples/README.md's table with what was installed; returns how many passed."""
    output = run(folder / "examples/run_all", binaries, *names, cwd=folder,
                 LD_LIBRARY_PATH=str(prefix / "lib"), PATH=f"{prefix / 'bin'}:{os.environ['PATH']}")
    print(output)
    return int(output.splitlines()[-1].split()[0])


def with_cmake(folder, prefix):
    run("cmake", "-S", folder / "examples", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}", f"-DCMAKE_CXX_FLAGS={WARNINGS}",
        f"-DCMAKE_C_FLAGS={WARNINGS}", cwd=folder)
    run("cmake", "--build", folder / "build", cwd=folder)
    return run_all(folder, prefix, folder / "build")


# One of each kind: C, C++, threads, a daemon's client, the compiler.
WITH_PKG_CONFIG = ("2_hello_c/hello.c", "6_client/client.cc", "14_devices/devices.c", "16_pipeline/pipeline.cc")


def with_pkg_config(folder, prefix):
    binaries = folder / "pkg-config"
    binaries.mkdir()
    flags = run("pkg-config", "--cflags", "--libs", "sluice", "sluice-compiler", cwd=folder,
                PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()
    names = []
    for source in WITH_PKG_CONFIG:
        names.append("hello_c" if source.endswith("hello.c") else pathlib.Path(source).stem)
        compiler = [CC, "-std=c11"] if source.endswith(".c") else [CXX, "-std=c++20"]
        run(*compiler, "-pthread", *WARNINGS.split(), source, "-o", binaries / names[-1], *flags,
            cwd=folder / "examples")
    return run_all(folder, prefix, binaries, *names)


def refuses_what_is_not_installed(folder, prefix):
    project = folder / "wants"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(wants CXX)\n"
        "find_package(sluice REQUIRED COMPONENTS runtime telepathy)\n")
    done = subprocess.run(["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "no component telepathy" in done.stderr, done.stderr


if shutil.which("pkg-config") is None:
    print("skipped: pkg-config is not installed")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="sluice-installed-") as name:
    root = pathlib.Path(name)
    tree = root / "prefix"
    run("cmake", "--install", BUILD, "--prefix", tree, cwd=root)
    # Also where the build was configured for /usr, whose settings lie in /etc.
    assert (tree / "etc/sluice/sluiced.json").exists(), "the settings were installed outside of the prefix"
    shutil.copytree(EXAMPLES, root / "examples")
    for proto in ("sluice/v1",):
        assert list((tree / "share/sluice/proto" / proto).glob("*.proto")), "no .proto files are installed"
    passed = with_cmake(root, tree) + with_pkg_config(root, tree)
    refuses_what_is_not_installed(root, tree)
    print(f"{passed + 1} passed, 0 failed")
