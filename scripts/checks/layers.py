#!/usr/bin/env python3
"""Holds every include, every CMake DEPS and ARCHITECTURE.md's table to layers.toml, and counts the headers that
sources see."""

import pathlib
import re
import sys
import tomllib

import project
import stamps

TABLE = tomllib.loads((project.ROOT / "scripts/checks/layers.toml").read_text())
ROOMS = TABLE["src"]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
TEST_FRAMEWORK = re.compile(r"g(test|mock)/")
#: Nine of ten sources of `src` see fewer headers of the project. Each costs builds, and ties the source to one more
#: thing that may change.
CROWD = 60
LIBRARY = re.compile(r"sluice_library\(\s*(\w+)(.*?)\)", re.S)


def includes(path):
    """(quote, header) of every include in a file."""
    return INCLUDE.findall((project.ROOT / path).read_text(errors="replace"))


def room_of(parts):
    """The room at or above a folder of `src`; where rooms lie below it instead, its first folder."""
    for length in range(len(parts), 0, -1):
        room = "/".join(parts[:length])
        if room in ROOMS:
            return room
    return parts[0]


def rooms_below(folder):
    return [room for room in ROOMS if room.startswith(folder + "/")]


def allowed_in_room(room):
    """A folder of rooms holds the tests of how they work together, which include what any may."""
    if room in ROOMS:
        return [room, *ROOMS[room]]
    below = rooms_below(room)
    return [room, *below, *(allowed for one in below for allowed in ROOMS[one])]


def allowed_in(path):
    """Rooms, first folders or whole headers that this file may include; None: all of the project's."""
    top = path.parts[0]
    for_tests = ["support"] if for_test(path) else []
    if top == "src" and len(path.parts) > 2:
        return [*allowed_in_room(room_of(path.parts[1:-1])), *for_tests]
    if top == "backends" and len(path.parts) > 2:
        backends = TABLE["backends"]
        return ["its own", *backends["public"], backends["fallback"], *for_tests]
    if top in ("include", "examples"):
        return ["sluice"]
    return None


def for_test(path):
    """Whether a file is a test or what tests share, which nothing else may include."""
    return path.stem.endswith(("_test", "_testing")) or "testing" in path.parts[:-1]


def target_of(path, header):
    """The room or public header that an include of the project means; None: not the project's."""
    first = header.split("/")[0]
    if first == "sluice":
        return header
    if path.parts[0] == "backends":  # a plug-in's own folder is its include root
        own = [project.ROOT / path.parent, project.ROOT.joinpath(*path.parts[:2])]
        return "its own" if any((folder / header).exists() for folder in own) else header
    if path.parts[0] == "examples" and header in ("seven.h", "seven.csv", "kernels.hpp"):  # what examples share
        return None
    if (project.ROOT / path.parent / header).exists():
        return room_of(path.parts[1:-1]) if len(path.parts) > 2 else None
    room = room_of(header.split("/")[:-1] or [first])
    return room if room in ROOMS or rooms_below(room) or room == "support" else None


def misplaced_includes(path):
    allowed = allowed_in(path)
    is_production = path.parts[0] in ("src", "backends", "include", "examples") and not for_test(path)
    for quote, header in includes(path):
        if is_production and (for_test(pathlib.PurePath(header)) or TEST_FRAMEWORK.match(header)):
            yield f"{path}: {header} is for tests only"
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
    """CMake DEPS that the table does not allow. The library of `rpc/wire` is `rpc_wire`."""
    rooms = {room.replace("/", "_"): allowed for room, allowed in ROOMS.items()}
    for room, body in LIBRARY.findall((project.ROOT / path).read_text()):
        words = body.split()
        deps = words[words.index("DEPS") + 1:] if "DEPS" in words else []
        for dep in deps:
            if dep.isupper():
                break
            if room in rooms and dep in rooms and dep not in [a.replace("/", "_") for a in rooms[room]]:
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
    """Problems of the table itself: cycles, and a serve-only room that reaches the compiler."""
    for room in ROOMS:
        if room in reachable(room):
            yield f"layers.toml: {room} reaches itself"
    for room in TABLE["serve_only"]["rooms"]:
        for wrong in sorted(reachable(room) & set(TABLE["serve_only"]["never"])):
            yield f"layers.toml: {room} reaches {wrong}; a serve-only build links without it"
    for folder in sorted((project.ROOT / "src").iterdir()):
        if folder.is_dir() and folder.name not in ROOMS and not rooms_below(folder.name):
            yield f"src/{folder.name}: not a room of layers.toml"


def permissions_used(paths):
    """Room -> the rooms and public headers that its files include, tests too."""
    used = {}
    for path in paths:
        if path.parts[0] != "src" or len(path.parts) < 3:
            continue
        room = used.setdefault(room_of(path.parts[1:-1]), set())
        for quote, header in includes(path):
            target = target_of(path, header) if quote == '"' or header.startswith("sluice/") else None
            room.add(target or header.split("/")[0])
    return used


def unused_permissions(paths):
    """Entries of the table that no include needs; a planned room has no files yet."""
    for room, used in permissions_used(paths).items():
        for target in ROOMS.get(room, []):
            if target not in used:
                yield f"layers.toml: src/{room} includes nothing of {target}: remove the permission"


def document_problems():
    """Rows `| `src/room` | what | room, room |` of ARCHITECTURE.md that differ from the table."""
    document = project.ROOT / "ARCHITECTURE.md"
    if not document.exists():
        return
    rows = dict(re.findall(r"^\| `src/([\w/]+)` \|.*\| ([^|]*) \|$", document.read_text(), re.M))
    for room, allowed in ROOMS.items():
        written = [word.strip(" `") for word in rows.get(room, "").split(",") if word.strip(" `–")]
        if room not in rows:
            yield f"ARCHITECTURE.md: no row for src/{room}"
        elif set(written) != set(allowed):
            yield f"ARCHITECTURE.md: src/{room}: {written}, but layers.toml has {allowed}"


def headers_seen(paths):
    """Source of `src`, tests left out -> how many headers of the project its includes reach, each counted once."""
    built = project.ROOT / "build"
    return {path: sum(file.suffix in (".h", ".hpp") and not file.is_relative_to(built)
                      for file in stamps.closure(project.ROOT / path))
            for path in paths if path.parts[0] == "src" and path.suffix == ".cc" and not for_test(path)}


def crowding(seen):
    """The problem of a tenth of the sources that see CROWD headers or more; `seen`: as headers_seen."""
    counts = sorted(seen.values())
    high = counts[len(counts) * 9 // 10] if counts else 0
    if high >= CROWD:
        nearest = sorted((count, str(path)) for path, count in seen.items() if count >= CROWD)[:5]
        yield (f"src: one source in ten sees {high} headers of the project or more, the limit is {CROWD}; cut an "
               f"include, for instance of {', '.join(f'{path} ({count})' for count, path in nearest)}")


def main():
    problems = [*table_problems(), *document_problems()]
    sources = project.files(project.CPP)
    problems += unused_permissions(sources)
    problems += crowding(headers_seen(sources))
    for path in sources:
        problems += misplaced_includes(path)
    for path in project.files({".txt"}):
        if path.name == "CMakeLists.txt":
            problems += misplaced_links(path)
    return project.report(problems, "layers: every include is where the table allows it")


if __name__ == "__main__":
    sys.exit(main())
