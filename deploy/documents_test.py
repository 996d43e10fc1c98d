#!/usr/bin/env python3
"""Man pages and completions have every command and every option that --help has.

    deploy/documents_test.py SLUICE SLUICED
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import documents

EXAMPLE = """  sluice turn this
  sluice turn this --out there

Turns things.

Usage: sluice turn [OPTIONS] thing

Arguments:
  thing                       What to turn

Options:
  -h,--help                   Print this help message and exit
  --a-long-name-of-an-option TEXT [x]
                              Starts on a line of its own
                              and goes on
  -o, --out TEXT              Where; see --in
  -q,--quiet                  As CLI11 writes it
"""


def reads_names_and_texts() -> None:
    page = documents.read_help(EXAMPLE)
    assert (page.summary, page.usage) == ("Turns things.", "sluice turn [OPTIONS] thing"), page
    assert page.examples == ["sluice turn this", "sluice turn this --out there"], page
    [thing] = page.entries("Arguments")
    assert (thing.name, thing.text) == ("thing", "What to turn"), thing
    options = page.entries("Options")
    assert options[1].text == "Starts on a line of its own and goes on", options
    assert documents.all_flags(page) == ["--help", "--a-long-name-of-an-option", "--out", "--quiet"], options


def what_roff_would_take_for_a_command_is_escaped() -> None:
    assert documents.roff(".x -y \\z") == "\\&.x \\-y \\ez"


def every_command_has_a_page_and_every_option_stands_in_it() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        documents.main(sys.argv[1], sys.argv[2], folder)
        commands = documents.commands_of(documents.help_of(sys.argv[1]))
        assert {"compile", "load", "top"} <= set(commands), commands
        pages = {f"sluice-{command}.1": [sys.argv[1], command] for command in commands}
        completion = (folder / "bash-completion/completions/sluice").read_text()
        for page, command in pages.items():
            text = (folder / "man/man1" / page).read_text().replace("\\-", "-")
            for flag in re.findall(r"--[a-z][\w-]+", subprocess.run([*command, "--help"], capture_output=True,
                                                                  text=True, check=True).stdout):
                assert flag in text, f"{page}: no {flag}"
                assert flag in completion, f"completion: no {flag}"
        renders(folder / "man/man8/sluiced.8", "--log-level")
        renders(folder / "man/man1/sluice-load.1", "--estimate")
        for shell in (folder / "bash-completion/completions").iterdir():
            subprocess.run(["bash", "-n", str(shell)], check=True)
        completes(folder / "bash-completion/completions/sluice", ["sluice", "mo"], {"models", "monitor"})
        completes(folder / "bash-completion/completions/sluice", ["sluice", "top", "--o"], {"--once"})


def renders(page: Path, part: str) -> None:
    """Without a warning, where there is a man."""
    if shutil.which("man") is None:
        return
    done = subprocess.run(["man", "--warnings", "--encoding=UTF-8", "--local-file", str(page)], capture_output=True,
                          text=True, check=True, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANPAGER": "cat"})
    assert part in done.stdout and not done.stderr, done


def completes(script: Path, words: list[str], expected: set[str]) -> None:
    program = (f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _sluice;"
               " printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected, done.stdout


if __name__ == "__main__":
    reads_names_and_texts()
    what_roff_would_take_for_a_command_is_escaped()
    every_command_has_a_page_and_every_option_stands_in_it()
    print("3 passed, 0 failed")
