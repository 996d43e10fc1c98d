#!/usr/bin/env python3
"""Writes man pages from what the programs print with --help, and the completions that `sluice` prints.

    deploy/documents.py SLUICE SLUICED FOLDER

FOLDER gets man/man1/sluice.1, a sluice-COMMAND.1 per subcommand, man/man8/sluiced.8, and completions where
the shells look for them: bash-completion/completions/{sluice,sluiced}, zsh/vendor-completions/_sluice and
fish/vendor_completions.d/sluice.fish.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

COLUMN = 30  # where --help begins to explain an option
COMPLETIONS = {"bash": "bash-completion/completions/sluice", "zsh": "zsh/vendor-completions/_sluice",
               "fish": "fish/vendor_completions.d/sluice.fish"}


@dataclass
class Entry:
    """An option, an argument or a subcommand: how it is written, and what it does."""

    name: str
    text: str = ""

    def flags(self) -> list[str]:
        return re.findall(r"(?:^|[ ,])(--?[A-Za-z][\w-]*)", self.name)


@dataclass
class Help:
    """What --help printed: examples, a sentence, the usage line, and entries by heading."""

    summary: str = ""
    examples: list[str] = field(default_factory=list)
    usage: str = ""
    sections: dict[str, list[Entry]] = field(default_factory=dict)

    def entries(self, title: str) -> list[Entry]:
        return self.sections.get(title, [])


def read_help(text: str) -> Help:
    page, section = Help(), None
    for line in text.splitlines():
        said, is_usage, usage = line.partition("Usage: ")
        if is_usage and not section:
            page.summary, page.usage = f"{page.summary} {said}".strip(), usage
        elif re.fullmatch(r"\w[\w ]*:", line):
            section = page.sections.setdefault(line[:-1], [])
        elif section is None and line.startswith("  "):
            page.examples.append(line.strip())
        elif section is None:
            page.summary = f"{page.summary} {line}".strip()
        elif line.startswith(" " * COLUMN):
            section[-1].text = f"{section[-1].text} {line.strip()}".strip()
        elif line.startswith("  "):
            name, said = split_entry(line)
            section.append(Entry(name.strip(), said.strip()))
    assert page.summary and page.usage, f"no help that could be read:\n{text}"
    return page


def split_entry(line: str) -> tuple[str, str]:
    """Two spaces or more end a name; a long name may leave one before the column of the texts."""
    if apart := re.match(r"  (\S.*?)  +(\S.*)", line):
        return apart[1], apart[2]
    is_explained = len(line) > COLUMN and line[COLUMN - 1] == " " and line[COLUMN] != " "
    return (line[:COLUMN], line[COLUMN:]) if is_explained else (line, "")


def commands_of(front: Help) -> list[str]:
    """The subcommands in all groups."""
    return [entry.name for title, entries in front.sections.items() if title != "Options" for entry in entries]


def help_of(*command: str) -> Help:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True, env=environment)
    return read_help(done.stdout)


def roff(text: str) -> str:
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))


def page_of(name: str, section: int, page: Help, version: str, see_also: list[str]) -> str:
    lines = [f'.TH {name.upper()} {section} "" "{version}" "Sluice"', ".SH NAME",
             roff(f"{name} - {page.summary.rstrip('.')}"), ".SH SYNOPSIS", f".B {roff(page.usage)}"]
    if page.examples:
        lines += [".SH EXAMPLES", ".nf", *map(roff, page.examples), ".fi"]
    for title, entries in page.sections.items():
        lines.append(f".SH {title.upper()}")
        for entry in entries:
            lines += [".TP", f".B {roff(entry.name)}", roff(entry.text) or "\\&"]
    lines += [".SH EXIT STATUS", "0 done, 1 failed, 2 wrong usage.", ".SH SEE ALSO",
              roff(", ".join(f"{one}" for one in see_also))]
    return "\n".join(lines) + "\n"


def completion_of_sluiced(page: Help) -> str:
    return f"""# bash completion for sluiced
_sluiced() {{
  local word=${{COMP_WORDS[COMP_CWORD]}}
  [[ $word != -* ]] || mapfile -t COMPREPLY < <(compgen -W '{' '.join(all_flags(page))}' -- "$word")
}}
complete -o default -F _sluiced sluiced
"""


def all_flags(page: Help) -> list[str]:
    return [flag for entries in page.sections.values() for entry in entries for flag in entry.flags()
            if flag.startswith("--")]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main(sluice: str, sluiced: str, folder: Path) -> None:
    version = subprocess.run([sluice, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    front, daemon = help_of(sluice), help_of(sluiced)
    commands = {name: help_of(sluice, name) for name in commands_of(front)}
    assert len(commands) > 5, "the list of subcommands could not be read"
    pages = {name: f"sluice-{name}" for name in commands}
    also = [f"{page}(1)" for page in pages.values()]
    write(folder / "man/man1/sluice.1", page_of("sluice", 1, front, version, [*also, "sluiced(8)"]))
    for name, page in pages.items():
        write(folder / f"man/man1/{page}.1", page_of(page, 1, commands[name], version, ["sluice(1)", "sluiced(8)"]))
    write(folder / "man/man8/sluiced.8", page_of("sluiced", 8, daemon, version, ["sluice(1)"]))
    for shell, place in COMPLETIONS.items():
        script = subprocess.run([sluice, "completion", shell], capture_output=True, text=True, check=True).stdout
        write(folder / place, script)
    write(folder / "bash-completion/completions/sluiced", completion_of_sluiced(daemon))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
