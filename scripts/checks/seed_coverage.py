#!/usr/bin/env python3
"""Every claim of docs/seed-coverage.md names tests, and every test it names is in the built programs.

    scripts/checks/seed_coverage.py BUILD
"""

import os
import pathlib
import re
import subprocess
import sys

import project

DOCUMENT = project.ROOT / "docs/seed-coverage.md"
ROW = re.compile(r"^\| ([NM]-\d+\.\d+) \| (.+) \| (.*) \|$", re.M)
LOOKS_LIKE_ROW = re.compile(r"^\| *[NM]-.*$", re.M)
NAME = re.compile(r"`([^`]+)`")


def suite_name(text):
    """The suite in `Prefix/Suite.`, `Suite/0.` or `Suite.`, as the source has it."""
    parts = text.rstrip(".").split("/")
    return [part for part in parts if not part.isdigit()][-1]


def tests_of(program):
    """"Suite.Test" of a googletest program; of parametrised ones without prefix and parameter."""
    run = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, timeout=60,
                         check=False, cwd=project.ROOT)
    suite, found = "", set()
    for line in run.stdout.splitlines():
        text = line.split("#")[0].rstrip()
        if text and not text.startswith(" "):
            suite = suite_name(text)
        elif text:
            found.add(f"{suite}.{text.strip().split('/')[0]}")
    return found


def built_tests(build):
    programs = (path for path in sorted((build / "test").iterdir())
                if path.name.endswith("_test") and path.is_file() and os.access(path, os.X_OK))
    return set().union(*map(tests_of, programs))


def problems_in(text, known):
    """What is wrong with the document, given the tests there are."""
    rows = ROW.findall(text)
    numbers = [number for number, _, _ in rows]
    for line in LOOKS_LIKE_ROW.findall(text):
        if not ROW.match(line):
            yield f"not `| N-x.y | claim | tests |`: {line}"
    for number in sorted({number for number in numbers if numbers.count(number) > 1}):
        yield f"{number}: there twice"
    for number, _, tests in rows:
        names = NAME.findall(tests)
        if not names:
            yield f"{number}: no test"
        yield from (f"{number}: no test {name} in the built programs"
                    for name in names if name not in known)
    if not rows:
        yield "no claims"


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    text = DOCUMENT.read_text()
    problems = list(problems_in(text, built_tests(build)))
    for problem in problems:
        print(problem)
    wrong = {problem.split(":")[0] for problem in problems}
    print(f"{max(len(ROW.findall(text)) - len(wrong), 0)} passed, {len(wrong)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
