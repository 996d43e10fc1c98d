#!/usr/bin/env python3
"""Few sentences of comments and documents are built of pronouns and function words.

    scripts/checks/prose.py           fails where a folder has more than 0.5 % of them, and lists them
    scripts/checks/prose.py --list    lists all of them
    scripts/checks/prose.py FILE...   lists those of some files, and fails if there are any

A search for "request", "buffer" or "thread" does not find "what was told of goes where others are":
function words dominate such a sentence. They are pronouns, quantifiers, auxiliary verbs, prepositions
and verbs without content. The check measures their share in every sentence of at least nine words, in
comments (C++, Python, shell, CMake), docstrings and Markdown text. Articles and conjunctions do not
count, because plain sentences have as many. A name in backticks and a word of code such as `kMax` or
`read_file` have content.
"""

import ast
import io
import re
import sys
import tokenize

import project

LIMIT = 0.005        # of the sentences of a folder
SHARE = 0.6          # of a sentence's words
MIN_WORDS = 9        # shorter sentences are labels
FOLDERS = ("src", "backends", "tools", "docs", "include", "tests")

PRONOUNS = """it its itself they them their theirs themselves he she his her we us our you your what
    whatever who whom whose whoever which whichever that this these those one ones other others
    another nobody somebody everybody nothing something everything anything""".split()
QUANTIFIERS = "such same all any each both some none no nor not again anew then than too also so".split()
AUXILIARIES = """is are was be been being has have had do does did may might can could will would
    there where as""".split()
PREPOSITIONS = "of by for from to in on at with but beside behind before after".split()
EMPTY_VERBS = """go goes gone come comes came tell tells told make makes made take takes taken took
    give gives gave given""".split()
FUNCTION_WORDS = frozenset(PRONOUNS + QUANTIFIERS + AUXILIARIES + PREPOSITIONS + EMPTY_VERBS)

CPP_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
HASH_COMMENT = re.compile(r"^\s*#(?!!)[#]*\s?(.*)$")
FENCE = re.compile(r"^\s*(```|~~~)")
NEW_BLOCK = re.compile(r"^\s*([-*+>]|\d+\.|#+)\s+")
SENTENCE_END = re.compile(r"(?<=[.!?:;])[)\"”*_]*(?:\s+|$)")
CODE_SPAN = re.compile(r"`[^`]*`")
LINK_TARGET = re.compile(r"\]\([^)]*\)")
WORD = re.compile(r"[A-Za-z]\w*(?:(?:::|['’-])\w+)*")
LEGAL = re.compile(r"copyright|licen[cs]e", re.I)


def cpp_comments(text):
    """Blocks of comment lines, each a list of (line, text); a comment behind code is a block."""
    block, last = [], 0
    for match in CPP_TOKEN.finditer(text):
        comment = match.group(0)
        if comment[:2] not in ("//", "/*"):
            continue
        line = text.count("\n", 0, match.start()) + 1
        stands_alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if block and not (stands_alone and comment.startswith("//") and line == last + 1):
            yield block
            block = []
        for offset, part in enumerate(comment.split("\n")):
            block.append((line + offset, re.sub(r"^\s*(///?<?|/\*\*?|\*/?)|\*/$", "", part)))
        last = block[-1][0]
    if block:
        yield block


def hash_comments(text):
    """Blocks of comment lines (#)."""
    block = []
    for line, content in enumerate(text.split("\n"), 1):
        match = HASH_COMMENT.match(content)
        if match:
            block.append((line, match.group(1)))
        elif block:
            yield block
            block = []
    if block:
        yield block


def python_comments(text):
    """Comments, and the docstrings of a module, its classes and functions."""
    lines = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            lines[token.start[0]] = token.string.lstrip("# ")
    yield from consecutive(lines)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node, clean=False) is not None:
                first = node.body[0].lineno
                yield from paragraphs(enumerate(ast.get_docstring(node, clean=False).split("\n"), first))


def consecutive(lines):
    """`lines`, by number, in blocks without a gap."""
    block = []
    for number in sorted(lines):
        if block and number != block[-1][0] + 1:
            yield block
            block = []
        block.append((number, lines[number]))
    if block:
        yield block


def paragraphs(lines):
    """(line, text) pairs in blocks that end at an empty line, a list item, a heading or a fence."""
    block, in_fence = [], False
    for number, text in lines:
        starts_fence = FENCE.match(text)
        is_break = starts_fence or in_fence or not text.strip() or NEW_BLOCK.match(text)
        if is_break and block:
            yield block
            block = []
        if starts_fence:
            in_fence = not in_fence
        elif not in_fence and text.lstrip().startswith("|"):
            yield from ([(number, cell)] for cell in text.split("|"))
        elif not in_fence and text.strip() and not (text.startswith("    ") and not block):
            block.append((number, NEW_BLOCK.sub("", text)))
    if block:
        yield block


def markdown_blocks(text):
    return paragraphs(enumerate(text.split("\n"), 1))


def blocks_of(path, text):
    if path.suffix in project.CPP:
        return cpp_comments(text)
    if path.suffix == ".md":
        return markdown_blocks(text)
    if path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
        return python_comments(text)
    if path.suffix in (".cmake", ".sh") or path.name == "CMakeLists.txt" or text.startswith("#!"):
        return hash_comments(text)
    return ()


def sentences(block):
    """(line of the first word, sentence) of a block."""
    text, starts = "", []
    for number, part in block:
        starts.append((len(text), number))
        text += part.strip() + " "
    begin = 0
    for end in [match.end() for match in SENTENCE_END.finditer(text)] + [len(text)]:
        sentence = text[begin:end].strip()
        if sentence:
            yield max(number for start, number in starts if start <= begin), sentence
        begin = end


def words_of(sentence):
    """The words in lower case; a name of code becomes the word `code_`."""
    sentence = LINK_TARGET.sub("]", CODE_SPAN.sub(" code_ ", sentence))
    return [word.lower() if word[1:].islower() or len(word) == 1 else "code_" for word in WORD.findall(sentence)]


def is_riddle(sentence):
    words = words_of(sentence)
    return len(words) >= MIN_WORDS and sum(word in FUNCTION_WORDS for word in words) >= SHARE * len(words)


def examine(path):
    """(number of sentences, riddles as "file:line: sentence") of a file."""
    text = (project.ROOT / path).read_text(errors="replace")
    total, riddles = 0, []
    for block in blocks_of(path, text):
        if LEGAL.search(" ".join(part for _, part in block)):
            continue
        for line, sentence in sentences(block):
            total += len(words_of(sentence)) >= MIN_WORDS
            if is_riddle(sentence):
                riddles.append(f"{path}:{line}: {sentence}")
    return total, riddles


def examine_folder(folder):
    total, riddles = 0, []
    for path in project.files():
        if path.parts[0] == folder:
            count, found = examine(path)
            total, riddles = total + count, riddles + found
    return total, riddles


def main():
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    if names:
        riddles = [riddle for name in names for riddle in examine(project.pathlib.Path(name))[1]]
        return project.report(riddles, "prose: no sentence of pronouns")
    problems, shares = [], []
    for folder in FOLDERS:
        total, riddles = examine_folder(folder)
        shares.append(f"{folder} {len(riddles)} of {total}")
        if len(riddles) > LIMIT * total:
            problems += riddles + [f"{folder}: {len(riddles)} of {total} sentences, {100 * len(riddles) / total:.1f} %, "
                                   f"are pronouns and function words; {100 * LIMIT} % may be"]
        elif "--list" in sys.argv:
            print("\n".join(riddles))
    return project.report(problems, f"prose: sentences of pronouns: {', '.join(shares)}")


if __name__ == "__main__":
    sys.exit(main())
