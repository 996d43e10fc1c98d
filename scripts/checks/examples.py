#!/usr/bin/env python3
"""The tables of examples/README.md and tests/installed/README.md list all programs of their folders, and the second
one names programs for every row of the systems that Sluice is built from.

    scripts/checks/examples.py

tests/installed/run_all runs the programs of both tables, and the test installed_examples runs that.
"""

import re
import sys

import project

EXAMPLES, PROOFS = project.ROOT / "examples", project.ROOT / "tests/installed"
ROWS = [f"N{i}" for i in range(1, 17)] + [f"M{i}" for i in range(1, 9)] + ["O8"]
PROGRAM = re.compile(r"^\| `(\w+)` \| \[([\w.]+)\]\(\2\) \| (.+?) \| `(\S+)` \| (.+?) \|$", re.M)
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \| (.*?) \|$", re.M)
NAME = re.compile(r"`(\w+)`")
RUN = ("here", "daemon", "here, daemon")
# Run by python_tests, out_of_tree_plugin and daemon_operator_modules.
RUN_ELSEWHERE = ("python", "plug-in", "command")
# What stands beside the programs of tests/installed.
NOT_PROGRAMS = {"README.md", "CMakeLists.txt", "installed_test.py", "run_all", "show.hpp", "show.sh", "layers.hpp",
                "named_digits.py"}


def programs(text, runs=RUN):
    """Name to source of a table's programs that run as one of `runs`."""
    return {name: source for name, source, _, _, place in PROGRAM.findall(text) if place in runs}


def program_problems(text, sources):
    """What the table lacks of a folder's programs, or has too much."""
    listed = programs(text, RUN + RUN_ELSEWHERE)
    yield from (f"{source}: not in the table of programs" for source in sorted(sources - set(listed.values())))
    yield from (f"{name}: no source {source}" for name, source in listed.items() if source not in sources)
    yield from (f"{name}: runs {place!r}, not one of {', '.join(RUN + RUN_ELSEWHERE)}"
                for name, _, _, _, place in PROGRAM.findall(text) if name not in listed)


def row_problems(text, listed):
    """Rows without a program, and programs that do not exist."""
    found = {row: NAME.findall(names) for row, _, names in ROW.findall(text)}
    yield from (f"{row}: not in the table" for row in ROWS if row not in found)
    yield from (f"{row}: not a row of N, M or O8" for row in found if row not in ROWS)
    for row, names in found.items():
        if not names:
            yield f"{row}: no program"
        yield from (f"{row}: no program {name}" for name in names if name not in listed)


def numbers_problems(sources):
    """Gaps and doubles in the reading order of the examples."""
    numbers = sorted(int(source[:2]) for source in sources)
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the examples are numbered {numbers}, not 1 to {len(numbers)}"


def main():
    examples, proofs = (folder.joinpath("README.md").read_text() for folder in (EXAMPLES, PROOFS))
    numbered = {path.name for path in EXAMPLES.iterdir() if re.match(r"\d+_", path.name)}
    problems = [*program_problems(examples, numbered), *numbers_problems(numbered),
                *program_problems(proofs, {path.name for path in PROOFS.iterdir()} - NOT_PROGRAMS),
                *row_problems(proofs, {*programs(examples), *programs(proofs)})]
    for problem in problems:
        print(f"the tables of examples: {problem}")
    count = len(ROWS) + len(programs(examples, RUN + RUN_ELSEWHERE)) + len(programs(proofs))
    print(f"{count - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
