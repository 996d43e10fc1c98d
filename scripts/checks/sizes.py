#!/usr/bin/env python3
"""No file over 600 lines, no function over 60; --all also lists files and functions over the soft limits (300, 40)."""

import ast
import re
import sys

import project

FILE_STOP, FILE_ASK = 600, 300
FUNCTION_STOP, FUNCTION_ASK = 60, 40
SOURCES = (*project.CPP, ".py")

# Comments, strings and characters, which may hold braces that mean nothing.
OPAQUE = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                    re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
TYPE_OR_NAMESPACE = re.compile(
    r'^(template\s*<.*>\s*)?(typedef\s+)?(inline\s+)?(namespace|class|struct|union|enum|extern\s*"?)\b', re.S)


def blank(match):
    """The same number of lines, nothing else."""
    return "\n" * match.group(0).count("\n")


def cpp_functions(text):
    """(name, first line, number of lines) of every function body, by its braces."""
    text = DIRECTIVE.sub(blank, OPAQUE.sub(blank, text))
    stack, head_start = [], 0
    for at in (match.start() for match in re.finditer(r"[{};]", text)):
        head, mark = text[head_start:at], text[at]
        if mark == ";" and head.count("(") > head.count(")"):
            continue  # inside for (;;)
        if mark == "{":
            stack.append((kind_of(head, stack), head_start + len(head) - len(head.lstrip()), head))
        elif mark == "}" and stack:
            kind, start, opening = stack.pop()
            if kind == "function":
                name = re.search(r"([~\w:]+|operator\W+)\s*\(", opening)
                yield (name.group(1) if name else "?", text.count("\n", 0, start) + 1,
                       text.count("\n", start, at) + 1)
        head_start = at + 1


def kind_of(head, stack):
    head = head.strip()
    if stack and stack[-1][0] in ("function", "block"):
        return "block"
    if TYPE_OR_NAMESPACE.match(head) and "(" not in re.sub(r"alignas\([^)]*\)", "", head):
        return "scope"
    is_body = "(" in head and not re.search(r"=\s*$", head) and not head.endswith(",")
    return "function" if is_body else "scope" if head.startswith("extern") else "block"


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def main():
    stops, asks = [], []
    for path in project.files():
        if path.suffix not in SOURCES and path.parts[0] not in ("scripts", "cmake"):
            continue  # documents and data have no limit
        text = (project.ROOT / path).read_text(errors="replace")
        lines = text.count("\n")
        if lines > FILE_ASK:
            (stops if lines > FILE_STOP else asks).append(f"{path}: {lines} lines")
        functions = cpp_functions if path.suffix in project.CPP else python_functions
        for name, line, length in functions(text) if path.suffix in SOURCES else ():
            if length > FUNCTION_ASK:
                wrong = stops if length > FUNCTION_STOP else asks
                wrong.append(f"{path}:{line}: {name} has {length} lines")
    if "--all" in sys.argv:
        print("\n".join(f"worth a question: {ask}" for ask in asks))
    return project.report(stops, f"sizes: no file over {FILE_STOP} lines, no function over {FUNCTION_STOP}")


if __name__ == "__main__":
    sys.exit(main())
