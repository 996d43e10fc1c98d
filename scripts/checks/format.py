#!/usr/bin/env python3
"""Every C and C++ file is as clang-format 14 writes it. --fix writes it."""

import hashlib
import json
import shutil
import subprocess
import sys

import project

STAMPS = project.ROOT / "build/check/format.json"


def digest(path):
    style = (project.ROOT / ".clang-format").read_bytes()
    return hashlib.sha256(style + (project.ROOT / path).read_bytes()).hexdigest()


def load_stamps():
    try:
        return set(json.loads(STAMPS.read_text()))
    except (OSError, ValueError):
        return set()


def main():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if tool is None:
        print("skipped: no clang-format; scripts/install-deps check installs it")
        return 77
    good = load_stamps()
    doubtful = [path for path in project.files(project.CPP) if digest(path) not in good]
    problems = []
    if doubtful and "--fix" in sys.argv:
        subprocess.run([tool, "-i", *map(str, doubtful)], cwd=project.ROOT, check=True)
    for path in doubtful:
        run = subprocess.run([tool, "--dry-run", "--Werror", str(path)], cwd=project.ROOT,
                             capture_output=True, check=False)
        if run.returncode != 0:
            problems.append(f"{path}: not formatted; run scripts/format")
    wrong = {problem.split(":")[0] for problem in problems}
    STAMPS.parent.mkdir(parents=True, exist_ok=True)
    STAMPS.write_text(json.dumps(sorted(
        digest(path) for path in project.files(project.CPP) if str(path) not in wrong)))
    return project.report(problems, "format: as clang-format 14 writes it")


if __name__ == "__main__":
    sys.exit(main())
