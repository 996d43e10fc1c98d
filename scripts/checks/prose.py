#!/usr/bin/env python3
"""Few sentences are riddles: built of pronouns and function words, or, where users read, in house words.

    scripts/checks/prose.py           fails where more than 0.5 % of an area's sentences are, and lists them
    scripts/checks/prose.py --list    lists all of them
    scripts/checks/prose.py FILE...   lists those of some files, and fails if there are any

A search for "request", "buffer" or "thread" does not find `what was told of goes where others are`:
function words dominate such a sentence. They are pronouns, quantifiers, auxiliary verbs, prepositions
and verbs without content. The check measures their share in every sentence of at least nine words, in
comments (C++, Python, shell, CMake), docstrings and Markdown text. Articles and conjunctions do not
count, because plain sentences have as many. A name in backticks and a word of code such as `kMax` or
`read_file` have content.

Users read documents, public headers, examples, the Python package, tools beside it, and string literals: help
and errors. There a sentence has a subject (`Of groups that have a limit.` has none), names what is
valid (not `is none of X`), and has the field's words (not `tell` and `nobody`).

Every sentence of a comment, docstring or literal names its subject: `Of one request.` and `Whose sums fit.` leave
it to the name below. None is allowed. prose.toml lists the words.
"""

import re
import sys
import tomllib

import project
import prose_text

LIMIT = 0.005        # of the sentences of an area; it may only shrink
SHARE = 0.6          # of a sentence's words
MIN_WORDS = 9        # shorter sentences are labels
OPENINGS = "openings"  # an area of its own: how sentences begin, in all folders
READ_BY_ENGINEERS = ("src", "backends", "guest", "tools", "tests", "decisions")
READ_BY_USERS = ("docs", "include", "examples", "python", "bench", "scripts", "deploy", "literals")
TESTS = re.compile(r"(^|/)(tests|tests_torch|testing)/|_test\.|_testing\.")

WORDS = tomllib.loads((project.pathlib.Path(__file__).parent / "prose.toml").read_text())
FUNCTION_WORDS = frozenset(" ".join(WORDS["function_words"].values()).split())
NO_SUBJECT = re.compile("|".join(WORDS["users"]["no_subject"]))
HOUSE_WORDS = re.compile("|".join(WORDS["users"]["house_words"]), re.I)
NO_OPENING = re.compile("|".join(WORDS["openings"]["no_opening"]))
NO_FIRST_WORD = re.compile("|".join(WORDS["openings"]["no_first_word"]))

CODE_SPAN = re.compile(r"`[^`]*`")
LINK_TARGET = re.compile(r"\]\([^)]*\)")
WORD = re.compile(r"[A-Za-z]\w*(?:(?:::|['’-])\w+)*")
LEGAL = re.compile(r"copyright|licen[cs]e", re.I)


def words_of(sentence):
    """The words in lower case; a name of code becomes the word `code_`."""
    sentence = LINK_TARGET.sub("]", CODE_SPAN.sub(" code_ ", sentence))
    return [word.lower() if word[1:].islower() or len(word) == 1 else "code_" for word in WORD.findall(sentence)]


def is_riddle(sentence):
    words = words_of(sentence)
    return len(words) >= MIN_WORDS and sum(word in FUNCTION_WORDS for word in words) >= SHARE * len(words)


def has_house_words(sentence):
    """Whether a sentence has no subject, or one of the house words."""
    text = CODE_SPAN.sub("`x`", sentence)
    return bool(NO_SUBJECT.search(text) and len(words_of(text)) > 3 or HOUSE_WORDS.search(text))


def hides_subject(sentence, is_first):
    """Whether a sentence begins as if the name below were its subject."""
    return bool(NO_OPENING.search(sentence) or is_first and NO_FIRST_WORD.search(sentence))


def area_of(path):
    """The area whose share the comments and texts of a file count to; None: it is not read."""
    folder = path.parts[0]
    if folder == "docs" and path.parts[1] == "decisions":
        return "decisions"
    if folder in ("python", "bench", "scripts", "deploy") and TESTS.search(path.as_posix()):
        return "tests"
    if len(path.parts) == 1:
        return "docs" if path.suffix == ".md" else None
    return folder if folder in READ_BY_ENGINEERS + READ_BY_USERS else None


def blocks_by_area(path, text):
    """(area, block) of a file's comments and texts, and of its literals."""
    area = area_of(path)
    yield from ((area, block) for block in prose_text.blocks_of(path, text))
    if area not in (None, "tests") and not TESTS.search(path.as_posix()):
        yield from (("literals", block) for block in prose_text.literals_of(path, text))


def examine(path):
    """Area to (number of sentences, riddles as "file:line: sentence") of a file."""
    found = {}
    text = (project.ROOT / path).read_text(errors="replace")

    def count(area, counts, is_wrong, riddle):
        total, riddles = found.get(area, (0, []))
        found[area] = total + (is_wrong or counts), riddles + [riddle] * is_wrong

    for area, block in blocks_by_area(path, text):
        if LEGAL.search(" ".join(part for _, part in block)):
            continue
        for number, (line, sentence) in enumerate(prose_text.sentences(block)):
            riddle = f"{path}:{line}: {sentence}"
            is_wrong = is_riddle(sentence) or area in READ_BY_USERS and has_house_words(sentence)
            count(area, len(words_of(sentence)) >= MIN_WORDS, is_wrong, riddle)
            if path.suffix != ".md":
                count(OPENINGS, True, hides_subject(sentence, number == 0), riddle)
    return found


def examine_all():
    """The same of all files."""
    found = dict.fromkeys((*READ_BY_ENGINEERS, *READ_BY_USERS, OPENINGS), (0, []))
    for path in project.files():
        if area_of(path):
            for area, (total, riddles) in examine(path).items():
                found[area] = found[area][0] + total, found[area][1] + riddles
    return found


def main():
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    if names:
        riddles = [riddle for name in names for _, found in examine(project.pathlib.Path(name)).values() for riddle in found]
        return project.report(riddles, "prose: no riddles")
    problems, shares = [], []
    for area, (total, riddles) in examine_all().items():
        shares.append(f"{area} {len(riddles)} of {total}")
        limit = 0 if area == OPENINGS else LIMIT
        if len(riddles) > limit * total:
            problems += riddles + [f"{area}: {len(riddles)} of {total} sentences, {100 * len(riddles) / total:.1f} %, "
                                   f"are riddles; {100 * limit} % may be"]
        elif "--list" in sys.argv:
            print("\n".join(riddles))
    return project.report(problems, f"prose: riddles: {', '.join(shares)}")


if __name__ == "__main__":
    sys.exit(main())
