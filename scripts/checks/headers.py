#!/usr/bin/env python3
"""Every header compiles alone; the public .h ones also as C11."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import project
import stamps

CPP = ["g++", "-std=c++20", "-x", "c++"]
C = ["gcc", "-std=c11", "-pedantic-errors", "-x", "c"]


def jobs():
    """(header, compiler) of what is to be tried."""
    for path in project.files({".h", ".hpp"}):
        if path.parts[0] in ("src", "include", "backends", "tools", "tests"):
            yield path, CPP
        if path.parts[0] == "include" and path.suffix == ".h":
            yield path, C


def try_alone(job):
    path, compiler = job
    own = [project.ROOT.joinpath(*path.parts[:2])] if path.parts[0] == "backends" else []
    command = [*compiler, "-Wall", "-Werror", "-fsyntax-only",
               *(f"-I{root}" for root in [*own, *stamps.ROOTS])]
    stamp = stamps.stamp("headers", project.ROOT / path, *command)
    if stamp.exists():
        return None
    run = subprocess.run([*command, "-include", str(project.ROOT / path), "/dev/null"], cwd=project.ROOT, capture_output=True, text=True,
                         check=False)
    if run.returncode == 0:
        stamp.touch()
        return None
    return f"{path}: does not compile alone ({compiler[1]})\n{run.stderr}"


def main():
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(try_alone, jobs()) if problem]
    return project.report(problems, "headers: each compiles alone")


if __name__ == "__main__":
    sys.exit(main())
