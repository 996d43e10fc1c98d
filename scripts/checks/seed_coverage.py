#!/usr/bin/env python3
"""Every entry of docs/seed-coverage has a state, and every test it names exists in the build.

    scripts/checks/seed_coverage.py BUILD

An entry is a table row `| N-1.2 | statement | state | tests |`. docs/seed-coverage/README.md says what the
states mean and how tests are named.
"""

import json
import pathlib
import re
import subprocess
import sys

import examples
import project

FOLDER = project.ROOT / "docs/seed-coverage"
ROW = re.compile(r"^\| ([A-Z]-\d+\.\d+) \| (.+?) \| (.*?) ?\| (.*?) ?\|$")
LOOKS_LIKE_ROW = re.compile(r"^\| *[A-Z]-\d")
NAME = re.compile(r"`([^`]+)`")
# State to whether it needs a reason after a colon, and whether it needs a test.
STATES = {"proved": (False, True), "partly": (True, True), "planned": (True, False), "not applicable": (True, False)}


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


def script_tests(name, command):
    """The name of a ctest script, and "name/function" for each public function of a Python script."""
    found = {name}
    for word in command:
        path = project.ROOT / word
        if path.suffix == ".py" and path.is_file():
            found |= {f"{name}/{function}" for function in re.findall(r"^def ([a-z]\w*)\(", path.read_text(), re.M)}
    return found


def built_tests(build):
    """All names of tests that ctest knows. A command without arguments in test/ is a googletest program."""
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True)
    tests = json.loads(listing.stdout)["tests"]
    commands = [test.get("command", []) for test in tests]
    programs = [command[0] for command in commands
                if len(command) == 1 and pathlib.Path(command[0]).parent == build / "test"]
    scripts = [script_tests(test["name"], command) for test, command in zip(tests, commands)]
    installed = {f"{kind}/{name}" for kind, folder in (("example", examples.EXAMPLES), ("installed", examples.PROOFS))
                 for name in examples.programs((folder / "README.md").read_text())}
    return installed.union(*map(tests_of, programs), *scripts)


def entry_problems(state_text, tests, known):
    """What is wrong with the state and the tests of one entry."""
    state, _, reason = (part.strip() for part in state_text.partition(":"))
    names = NAME.findall(tests)
    if state not in STATES:
        yield f"the state is {state_text!r}, not one of {', '.join(STATES)}"
        return
    needs_reason, needs_test = STATES[state]
    if needs_reason and not reason:
        yield f"{state} without a reason"
    if needs_test and not names:
        yield f"{state} without a test"
    yield from (f"no test {name} in the build" for name in names if name not in known)


def page_problems(text, known):
    """The problems of a page as "entry: problem", given the existing tests."""
    seen = []
    for line in text.splitlines():
        row = ROW.match(line)
        if row is None:
            if LOOKS_LIKE_ROW.match(line):
                yield f"{line}: not `| N-1.2 | statement | state | tests |`"
            continue
        entry, _, state, tests = row.groups()
        if entry in seen:
            yield f"{entry}: appears twice"
        if seen and entry[0] != seen[0][0]:
            yield f"{entry}: the page's letter is {seen[0][0]}"
        seen.append(entry)
        yield from (f"{entry}: {problem}" for problem in entry_problems(state, tests, known))
    if not seen:
        yield "page: no entries"


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()
    known = built_tests(build)
    entries, wrong = 0, set()
    for page in sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md"):
        text = page.read_text()
        entries += sum(1 for line in text.splitlines() if ROW.match(line))
        for problem in page_problems(text, known):
            print(f"{page.relative_to(project.ROOT)}: {problem}")
            wrong.add((page.name, problem.split(":")[0]))
    print(f"{max(entries - len(wrong), 0)} passed, {len(wrong)} failed")
    return 1 if wrong or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
