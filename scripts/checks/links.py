#!/usr/bin/env python3
"""Links of the documents lead to files and headings that exist; a user's page is two clicks from the README; a
decision says what it replaces."""

import pathlib
import re
import sys

import project

LINK = re.compile(r"""\]\(([^)\s]+)\)|\b(?:src|href)="([^"]+)\"""")
CODE = re.compile(r"^(```.*?^```|    .*?$)|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
START, CLICKS = pathlib.PurePath("README.md"), 2
DECISIONS = "docs/decisions/"
NOT_FOR_USERS = (DECISIONS, "docs/seed-coverage/")
REPLACES = re.compile(r"^# .*\n\nReplaces: (?:\S+\s){2,}")


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them: lower case, without punctuation, hyphens for spaces."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(without_code)}


def links(text):
    """The targets within the project that `text` names, without those of the web."""
    for match in LINK.finditer(CODE.sub("", text)):
        target = match.group(1) or match.group(2)
        if not re.match(r"[a-z]+:", target):
            yield target


def resolve(page, target):
    """The file that a link of `page` leads to, and its anchor."""
    path, _, anchor = target.partition("#")
    parts = []
    for part in (page.parent / path).parts if path else page.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return pathlib.PurePath(*parts), anchor


def link_problems(pages, files):
    """`pages`: the text of each document by path. `files`: every file and folder of the project."""
    for page, text in pages.items():
        for target in links(text):
            path, anchor = resolve(page, target)
            if path not in files:
                yield f"{page}: {target} does not exist"
            elif anchor and path in pages and anchor not in anchors(pages[path]):
                yield f"{page}: {path} has no heading #{anchor}"


def clicks_from_start(pages):
    """How many links lead from the README to each page; a link to a folder leads to its README."""
    clicks, line = {START: 0}, [START]
    for page in line:
        for target in links(pages[page]):
            path, _ = resolve(page, target)
            path = path if path in pages else path / "README.md"
            if path in pages and path not in clicks:
                clicks[path] = clicks[page] + 1
                line.append(path)
    return clicks


def reach_problems(pages):
    clicks = clicks_from_start(pages)
    for page in pages:
        name = page.as_posix()
        if name.startswith("docs/") and not name.startswith(NOT_FOR_USERS) and clicks.get(page, CLICKS + 1) > CLICKS:
            yield f"{page}: more than {CLICKS} clicks from {START}"


def decision_problems(pages):
    """Decisions whose title is not followed by a line with what they replace, or "nothing" and why."""
    for page, text in pages.items():
        is_decision = page.as_posix().startswith(DECISIONS) and page.name != "README.md"
        if is_decision and not REPLACES.match(text):
            yield (f'{page}: no line "Replaces: ..." behind the title: what does this decision replace? If nothing, '
                   "say why no existing mechanism fits")


def main():
    names = [pathlib.PurePath(path) for path in project.files()]
    files = set(names) | {parent for name in names for parent in name.parents}
    pages = {name: (project.ROOT / name).read_text() for name in names if name.suffix == ".md"}
    problems = [*link_problems(pages, files), *reach_problems(pages), *decision_problems(pages)]
    return project.report(problems, "links: all lead somewhere, every user's page is two clicks from the README, and "
                                    "every decision says what it replaces")


if __name__ == "__main__":
    sys.exit(main())
