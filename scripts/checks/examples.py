#!/usr/bin/env python3
"""examples/README.md lists every example, and names programs for every row of the systems that Sluice is built from.

    scripts/checks/examples.py

examples/run_all runs the programs of its first table, and the test installed_examples runs that.
"""

import re
import sys

import project

FOLDER = project.ROOT / "examples"
ROWS = [f"N{i}" for i in range(1, 17)] + [f"M{i}" for i in range(1, 9)] + ["O8"]
PROGRAM = re.compile(r"^\| `(\w+)` \| \[(\d+_\w+)\]\(\2\) \| (.+?) \| `(\S+)` \| (.+?) \|$", re.M)
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \| (.*?) \|$", re.M)
NAME = re.compile(r"`(\w+)`")
# A plug-in, which another test builds.
NOT_PROGRAMS = {"3_plugin"}


def programs(text):
    """Name to folder of the programs that examples/run_all runs."""
    return {name: folder for name, folder, _, _, _ in PROGRAM.findall(text)}


def program_problems(text, folder_names):
    """What the table of programs lacks, or has too much."""
    listed = programs(text)
    yield from (f"{folder}: not in the table of programs"
                for folder in sorted(folder_names - set(listed.values()) - NOT_PROGRAMS))
    yield from (f"{name}: no folder {folder}" for name, folder in listed.items() if folder not in folder_names)
    for name, _, _, _, runs in PROGRAM.findall(text):
        if runs not in ("here", "daemon", "here, daemon"):
            yield f"{name}: runs {runs!r}, not `here`, `daemon` or both"


def row_problems(text):
    """Rows without a program, and programs that do not exist."""
    listed = programs(text)
    found = {row: NAME.findall(names) for row, _, names in ROW.findall(text)}
    yield from (f"{row}: not in the table" for row in ROWS if row not in found)
    yield from (f"{row}: not a row of N, M or O8" for row in found if row not in ROWS)
    for row, names in found.items():
        if not names:
            yield f"{row}: no program"
        yield from (f"{row}: no program {name}" for name in names if name not in listed)


def main():
    text = (FOLDER / "README.md").read_text()
    folders = {path.name for path in FOLDER.iterdir() if re.match(r"\d+_", path.name)}
    problems = [*program_problems(text, folders), *row_problems(text)]
    for problem in problems:
        print(f"examples/README.md: {problem}")
    print(f"{len(ROWS) + len(folders) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
