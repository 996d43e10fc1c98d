#!/usr/bin/env python3
"""No comment table was reflowed into prose: clang-format joins the lines of a table when one of them grows too long.

    scripts/checks/comments.py

A table in a comment is a row of a label, a gap and a text, whose next lines start below the text:

    Fails: kInvalidArgument   a lifetime is empty
           kResourceExhausted the arena would pass `limit_bytes`, or
                              the machine has too little memory

Write rows shorter than 100 columns, or put `clang-format off` and `on` around the table.
"""

import re
import sys

import project

COMMENT = re.compile(r"^\s*(?:/\*+|\*(?!/)|//[/!]?<?)(.*?)(?:\*/)?\s*$")
RULE = re.compile(r"^ ?-{4,} \S.*?(-*)$")
ROW = re.compile(r"^( {2,})\S+(?: \S+)*? {2,}\S")  # an indented label, a gap, a text
GAP = re.compile(r"(?:^| {2,}|: +)(?=\S)")  # where a column of a table may start
BULLET = re.compile(r"^( {2,})[-*] \S")
DRAWING = re.compile(r"\||->|--+[+>]|<-|\^ ")
DEEP, SLACK = 8, 4  # a formula may stand a little further in than its row


def blocks(text):
    """(number of the first line, bodies of the lines) of each run of comment lines."""
    start, bodies = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        found = COMMENT.match(line)
        if found:
            start = start if bodies else number
            bodies.append(found.group(1))
        elif bodies:
            yield start, bodies
            bodies = []
    if bodies:
        yield start, bodies


def indent(body):
    return len(body) - len(body.lstrip())


def stands_below(column, before):
    """A line that starts at `column` belongs to a column of the line before."""
    return any(0 <= column - match.end() <= SLACK for match in GAP.finditer(before))


def damage(bodies):
    """(index, what) of the lines of a comment that a formatter moved."""
    for i, (before, body) in enumerate(zip(bodies, bodies[1:]), 1):
        if not body.strip() or not before.strip():
            continue
        rule, here = RULE.match(before), body.strip()
        if rule and not rule.group(1) and re.match(r"-{4,} \S", here):
            yield i, "the dashes of the heading above were moved to this line"
        elif any(DRAWING.search(line) for line in bodies[max(0, i - 2):i + 1]):
            continue
        elif indent(body) < indent(before) and here[0].islower() and (ROW.match(before) or BULLET.match(before)):
            yield i, "the row above goes on here, at another column"
        elif indent(body) >= DEEP and indent(before) < 2 and not stands_below(indent(body), before):
            yield i, "the line stands at the column of a table that the line above broke"


def problems(texts):
    for path, text in texts.items():
        for start, bodies in blocks(text):
            for index, what in damage(bodies):
                yield f"{path}:{start + index}: {what}; restore the table"


def main():
    texts = {str(path): (project.ROOT / path).read_text(errors="replace") for path in project.files(project.CPP)}
    return project.report(list(problems(texts)), "comments: tables stand in columns")


if __name__ == "__main__":
    sys.exit(main())
