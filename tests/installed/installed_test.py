#!/usr/bin/env python3
"""Installs Sluice to a temporary tree, copies the examples and the programs of this folder out of the source tree, and
builds and runs them against what was installed, here and over a daemon: the examples by find_package, the
programs by pkg-config.

usage: installed_test.py BUILD CC CXX
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, CC, CXX = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
SOURCES = pathlib.Path(__file__).resolve().parents[2]
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Werror"
LAUNCHER = [program for program in [shutil.which("ccache")] if program]


def run(*command, cwd, **environment):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def run_all(folder, prefix, table, binaries):
    """Runs the programs of a table with what was installed; returns how many passed."""
    output = run(folder / "tests/installed/run_all", table, binaries, cwd=folder,
                 LD_LIBRARY_PATH=str(prefix / "lib"), PATH=f"{prefix / 'bin'}:{os.environ['PATH']}",
                 TRITON_PYTHON=str(SOURCES / ".venv/bin/python"))
    print(output)
    return int(output.splitlines()[-1].split()[0])


def with_cmake(folder, prefix):
    """Builds the examples."""
    launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER={LAUNCHER[0]}" for language in ("C", "CXX") if LAUNCHER]
    run("cmake", "-S", folder / "examples", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}", f"-DCMAKE_CXX_FLAGS={WARNINGS}",
        f"-DCMAKE_C_FLAGS={WARNINGS}", *launcher, cwd=folder)
    run("cmake", "--build", folder / "build", "--parallel", 2, cwd=folder)
    return folder / "build"


def with_pkg_config(folder, prefix):
    """Builds the programs of this folder."""
    binaries = folder / "pkg-config"
    binaries.mkdir()
    flags = run("pkg-config", "--cflags", "--libs", "sluice", "sluice-compiler", cwd=folder,
                PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()

    def build(source):
        compiler = [CC, "-std=c11"] if source.suffix == ".c" else [CXX, "-std=c++20"]
        compiler = [*LAUNCHER, *compiler, "-pthread", *WARNINGS.split()]
        object_file = binaries / f"{source.stem}.o"
        run(*compiler, "-c", source, "-o", object_file, *(flag for flag in flags if flag[:2] == "-I"), cwd=folder)
        run(*compiler, object_file, "-o", binaries / source.stem, *flags, cwd=folder)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(build, sorted((folder / "tests/installed").glob("*.c*"))))
    return binaries


def refuses_what_is_not_installed(folder, prefix):
    project = folder / "wants"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(wants CXX)\n"
        "find_package(sluice REQUIRED COMPONENTS runtime telepathy)\n")
    done = subprocess.run(["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "no component telepathy" in done.stderr, done.stderr


def copy(folder):
    """Copies the sources; ccache finds what an earlier run compiled in another folder."""
    for name in ("examples", "tests/installed"):
        shutil.copytree(SOURCES / name, folder / name)
    (folder / "docs").mkdir()
    shutil.copy(SOURCES / "docs/open-inference.md", folder / "docs")
    os.environ.update(CCACHE_BASEDIR=str(folder), CCACHE_NOHASHDIR="1")


if shutil.which("pkg-config") is None:
    print("skipped: pkg-config is not installed")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="sluice-installed-") as name:
    root = pathlib.Path(name)
    tree = root / "prefix"
    run("cmake", "--install", BUILD, "--prefix", tree, cwd=root)
    # Also where the build was configured for /usr, whose settings lie in /etc.
    assert (tree / "etc/sluice/sluiced.json").exists(), "the settings were installed outside of the prefix"
    assert list((tree / "share/sluice/proto/sluice/v1").glob("*.proto")), "no .proto files are installed"
    copy(root)
    passed = run_all(root, tree, root / "examples/README.md", with_cmake(root, tree))
    passed += run_all(root, tree, root / "tests/installed/README.md", with_pkg_config(root, tree))
    refuses_what_is_not_installed(root, tree)
    print(f"{passed + 1} passed, 0 failed")
