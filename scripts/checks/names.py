#!/usr/bin/env python3
"""The name of a C++ test starts with its subject, not with an article, It or Of.

    scripts/checks/names.py

A list of failures sorts by subject then: `Ring.FullRingThatIsClosedSaysClosed`. ALLOWED counts the older names of
some rooms; it may only shrink.
"""

import re
import sys

import project

TEST = re.compile(r"^(?:TYPED_)?TEST(?:_P|_F)?\(\s*(\w+),\s*((?:A|An|The|It|Of)[A-Z]\w*)\)", re.M)
ALLOWED = {"src/runtime": 15, "src/sandbox": 4, "tools/sluice": 3}


def names_in(texts):
    """Folder of two levels to "file: Suite.Name" of each test without a subject."""
    found = {}
    for path, text in texts.items():
        for suite, name in TEST.findall(text):
            found.setdefault("/".join(path.split("/")[:2]), []).append(f"{path}: {suite}.{name}")
    return found


def problems(found, allowed):
    for folder, names in found.items():
        if len(names) > allowed.get(folder, 0):
            yield from (f"{name}: start with the subject, without an article" for name in names)


def main():
    texts = {str(path): (project.ROOT / path).read_text(errors="replace") for path in project.files({".cc"})}
    return project.report(list(problems(names_in(texts), ALLOWED)),
                          f"names: tests start with their subject, but {sum(ALLOWED.values())} older ones")


if __name__ == "__main__":
    sys.exit(main())
