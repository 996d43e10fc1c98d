#!/usr/bin/env python3
"""Every header compiles alone. Needs a built build/release.

    scripts/checks/headers.py [--public]

A header that some source includes before anything else, precompiled headers too, has shown it in the build,
and is not tried again. With SLUICE_CHECK_SINCE="6 hours ago", as in CI, only headers are tried that a commit since then
changed, or whose own includes it changed. The public headers, which `--public` tries alone and without a build, compile with GCC and
clang, as C++20 and the .h ones as C11, without a warning of -Wall -Wextra -Wpedantic -Wconversion. ccache, where it is
installed, knows those that compiled in another clone.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import project
import stamps

BUILD = project.ROOT / "build/release"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion"]
#: The C and the C++ compiler of each kind, and their names in this check.
COMPILERS = {"GCC": ("gcc", "g++"), "clang": ("clang", "clang++")}
LAUNCHER = ["ccache"] if shutil.which("ccache") else []
FLAG = re.compile(r"^-(I|D|isystem|m)")


def flags_of(folder, commands):
    """Include folders and definitions with which the sources of a folder, or around it, are compiled.

    Of all of them: a header for tests is found with what the tests are compiled with.
    """
    while folder.parts:
        flags = {}
        for path, command in commands.items():
            if path.is_relative_to(folder):
                words = shlex.split(command)
                flags |= {(word, after if word == "-isystem" else ""): None
                          for word, after in zip(words, [*words[1:], ""]) if FLAG.match(word)}
        if flags:
            return [part for flag in flags for part in flag if part]
        folder = folder.parent
    return [f"-I{root}" for root in stamps.ROOTS]


def shown_by_the_build(commands):
    """The headers that are the first thing that a compiled source includes."""
    shown = set()
    for path, command in commands.items():
        if "-include" in shlex.split(command):
            continue
        first = stamps.INCLUDE.search((project.ROOT / path).read_text(errors="replace"))
        found = stamps.included(project.ROOT / path)
        if first and found and found[0].as_posix().endswith("/" + first.group(1)):
            shown.add(found[0])
    return shown


def public_jobs():
    """(header, command) pairs of the public headers, for the compilers that are installed."""
    for kind, (c, cxx) in COMPILERS.items():
        if shutil.which(c) is None or shutil.which(cxx) is None:
            print(f"headers: {kind} is not installed: not tried with it; scripts/install-deps check installs it")
            continue
        for path in project.files({".h", ".hpp"}):
            if path.parts[0] != "include":
                continue
            yield path, [cxx, "-std=c++20", "-x", "c++", *WARNINGS, "-Iinclude"]
            if path.suffix == ".h":
                yield path, [c, "-std=c11", "-pedantic-errors", "-x", "c", *WARNINGS, "-Iinclude"]


def is_touched(path, changed):
    """Whether `changed`, all if None, has the header or what it includes itself."""
    if changed is None or path in changed:
        return True
    return any(file.is_relative_to(project.ROOT) and file.relative_to(project.ROOT) in changed
               for file in stamps.included(project.ROOT / path))


def jobs():
    """(header, command) pairs of the others to try."""
    commands = project.compile_commands(BUILD)
    shown = shown_by_the_build(commands)
    changed = project.changed_for_checks()
    for path in project.files({".h", ".hpp"}):
        ours = path.parts[0] in ("src", "backends", "guest", "tools", "tests")
        if ours and project.ROOT / path not in shown and is_touched(path, changed):
            flags = flags_of(path.parent, commands)
            yield path, ["g++", "-std=c++20", "-x", "c++", *flags]


def compiled(path, command):
    """The finished compilation of a source that only includes the header, from ccache if that has seen it."""
    folder = stamps.folder_of("headers/alone")
    source = folder / ("_".join([*path.parts, command[0]]) + ".cc")
    source.write_text(f'#include "{os.path.relpath(project.ROOT / path, folder)}"\n')
    with tempfile.TemporaryDirectory() as objects:
        return subprocess.run([*LAUNCHER, *command, "-c", source.relative_to(project.ROOT), "-o", f"{objects}/alone.o"],
                              cwd=project.ROOT, env={**os.environ, "CCACHE_BASEDIR": str(project.ROOT), "CCACHE_NOHASHDIR": "1"},
                              capture_output=True, text=True, check=False)


def try_alone(job):
    path, command = job
    command = [*command, "-Wall", "-Werror"]
    stamp = stamps.stamp("headers", project.ROOT / path, *command)
    if stamp.exists():
        return None
    run = compiled(path, command)
    if run.returncode == 0:
        stamp.touch()
        return None
    return f"{path}: does not compile alone as {command[1][5:]} with {command[0]}\n{run.stderr}"


def main():
    parser = argparse.ArgumentParser(prog="headers", description="Every header compiles alone.")
    parser.add_argument("--public", action="store_true", help="the headers of include/ alone; needs no build")
    wanted = list(public_jobs()) if parser.parse_args().public else [*public_jobs(), *jobs()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(try_alone, wanted) if problem]
    return project.report(problems, "headers: each compiles alone")


if __name__ == "__main__":
    sys.exit(main())
