#!/usr/bin/env python3
"""No test reads a clock, sleeps, or looks at resident memory or descriptors, except where clocks.toml says why.

A test that judges such a thing fails on a machine that does other work. Tests wait for conditions (`eventually`),
judge sizes by the counters of Sluice, and leave times to bench/. The list may only shrink.
"""

import re
import sys
import tomllib

import project

TABLE = project.ROOT / "scripts/checks/clocks.toml"
FOLDERS = ("tests", "python/tests", "python/tests_torch", "examples")
SUFFIXES = {".cc", ".h", ".c", ".py", ".sh", ""}
KINDS = {
    "a sleep": re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\(|\b(time|asyncio)\.sleep\((?!0\))|^\s*sleep \d"
                          r"|\bpoll\(nullptr", re.M),
    "a clock": re.compile(r"\b(steady|system|high_resolution)_clock::now\b|\bsystem_clock\(\)\.now_ns|= system_clock\(\);"
                          r"|\bclock_gettime\(|\btime\.(monotonic|perf_counter|process_time|time)(_ns)?\("),
    "resident memory": re.compile(r"getrusage|ru_maxrss|\bVm(RSS|HWM|Data)\b|\bRss(Anon|Shmem|File)\b|/statm\b|/smaps|run_for_peak\("),
    "descriptors or threads": re.compile(r"""/proc/[^\s"']*/(fd|task)\b|/\s*["'](fd|task)["']|\bdescriptor_use\("""),
}


def is_for_tests(path):
    in_folder = any(str(path).startswith(folder + "/") for folder in FOLDERS)
    is_test = path.stem.endswith("_test") or "testing" in path.parts[:-1]
    has_examples = path.parts[:2] == ("tests", "checks")  # of what this check refuses
    return (in_folder or is_test) and path.suffix in SUFFIXES and not has_examples


def places(text):
    """(line, kind) of each place in a file."""
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.end()) + 1, kind


def file_problems(path, found, allowed):
    """`found`: the places of the file; `allowed`: how many the list has."""
    if len(found) > allowed:
        for line, kind in sorted(found):
            yield f"{path}:{line}: {kind}; wait for a condition (tests/support/eventually.h, .py), or see docs/testing.md"
    elif len(found) < allowed:
        yield f"clocks.toml: {path} has {len(found)} places now, the list {allowed}: the list shrinks"


def list_problems(entries, most):
    for path, entry in entries.items():
        if not entry.get("reason", "").strip() or entry.get("places", 0) < 1:
            yield f"clocks.toml: {path} needs a number of places and a reason"
    total = sum(entry.get("places", 0) for entry in entries.values())
    if total != most:
        yield f"clocks.toml: the list has {total} places and `most` says {most}; it may only shrink"


def problems_in(texts, table):
    """`texts`: path to text of all files for tests."""
    entries = table["allowed"]
    yield from list_problems(entries, table["most"])
    for path in entries:
        if path not in texts:
            yield f"clocks.toml: {path} does not exist: remove it"
    for path, text in texts.items():
        yield from file_problems(path, list(places(text)), entries.get(path, {}).get("places", 0))


def main():
    table = tomllib.loads(TABLE.read_text())
    texts = {str(path): (project.ROOT / path).read_text(errors="replace")
             for path in project.files() if is_for_tests(path)}
    return project.report(list(problems_in(texts, table)),
                          f"clocks: tests read none but in {table['most']} places that have their reasons")


if __name__ == "__main__":
    sys.exit(main())
