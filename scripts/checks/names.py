#!/usr/bin/env python3
"""Names that last: tests start with their subject, and public names have one form each.

    scripts/checks/names.py

The name of a C++ test starts with its subject, not with an article, It or Of: a list of failures sorts by subject
then (`Ring.FullRingThatIsClosedSaysClosed`).

Public names are those of include/, python/sluice and its native module, proto/ and examples/. FORBIDDEN lists
forms that were two names of one thing; a type of the C interface is declared in one header, so that no name means
two things.
"""

import collections
import re
import sys

import project

TEST = re.compile(r"^(?:TYPED_)?TEST(?:_P|_F)?\(\s*(\w+),\s*((?:A|An|The|It|Of)[A-Z]\w*)\)", re.M)

PUBLIC = ("include/", "python/sluice/", "python/native/", "proto/", "examples/")
FORBIDDEN = [
    (re.compile(r"most|most_\w+|\w+_most|kMost\w*"), "say max_ for an upper limit, min_ for a lower one"),
    (re.compile(r"least_\w+|\w+_least|kLeast\w*"), "say max_ for an upper limit, min_ for a lower one"),
    (re.compile(r"(?:has|is|uses|wants)_no_\w+"), "say what is there, so that no caller negates twice"),
    (re.compile(r"\w*[wW]ish(?:es)?"), "say settings or options"),
    (re.compile(r"on_demand|pinned|round_robin|on_server"), "a yes or no starts with is_"),
    (re.compile(r"keep_ns"), "say ttl_ns for a tensor of the exchange, keep_warm_ns for a function"),
    (re.compile(r"from_fd"), "say has_fd, as the load options do"),
    (re.compile(r"SLUICE_STATUS_(?!H_)\w+|SLUICE_CODE_\w+"), "codes are those of sluice/status.h"),
]
# A C++ type of the project's own; public or not, its name would come back through an interface.
TYPE = re.compile(r"\b(?:struct|class) (\w*Wish)\b")
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PYTHON_COMMENT = re.compile(r'#[^\n]*|"""(?:.|\n)*?"""')
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
C_TYPE = re.compile(r"^typedef struct (\w+)|^struct (\w+) \{", re.M)


def identifiers(path, text):
    """Those of the code; of Python also the texts that are one name, such as a key."""
    code = (PYTHON_COMMENT if path.endswith((".py", ".pyi")) else C_COMMENT).sub(" ", text)
    keys = [key[1:-1] for key in TEXT.findall(code)]
    found = set(re.findall(r"\b[A-Za-z_]\w*\b", TEXT.sub(" ", code)))
    return found | {key for key in keys if re.fullmatch(r"\w+", key)}


def public_problems(path, text):
    for name in sorted(identifiers(path, text)):
        for form, advice in FORBIDDEN:
            if form.fullmatch(name):
                yield f"{path}: {name}: {advice}"


def double_types(headers):
    """Types of the C interface that several headers declare."""
    places = collections.defaultdict(set)
    for path, text in headers.items():
        for names in C_TYPE.findall(C_COMMENT.sub("", text)):
            places["".join(names)].add(path)
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"{name}: {' and '.join(sorted(paths))} declare it: give each its own name"


def problems(texts):
    for path, text in texts.items():
        for suite, name in TEST.findall(text):
            yield f"{path}: {suite}.{name}: start with the subject, without an article"
        for name in TYPE.findall(text) if path.endswith(project.CPP) else ():
            yield f"{path}: {name}: say settings or options"
        if path.startswith(PUBLIC):
            yield from public_problems(path, text)
    yield from double_types({path: text for path, text in texts.items()
                             if path.startswith("include/") and path.endswith(".h")})


def main():
    suffixes = {*project.CPP, ".py", ".pyi", ".proto"}
    texts = {str(path): (project.ROOT / path).read_text(errors="replace") for path in project.files(suffixes)}
    return project.report(list(problems(texts)), "names: tests start with their subject; public names have one form")


if __name__ == "__main__":
    sys.exit(main())
