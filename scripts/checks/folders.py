#!/usr/bin/env python3
"""At most 25 source files directly in a folder, no circle of includes or imports between folders at any depth, and
no circle of imports between Python modules.

An import within a function or under TYPE_CHECKING counts: whoever reads the one module needs the other. A module does
not depend on the __init__.py of its own package, which lists what users see, unless it imports a name from there."""

import ast
import os
import pathlib
import re
import sys
from collections import Counter, defaultdict

import project

MAX_FILES = 25
ROOTS = ("src", "backends", "tools", "tests", "bench", "python", "include", "guest")
SOURCES = (*project.CPP, ".py")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
INCLUDE_ROOTS = ("src", "include", "tests", "tools", "bench", ".")
PYTHON_ROOT = pathlib.PurePath("python")


def crowded(paths):
    """(folder, number of source files directly in it) where that is over the limit."""
    counts = Counter(path.parent for path in paths if path.parts[0] in ROOTS and path.suffix in SOURCES)
    return sorted((folder, count) for folder, count in counts.items() if count > MAX_FILES)


def is_leaf(path):
    """Tests, what tests share, fuzz targets and benchmarks: programs that no room includes."""
    is_program = path.stem.endswith(("_test", "_fuzz")) or path.stem.startswith("bench_")
    return is_program or not {"testing", "bench"}.isdisjoint(path.parts[:-1])


def find_header(path, header, known):
    """The file of the project that an include means; None: not the project's, or generated."""
    roots = [path.parent, *map(pathlib.PurePath, INCLUDE_ROOTS)]
    if path.parts[0] == "backends":  # a plug-in's own folder is a root
        roots += [pathlib.PurePath(*path.parts[:2]), pathlib.PurePath("backends")]
    for root in roots:
        candidate = pathlib.PurePath(os.path.normpath(root / header))
        if candidate in known:
            return candidate
    return None


def find_module(path, parts, known):
    """The file of the module `parts` as `path` sees it; None: not the project's. A script sees its own folder."""
    roots = [PYTHON_ROOT] if path.with_name("__init__.py") in known else [path.parent, PYTHON_ROOT]
    for root in roots if parts else ():
        module = root.joinpath(*parts)
        for candidate in (module.with_suffix(".py"), module.with_suffix(".pyi"), module / "__init__.py"):
            if candidate in known:
                return candidate
    return None


def imported_parts(path, node):
    """The dotted name behind `from` as parts, those of the package for leading dots."""
    parts = node.module.split(".") if node.module else []
    if not node.level:
        return parts
    package = path.relative_to(PYTHON_ROOT).parts if path.is_relative_to(PYTHON_ROOT) else ()
    return [*package[:len(package) - node.level], *parts]


def imports(path, known):
    """(file of the project, text) for each import in a Python file, wherever it stands."""
    for node in ast.walk(ast.parse((project.ROOT / path).read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [(name.name.split("."), []) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = imported_parts(path, node)
            names = [([*parts, name.name], parts) for name in node.names]
        for module, package in names:
            target = find_module(path, module, known) or find_module(path, package, known)
            if target is not None:
                yield target, f"{path} imports {target}, line {node.lineno}"


def includes(path, known):
    """(file of the project, text) for each include in a C++ file."""
    for header in INCLUDE.findall((project.ROOT / path).read_text(errors="replace")):
        target = find_header(path, header, known)
        if target is not None:
            yield target, f'{path} includes "{header}"'


def graphs(paths):
    """Graphs of folders, and of Python modules: what each includes or imports, each with one such line as text."""
    known, folders, modules = set(paths), defaultdict(dict), defaultdict(dict)
    for path in paths:
        if path.suffix == ".py":
            found = list(imports(path, known))
            modules[path].update((target, text) for target, text in found[::-1] if target != path)
        elif path.suffix in project.CPP and not is_leaf(path):
            found = includes(path, known)
        else:
            continue
        for target, text in found:
            if target.parent != path.parent:
                folders[path.parent].setdefault(target.parent, text)
    return folders, modules


def circle_through(graph, start):
    """The shortest circle that begins and ends at `start`; None where there is none."""
    came_from, waiting = {start: None}, [start]
    for place in waiting:
        for target in graph.get(place, {}):
            if target == start:
                circle = [start]
                while place is not None:
                    circle.append(place)
                    place = came_from[place]
                return circle[::-1]
            if target not in came_from:
                came_from[target] = place
                waiting.append(target)
    return None


def circles(graph):
    """Circles, as lists that begin and end with the same folder or module; none is in two lists."""
    named = set()
    for start in sorted(graph):
        circle = None if start in named else circle_through(graph, start)
        if circle:
            named.update(circle)
            yield circle


def problems_in(paths):
    for folder, count in crowded(paths):
        yield f"{folder}: {count} source files, over {MAX_FILES}: make sub-folders by meaning"
    for graph in graphs(paths):
        for circle in circles(graph):
            yield f"circle: {' -> '.join(map(str, circle))}"
            for place, target in zip(circle, circle[1:]):
                yield f"    {graph[place][target]}"


def main():
    problems = list(problems_in([pathlib.PurePath(path) for path in project.files()]))
    return project.report(problems, f"folders: none over {MAX_FILES} files, no circle of includes or imports")


if __name__ == "__main__":
    sys.exit(main())
