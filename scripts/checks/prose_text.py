"""The sentences of a file: of comments, docstrings, Markdown text, and of string literals."""

import ast
import functools
import io
import re
import tokenize

import project

CPP_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
JS_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|(["'`])(?:\\.|(?!\1)[^\\])*\1""", re.S)
HASH_COMMENT = re.compile(r"^\s*#(?!!)[#]*\s?(.*)$")
FENCE = re.compile(r"^\s*(```|~~~)")
NEW_BLOCK = re.compile(r"^\s*([-*+>]|\d+\.|#+)\s+")
SENTENCE_END = re.compile(r"(?<=[.!?:;])[)\"”*_]*(?:\s+|$)")
FIELD = re.compile(r"\{[^{}]*\}|%[-+0-9.*]*(?:ll|z|t|j)?[a-zA-Z]|\\\"[^\"]*\\\"|\"[^\"]*\"")
BREAK = re.compile(r"(?:\\n|\\t|\n|\t)+")


@functools.lru_cache(1)
def tokens_of(text, pattern=CPP_TOKEN):
    """(token, begin, end) of each comment and literal."""
    return [(match.group(0), match.start(), match.end()) for match in pattern.finditer(text)]


@functools.lru_cache(1)
def python_tree(text):
    return ast.parse(text)


def cpp_comments(text, pattern=CPP_TOKEN):
    """Blocks of comment lines, each a list of (line, text); a comment behind code is a block."""
    block, last = [], 0
    for comment, begin, _ in tokens_of(text, pattern):
        if comment[:2] not in ("//", "/*"):
            continue
        line = text.count("\n", 0, begin) + 1
        stands_alone = not text[text.rfind("\n", 0, begin) + 1:begin].strip()
        if block and not (stands_alone and comment.startswith("//") and line == last + 1):
            yield block
            block = []
        for offset, part in enumerate(comment.split("\n")):
            block.append((line + offset, re.sub(r"^\s*(///?<?|/\*\*?|\*/?)|\*/$", "", part)))
        last = block[-1][0]
    if block:
        yield block


def cpp_literals(text):
    """Blocks of one (line, text) for each string literal; adjacent ones are one literal."""
    whole, first, last = "", 0, 0
    for token, begin, end in tokens_of(text):
        if token[0] not in '"R':
            continue
        if whole and text[last:begin].strip():
            yield from literal_blocks(whole, text.count("\n", 0, first) + 1)
            whole = ""
        if not whole:
            first = begin
        whole += token[1:-1] if token[0] == '"' else token[token.index("(") + 1:token.rindex(")")]
        last = end
    yield from literal_blocks(whole, text.count("\n", 0, first) + 1)


def python_literals(text):
    """The same for Python's, docstrings left out; what an f-string inserts is a name."""
    tree = python_tree(text)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield from literal_blocks("".join(map(str, parts)), node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside | documentation:
            yield from literal_blocks(node.value, node.lineno)


def literal_blocks(literal, line):
    """Lines of a literal; what it inserts or quotes becomes a name."""
    for part in BREAK.split(literal):
        if " " in part.strip():
            yield [(line, FIELD.sub("`x`", part))]


def literals_of(path, text):
    if path.suffix in project.CPP:
        return cpp_literals(text)
    if path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
        return python_literals(text)
    return ()


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
        if token.type != tokenize.COMMENT or token.string.startswith("#!"):
            continue
        line, content = token.start[0], token.string.lstrip("#: ")
        if token.line[:token.start[1]].strip():
            yield [(line, content)]  # a comment behind code is a block
        else:
            lines[line] = content
    yield from consecutive(lines)
    for node in ast.walk(python_tree(text)):
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
    if path.suffix == ".js":
        return cpp_comments(text, JS_TOKEN)
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
