#!/usr/bin/env python3
"""The name of a C++ test starts with its subject, not with an article, It or Of.

    scripts/checks/names.py

A list of failures sorts by subject then: `Ring.FullRingThatIsClosedSaysClosed`.
"""

import re
import sys

import project

TEST = re.compile(r"^(?:TYPED_)?TEST(?:_P|_F)?\(\s*(\w+),\s*((?:A|An|The|It|Of)[A-Z]\w*)\)", re.M)


def problems(texts):
    for path, text in texts.items():
        for suite, name in TEST.findall(text):
            yield f"{path}: {suite}.{name}: start with the subject, without an article"


def main():
    texts = {str(path): (project.ROOT / path).read_text(errors="replace") for path in project.files({".cc"})}
    return project.report(list(problems(texts)), "names: tests start with their subject")


if __name__ == "__main__":
    sys.exit(main())
