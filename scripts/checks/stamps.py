"""Remembers, by content, which files a slow check has already found clean."""

import hashlib
import re
from functools import lru_cache

import project

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
ROOTS = [project.ROOT / name
         for name in ("src", "include", "backends", "tools", "tests", "build/release/generated", ".")]


@lru_cache(maxsize=None)
def included(path):
    """The project's headers that a file includes itself."""
    found = []
    for header in INCLUDE.findall(path.read_text(errors="replace")):
        near = [path.parent, *path.parents[1:3]]  # a plug-in's own folder is an include root
        places = [folder / header for folder in [*near, *ROOTS]]
        found += [place.resolve() for place in places if place.is_file()][:1]
    return found


def closure(path):
    """The file and every header of the project it includes, itself or through another."""
    found, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += included(file)
    return sorted(found)


def stamp(check, path, *settings):
    """A file that exists once `check` found `path`, all it includes and `settings` clean."""
    text = hashlib.sha256("\0".join(settings).replace(str(project.ROOT), "").encode())
    for file in closure(path):
        text.update(file.read_bytes())
    return folder_of(check) / text.hexdigest()


def folder_of(check):
    """Where a check keeps what it remembers."""
    folder = project.ROOT / "build/check" / check
    folder.mkdir(parents=True, exist_ok=True)
    return folder
