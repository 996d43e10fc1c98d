"""Sources gathered into units that compile as one, so that the headers they share are read once."""

import hashlib
import re
import shlex

import project

# A name that a source declares at the first column: a function, a variable, a class, an alias, a macro.
_DECLARED = re.compile(
    r"^(?:#\s*define\s+(\w+)"
    r"|(?:struct|class|union|enum(?: class)?)\s+(\w+)"
    r"|(?!namespace\b|using namespace\b|using [\w:]+;|extern \"C\" {)(?=[A-Za-z_])[^;={(\n]*?\b(\w+)\s*(?:\[\w*\]\s*)?[({=;])",
    re.M)


def declared(text):
    return {name for names in _DECLARED.findall(text) for name in names if name}


def flags(command):
    """The flags of a compile command without the source, the output and headers that another compiler
    precompiled."""
    words = shlex.split(command)[1:]
    words = words[:words.index("-o")]
    return tuple(word for before, word in zip(["", *words], words)
                 if "-include" not in (before, word) and word != "-Winvalid-pch")


def gather(commands, most):
    """Lists of at most `most` paths in one language with equal flags, without a name that two of them
    declare. A list may still fail to compile as a unit."""
    open_units, units = {}, []
    for path, command in sorted(commands.items()):
        names = declared((project.ROOT / path).read_text())
        waiting = open_units.setdefault((path.suffix, flags(command)), [])
        unit = next((unit for unit in waiting if not unit[1] & names), None)
        if unit is None:
            unit = ([], set())
            waiting.append(unit)
            units.append(unit[0])
        unit[0].append(path)
        unit[1].update(names)
        if len(unit[0]) == most:
            waiting.remove(unit)
    return units


def write(check, paths):
    """A source file that includes all of `paths`."""
    text = "".join(f'#include "{project.ROOT / path}"  // NOLINT(bugprone-suspicious-include)\n' for path in paths)
    folder = project.ROOT / "build/check" / check
    folder.mkdir(parents=True, exist_ok=True)
    unit = folder / f"{hashlib.sha256(text.encode()).hexdigest()}{paths[0].suffix}"
    unit.write_text(text)
    return unit
