#!/usr/bin/env python3
"""libsluice_client holds what a client needs: none of the rooms that run models, and little code.

    client_library_test.py LIBSLUICE_CLIENT LIBSLUICE BUILD_TYPE [SANITIZERS]

The build's library, which has its symbols: an installed one may be stripped.
"""

import re
import subprocess
import sys

# A client's rooms; `v1` is the protocol's generated code, and of `api` there are the runtime's interface and no more.
ROOMS = {"ir", "terms", "shm", "rpc", "client", "v1", "api"}
MAX_CODE_BYTES = 1_200_000


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def at_top(text):
    """`text` without what stands in angle brackets."""
    depth, kept = 0, []
    for i, c in enumerate(text):
        is_arrow = c == ">" and text[i - 1] == "-"
        if c == ">" and not is_arrow:
            depth = max(depth - 1, 0)
        if depth == 0:
            kept.append(c)
        if c == "<":
            depth += 1
    return "".join(kept)


def room_of(symbol):
    """The namespace below sluice:: in which a function or a table is defined; None for base and for others' code."""
    scope = at_top(symbol.replace("(anonymous namespace)", "anonymous")).split("(")[0].split(" ")[-1]
    found = re.match(r"sluice::([a-z]\w*)::", scope)
    return found.group(1) if found and found.group(1) != "anonymous" else None


def rooms_of(library, *options):
    """Room to one of its symbols, of all that the library's code defines, or with other options asks for."""
    found = {}
    for line in output_of("nm", "--demangle", *(options or ["--defined-only"]), library).splitlines():
        symbol = re.sub(r"^[0-9a-f ]*[A-Za-z] ", "", line)
        found.setdefault(room_of(symbol), symbol)
    found.pop(None, None)
    return found


def code_bytes(library):
    sections = output_of("readelf", "--section-headers", "--wide", library)
    return int(re.search(r" \.text +PROGBITS +\w+ \w+ (\w+)", sections).group(1), 16)


def problems(client, engine, is_small):
    found = rooms_of(client)
    if not {"client", "rpc", "terms"} <= set(found):
        yield f"{client}: no symbols of its own rooms but of {sorted(found)}: is it stripped?"
    if not {"runtime", "exec", "sandbox"} <= set(rooms_of(engine)):
        yield f"{engine}: this test does not see the rooms of the engine where they are"
    for room in sorted(set(found) - ROOMS):
        yield f"{client}: has code of {room}: {found[room]}"
    for room, symbol in rooms_of(client, "--undefined-only").items():
        yield f"{client}: asks for code of {room}, which nobody brings: {symbol}"
    size = code_bytes(client)
    print(f"{size} bytes of code" + ("" if is_small else ", not judged: not an optimised build without sanitizers"))
    if is_small and size >= MAX_CODE_BYTES:
        yield f"{client}: {size} bytes of code, not under {MAX_CODE_BYTES}"


def main():
    client, engine, *build = sys.argv[1:]
    found = list(problems(client, engine, is_small=build == ["Release"]))
    print("\n".join(found))
    print(f"{0 if found else 1} passed, {len(found)} failed")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
