#!/usr/bin/env python3
"""At most 25 source files directly in a folder, and no circle of includes between folders at any depth."""

import os
import pathlib
import re
import sys
from collections import Counter, defaultdict

import project

MAX_FILES = 25
ROOTS = ("src", "backends", "tools", "tests", "bench", "python", "include")
SOURCES = (*project.CPP, ".py")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
INCLUDE_ROOTS = ("src", "include", "tests", "tools", "bench")


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


def include_graph(paths):
    """Maps a folder to the folders of its includes, each with one such include as text."""
    known, graph = set(paths), defaultdict(dict)
    for path in paths:
        if path.suffix not in project.CPP or is_leaf(path):
            continue
        for header in INCLUDE.findall((project.ROOT / path).read_text(errors="replace")):
            target = find_header(path, header, known)
            if target is not None and target.parent != path.parent:
                graph[path.parent].setdefault(target.parent, f'{path} includes "{header}"')
    return graph


def circle_through(graph, start):
    """The shortest circle of folders that begins and ends at `start`; None where there is none."""
    came_from, waiting = {start: None}, [start]
    for folder in waiting:
        for target in graph.get(folder, {}):
            if target == start:
                circle = [start]
                while folder is not None:
                    circle.append(folder)
                    folder = came_from[folder]
                return circle[::-1]
            if target not in came_from:
                came_from[target] = folder
                waiting.append(target)
    return None


def circles(graph):
    """Circles, as lists of folders that begin and end with the same folder; no folder is in two lists."""
    named = set()
    for start in sorted(graph):
        circle = None if start in named else circle_through(graph, start)
        if circle:
            named.update(circle)
            yield circle


def problems_in(paths):
    for folder, count in crowded(paths):
        yield f"{folder}: {count} source files, over {MAX_FILES}: make sub-folders by meaning"
    graph = include_graph(paths)
    for circle in circles(graph):
        yield f"circle of includes: {' -> '.join(map(str, circle))}"
        for folder, target in zip(circle, circle[1:]):
            yield f"    {graph[folder][target]}"


def main():
    problems = list(problems_in([pathlib.PurePath(path) for path in project.files()]))
    return project.report(problems, f"folders: none over {MAX_FILES} files, no circle of includes between them")


if __name__ == "__main__":
    sys.exit(main())
