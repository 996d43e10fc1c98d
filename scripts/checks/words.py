#!/usr/bin/env python3
"""docs/ outside decisions has at most 54,800 words: shorten pages that repeat each other before you add more.

    scripts/checks/words.py           fails above the limit, and lists the longest pages
    scripts/checks/words.py --list    lists all pages with their words
"""

import re
import sys

import project

LIMIT = 54_800  # may only shrink
LONGEST = 10    # pages that a failure names


def counted(path):
    """Whether the words of a page count. Decisions do not: they are a record."""
    return path.suffix == ".md" and path.parts[0] == "docs" and path.parts[1] != "decisions"


#: A table that a command writes is looked up, not read.
GENERATED = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.DOTALL)


def words_of(text):
    return len(GENERATED.sub("", text).split())


def problems(words):
    """`words`: the number of words of each page by path."""
    total = sum(words.values())
    if total > LIMIT:
        longest = sorted(words.items(), key=lambda page: -page[1])[:LONGEST]
        yield f"docs: {total} words outside decisions, {total - LIMIT} above the limit; shorten pages that repeat each other"
        yield from (f"{path}: {count} words" for path, count in longest)


def main():
    words = {str(path): words_of((project.ROOT / path).read_text()) for path in project.files() if counted(path)}
    if "--list" in sys.argv:
        print("\n".join(f"{count:6} {path}" for path, count in sorted(words.items())))
    return project.report(list(problems(words)), f"words: {sum(words.values())} in docs/ outside decisions, of {LIMIT}")


if __name__ == "__main__":
    sys.exit(main())
