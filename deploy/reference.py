#!/usr/bin/env python3
"""Writes the reference of the library from its headers: a page of Markdown per C header and its C++ layer.

    deploy/reference.py INCLUDE FOLDER

A declaration's text is the comment before it. Declarations that follow each other without an empty line share it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/|(?:[ \t]*//[^\n]*\n)+", re.S)
# What the reader of a page has no use for: includes, guards, and `extern "C"`.
NOISE = re.compile(r'^#(?!define \w+ \d).*\n|^extern "C" \{\n|^#endif.*\n|^\}\s*\n(?=#)', re.M)


@dataclass
class Item:
    """A declaration and what its comment says. `members` are those of a struct or class."""

    code: str
    text: str = ""
    heading: str = ""  # of the section that begins here
    members: list[Item] = field(default_factory=list)

    @property
    def name(self) -> str:
        """`sluice_model_open`, `Runtime`, or the names of an enum."""
        if self.code.startswith("enum"):
            return ", ".join(re.findall(r"SLUICE_\w+", self.code)[:1]) + ", ..."
        if match := re.match(r"(?:typedef )?(?:struct|class) (\w+)", self.code):
            return match[1]
        if match := re.search(r"\(\*(\w+)\)", self.code.split("(", 1)[0] + "(" + self.code.partition("(")[2]):
            return match[1]
        match = re.search(r"(\w+)\s*\(", self.code) or re.match(r"(?:#define|using) (\w+)", self.code)
        return match[1] if match else self.code.rstrip(";").split()[-1]


def plain(comment: str) -> str:
    """The words of a comment: without its marks, a paragraph per `Fails:`."""
    lines = [re.sub(r"^\s*(?:/\*+|\*(?!/)|///?<?)? ?", "", line.replace("*/", "")).rstrip()
             for line in comment.strip().splitlines()]
    return re.sub(r"(?<=\S)[ \n](Fails(?: besides)?:|Requires:)", r"\n\n\1", "\n".join(lines).strip())


def closing(text: str, begin: int) -> int:
    """The place of the brace that closes the one at `begin`; braces in comments do not count."""
    depth = 0
    for match in re.finditer(r"/\*.*?\*/|//[^\n]*|[{}]", text[begin:], re.S):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return begin + match.start()
    raise ValueError(f"no closing brace after: {text[begin:begin + 60]}")


def end_of_head(text: str, begin: int) -> int:
    """The place of the `;` or `{` outside of parentheses that ends a declaration's first part."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0 and text[place] in ";{":
            return place
    return len(text)


def declaration(text: str, begin: int) -> tuple[str, str | None, int]:
    """The code of a declaration, the body if it is a class of C++, and where the next one begins."""
    if text[begin] == "#":
        end = text.index("\n", begin)
        return text[begin:end], None, end
    end = end_of_head(text, begin)
    if text[end:end + 1] != "{":
        return text[begin:end + 1], None, end + 1
    close = closing(text, end)
    head, after = text[begin:end].strip(), close + 1
    is_type = re.match(r"(?:typedef )?(?:enum|struct|class|union)\b", re.sub(r"template <.*?>\s*", "", head))
    if is_type or "(" not in head:  # also a member with a value in braces
        after = text.find(";", close) + 1
        is_class = is_type and not head.startswith(("typedef", "enum"))
        return text[begin:after], text[end + 1:close] if is_class else None, after
    return re.sub(r"\s+:\s+\w+_?\(.*", "", head, flags=re.S) + ";", None, after


def parse(text: str, is_public: bool = True) -> list[Item]:
    """The public declarations of a file or of a class's body."""
    items: list[Item] = []
    comment, heading, place, is_apart = "", "", 0, True
    while place < len(text):
        if gap := re.match(r"\s+", text[place:]):
            is_apart = is_apart or "\n\n" in gap[0]
            place += gap.end()
        elif found := COMMENT.match(text, place):
            if title := re.match(r"/\* -+ (.*?) -+ \*/", found[0]):
                heading, comment = title[1], ""
            elif found[0].lstrip().startswith(("///<", "// IWYU")):
                comment = ""
            else:
                comment, is_apart = found[0], True
            place = found.end()
        elif found := re.match(r"(public|private):\s*\n", text[place:]):
            is_public, place, comment = found[1] == "public", place + found.end(), ""
        elif found := re.match(r"namespace (\w+) \{", text[place:]):
            close = closing(text, place + found.end() - 1)
            if found[1] != "detail":
                items += parse(text[place + found.end():close])
            place, comment = close + 1, ""
        elif found := re.match(r"}[^\n]*\n?", text[place:]):
            place += found.end()
        else:
            code, body, place = declaration(text, place)
            if is_public and (body is not None or not is_dull(code)):
                item = Item(code.strip(), plain(comment), heading, parse(body, not code.lstrip().startswith("class"))
                            if body else [])
                if is_apart or comment or not items:
                    items.append(item)
                else:
                    items[-1].code += "\n" + item.code
                heading = ""
            comment, is_apart = "", False
    return items


def is_dull(code: str) -> bool:
    """Whether all classes have it, or it names something without saying anything of it."""
    return bool(re.search(r"= delete|noexcept|^\s*(explicit |~|friend )|operator=|^inline [^(]*\w::\w+\(", code) or
                re.match(r"(typedef )?(struct|class) \w+( \w+)?;", code.strip()))


def shown(code: str) -> str:
    """The code without SLUICE_API, the lines that were aligned to it moved to the left."""
    if "SLUICE_API " not in code:
        return code
    return re.sub(r"\n {11}( *)", r"\n\1", code).replace("SLUICE_API ", "")


def write_item(item: Item, language: str, level: int) -> str:
    code = shown(item.code)
    if level > 4:  # of a class
        code = code.replace("\n  ", "\n")
    is_class = bool(item.members) and not re.search(r"^struct", code, re.M)
    if is_class:
        code = code[:code.index("{")].strip() + " { ... };"
    lines = [f"{'#' * level} `{item.name}`", "", f"```{language}", code, "```", "", item.text, ""]
    if is_class:
        lines += [write_item(member, language, level + 1) for member in item.members]
    return "\n".join(lines)


def write_header(path: Path, language: str) -> str:
    """A chapter: the header's introduction, then its declarations."""
    text = path.read_text()
    first = COMMENT.search(text)
    assert first, f"{path} has no introduction"
    chapter = [f"## `sluice/{path.name}`", "", "```text", plain(first[0]), "```", ""]
    for item in parse(NOISE.sub("", text[first.end():])):
        if item.heading:
            chapter += [f"### {item.heading[:1].upper()}{item.heading[1:]}", ""]
        chapter.append(write_item(item, language, 4))
    return "\n".join(chapter)


def pages(include: Path) -> list[str]:
    """Names of the headers for programs. Those for plug-ins include the table of plug-ins, backend.h."""
    headers = {path.stem: path.read_text() for path in sorted(include.glob("*.h"))}
    return [name for name, text in headers.items() if name != "backend" and '"sluice/backend.h"' not in text]


def main(include: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    index = ["# Reference", "", "Made from the headers of the library by `deploy/reference.py`.", ""]
    for name in pages(include):
        page = [f"# sluice/{name}", "", write_header(include / f"{name}.h", "c")]
        if (include / f"{name}.hpp").exists():
            page.append(write_header(include / f"{name}.hpp", "cpp"))
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(page)).rstrip() + "\n"
        (folder / f"{name}.md").write_text(text)
        names = re.findall(r"^#### `(\w+)", text, re.M)
        index += [f"- [{name}]({name}.md): " + ", ".join(f"`{one}`" for one in dict.fromkeys(names))]
    (folder / "README.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
