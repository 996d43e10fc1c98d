#!/usr/bin/env python3
"""tests/mutations.toml fits the sources: the text that a mutation replaces occurs once, and its test is there.

    scripts/checks/mutations.py

scripts/mutate makes the mutations and runs the tests.
"""

import dataclasses
import re
import sys
import tomllib

import project

TABLE = project.ROOT / "tests/mutations.toml"
KEYS = {"file", "at", "from", "to", "test", "plain"}
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)


@dataclasses.dataclass(frozen=True)
class Mutation:
    """`text` of `file`, which occurs once in `place`, is replaced by `new`; `place` occurs once in the file."""

    name: str
    file: str
    place: str
    text: str
    new: str
    test: str  # of ctest
    filter: str
    is_plain: bool

    def source(self):
        path = project.ROOT / self.file
        return path.read_text() if path.is_file() else ""

    def applied(self, source, new):
        """The source with `new` for the text."""
        return source.replace(self.place, self.place.replace(self.text, new))

    def problem(self, source):
        """Why the mutation does not apply to its file; None if it does."""
        for text, whole, where in ((self.place, source, self.file), (self.text, self.place, "`at`")):
            if whole.count(text) != 1:
                return f"{text!r} occurs {whole.count(text)} times in {where}, not once"
        return None


def read(text):
    """All mutations of a table. Raises KeyError for one without a file, a text or a test."""
    found = []
    for name, row in tomllib.loads(text).items():
        if set(row) - KEYS:
            raise KeyError(f"{name}: {', '.join(sorted(set(row) - KEYS))}")
        test, _, tests = row["test"].partition(" ")
        found.append(Mutation(name, row["file"], row.get("at", row["from"]), row["from"], row["to"], test, tests,
                              row.get("plain", False)))
    return found


def tests_of_sources():
    """"Suite.Test" of all sources of googletest."""
    sources = (project.ROOT / path for path in project.files({".cc"}) if path.stem.endswith("_test"))
    return {f"{suite}.{test}" for source in sources for suite, test in TEST.findall(source.read_text())}


def missing_tests(mutation, known):
    """The tests of the mutation that do not exist; patterns are left to the run."""
    for test in filter(None, mutation.filter.split(":" if "::" not in mutation.filter else None)):
        file, _, function = test.partition("::")
        if function:
            path = project.ROOT / file
            is_there = path.is_file() and f"\ndef {function}(" in path.read_text()
        else:
            is_there = "*" in test or test in known
        if not is_there:
            yield test


def problems(mutations, known):
    for mutation in mutations:
        problem = mutation.problem(mutation.source())
        if problem:
            yield f"{mutation.name}: {problem}"
        yield from (f"{mutation.name}: there is no test {test}" for test in missing_tests(mutation, known))


def main():
    mutations = read(TABLE.read_text())
    return project.report([f"{TABLE.relative_to(project.ROOT)}: {text}"
                           for text in problems(mutations, tests_of_sources())],
                          f"mutations: {len(mutations)} fit their sources")


if __name__ == "__main__":
    sys.exit(main())
