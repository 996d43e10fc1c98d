#!/usr/bin/env python3
"""Holds every include, every CMake DEPS and ARCHITECTURE.md's table to layers.toml."""

import re
import sys
import tomllib

import project

TABLE = tomllib.loads((project.ROOT / "scripts/checks/layers.toml").read_text())
ROOMS = TABLE["src"]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
LIBRARY = re.compile(r"sluice_library\(\s*(\w+)(.*?)\)", re.S)


def includes(path):
    """(quote, header) of every include in a file."""
    return INCLUDE.findall((project.ROOT / path).read_text(errors="replace"))


def allowed_in(path):
    """First folders or whole headers that this file may include; None: anything of the project."""
    top = path.parts[0]
    is_test = path.stem.endswith(("_test", "_testing"))
    for_tests = ["support"] if is_test else []
    if top == "src" and len(path.parts) > 2:
        return [path.parts[1], *ROOMS.get(path.parts[1], []), *for_tests]
    if top == "backends" and len(path.parts) > 2:
        backends = TABLE["backends"]
        return ["its own", *backends["public"], backends["fallback"], *for_tests]
    if top in ("include", "examples"):
        return ["sluice"]
    return None


def target_of(path, header):
    """The room or public header that an include of the project means; None: not the project's."""
    first = header.split("/")[0]
    if first == "sluice":
        return header
    if path.parts[0] == "backends":  # a plug-in's own folder is its include root
        own = [project.ROOT / path.parent, project.ROOT.joinpath(*path.parts[:2])]
        return "its own" if any((folder / header).exists() for folder in own) else header
    if (project.ROOT / path.parent / header).exists():
        return path.parts[1] if len(path.parts) > 2 else None
    return first if first in ROOMS or first == "support" else None


def misplaced_includes(path):
    allowed = allowed_in(path)
    for quote, header in includes(path):
        for rule in TABLE["confined"]:
            inside = any(str(path).startswith(folder + "/") for folder in rule["folders"])
            if re.fullmatch(rule["headers"], header) and not inside:
                yield f"{path}: {header} is for {' and '.join(rule['folders'])} only"
        target = target_of(path, header) if quote == '"' or header.startswith("sluice/") else None
        if allowed is None or target is None:
            continue
        if target not in allowed and target.split("/")[0] not in allowed:
            yield f'{path}: may not include "{header}"; it may: {", ".join(allowed)}'


def misplaced_links(path):
    """CMake DEPS that the table does not allow."""
    for room, body in LIBRARY.findall((project.ROOT / path).read_text()):
        words = body.split()
        deps = words[words.index("DEPS") + 1:] if "DEPS" in words else []
        for dep in deps:
            if dep.isupper():
                break
            if room in ROOMS and dep in ROOMS and dep not in ROOMS[room]:
                yield f"{path}: {room} may not depend on {dep}"


def reachable(room):
    seen, waiting = set(), list(ROOMS.get(room, []))
    while waiting:
        room = waiting.pop()
        if room not in seen:
            seen.add(room)
            waiting += ROOMS.get(room, [])
    return seen


def table_problems():
    """What is wrong with the table itself: cycles, and a serve-only room that reaches the compiler."""
    for room in ROOMS:
        if room in reachable(room):
            yield f"layers.toml: {room} reaches itself"
    for room in TABLE["serve_only"]["rooms"]:
        for wrong in sorted(reachable(room) & set(TABLE["serve_only"]["never"])):
            yield f"layers.toml: {room} reaches {wrong}; a serve-only build links without it"
    for folder in sorted((project.ROOT / "src").iterdir()):
        if folder.is_dir() and folder.name not in ROOMS:
            yield f"src/{folder.name}: not a room of layers.toml"


def document_problems():
    """Rows `| `src/room` | what | room, room |` of ARCHITECTURE.md that differ from the table."""
    document = project.ROOT / "ARCHITECTURE.md"
    if not document.exists():
        return
    rows = dict(re.findall(r"^\| `src/(\w+)` \|.*\| ([^|]*) \|$", document.read_text(), re.M))
    for room, allowed in ROOMS.items():
        written = [word.strip(" `") for word in rows.get(room, "").split(",") if word.strip(" `–")]
        if room not in rows:
            yield f"ARCHITECTURE.md: no row for src/{room}"
        elif set(written) != set(allowed):
            yield f"ARCHITECTURE.md: src/{room}: {written}, but layers.toml has {allowed}"


def main():
    problems = [*table_problems(), *document_problems()]
    for path in project.files(project.CPP):
        problems += misplaced_includes(path)
    for path in project.files({".txt"}):
        if path.name == "CMakeLists.txt":
            problems += misplaced_links(path)
    return project.report(problems, "layers: every include is where the table allows it")


if __name__ == "__main__":
    sys.exit(main())
