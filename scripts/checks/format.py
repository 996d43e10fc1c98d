#!/usr/bin/env python3
"""Every C and C++ file is as clang-format 14 writes it."""

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

import project

STAMPS = project.ROOT / "build/check/format.json"
BATCH = 64  # files that one clang-format reads


def digest(path):
    style = (project.ROOT / ".clang-format").read_bytes()
    return hashlib.sha256(style + (project.ROOT / path).read_bytes()).hexdigest()


def load_stamps():
    try:
        return set(json.loads(STAMPS.read_text()))
    except (OSError, ValueError):
        return set()


def select(names):
    """The files of the project that are named or in a named folder, and the names of none; all files without names."""
    everything = project.files(project.CPP)
    if not names:
        return everything, []
    chosen, unknown = set(), []
    for name in names:
        path = pathlib.Path(name).resolve()
        found = {file for file in everything if (project.ROOT / file).is_relative_to(path)}
        chosen |= found
        if not found:
            unknown.append(name)
    return sorted(chosen), unknown


def unformatted(tool, paths):
    """Those of the paths that clang-format would change. It starts slowly: many files at a time, and half of those again
    where it finds fault."""
    for begin in range(0, len(paths), BATCH):
        batch = paths[begin:begin + BATCH]
        run = subprocess.run([tool, "--dry-run", "--Werror", *map(str, batch)], cwd=project.ROOT,
                             capture_output=True, check=False)
        if run.returncode != 0:
            half = len(batch) // 2
            yield from batch if not half else (*unformatted(tool, batch[:half]), *unformatted(tool, batch[half:]))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="format", description=__doc__)
    parser.add_argument("--fix", action="store_true", help="format the files; else name those that are not")
    parser.add_argument("names", nargs="*", metavar="FILE", help="files or folders; default: all of the project")
    options = parser.parse_args(arguments)
    chosen, unknown = select(options.names)
    if unknown:
        return project.report([f"format: {name}: no C or C++ file of the project" for name in unknown], "")
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if tool is None:
        print("skipped: no clang-format; scripts/install-deps check installs it")
        return 77
    good = load_stamps()
    doubtful = [path for path in chosen if digest(path) not in good]
    if doubtful and options.fix:
        subprocess.run([tool, "-i", *map(str, doubtful)], cwd=project.ROOT, check=True)
    wrong = list(unformatted(tool, doubtful))
    good |= {digest(path) for path in doubtful if path not in wrong}
    STAMPS.parent.mkdir(parents=True, exist_ok=True)
    STAMPS.write_text(json.dumps(sorted(good & set(map(digest, project.files(project.CPP))))))
    return project.report([f"{path}: not formatted; run scripts/format" for path in wrong],
                          "format: as clang-format 14 writes it")


if __name__ == "__main__":
    sys.exit(main())
