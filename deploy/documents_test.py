#!/usr/bin/env python3
"""Man pages and completions have every command and every option that --help has, and shells complete them.

    deploy/documents_test.py SLUICE SLUICED
"""

import os
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
        scripts = {shell: (folder / place).read_text() for shell, place in documents.COMPLETIONS.items()}
        for page, command in pages.items():
            text = (folder / "man/man1" / page).read_text().replace("\\-", "-")
            for flag in re.findall(r"--[a-z][\w-]+", subprocess.run([*command, "--help"], capture_output=True,
                                                                  text=True, check=True).stdout):
                assert flag in text, f"{page}: no {flag}"
                for shell, script in scripts.items():
                    word = f"-l {flag[2:]} " if shell == "fish" else flag
                    assert word in script, f"completion of {shell}: no {flag}"
        renders(folder / "man/man1/sluice.1", "sluice run model.onnx")
        renders(folder / "man/man8/sluiced.8", "--log-level")
        renders(folder / "man/man1/sluice-load.1", "--estimate")
        for script in (folder / "bash-completion/completions").iterdir():
            subprocess.run(["bash", "-n", str(script)], check=True)


LINES = {  # what may stand at the cursor, by the words before it and its own start
    ("sluice", "mo"): {"models", "monitor"},
    ("sluice", "top", "--o"): {"--once"},
    ("sluice", "run", "--executor", ""): {"linear", "dataflow", "parallel"},
    ("sluice", "groups", "--create", "1", "--isolation", "s"): {"stream"},
    ("sluice", "completion", ""): {"bash", "zsh", "fish"},
    ("sluice", "run", "no.such"): set(),
}
BASH = "source {script}; COMP_WORDS=({words}); COMP_CWORD={last}; _sluice; printf '%s\\n' \"${{COMPREPLY[@]}}\""
FISH = "source {script}; complete -C \"{line}\" | string replace -r '\\t.*' ''"
ZSH = """
compdef() {{ }}
_files() {{ }}
_describe() {{ print -l -- ${{${{(M)${{(P)@[-1]}}:#$PREFIX*}}%%:*}} }}
compadd() {{ shift; print -l -- ${{(M)@:#$PREFIX*}} }}
source {script} 2>/dev/null
words=({words}) CURRENT=$(({last} + 1)) PREFIX={word}; _sluice
"""
SHELLS = {"bash": ["bash", "-c", BASH], "zsh": ["zsh", "-f", "-c", ZSH], "fish": ["fish", "--no-config", "-c", FISH]}


def shells_complete_what_the_program_prints() -> None:
    with tempfile.TemporaryDirectory() as name:
        for shell, (program, *options, text) in SHELLS.items():
            script = Path(name) / shell
            script.write_text(subprocess.run([sys.argv[1], "completion", shell], capture_output=True, text=True,
                                             check=True).stdout)
            if shutil.which(program) is None:
                print(f"skipped: completion in {shell}, which is not installed")
                continue
            for words, expected in LINES.items():
                done = subprocess.run(
                    [program, *options, text.format(script=script, words=" ".join(word or "''" for word in words),
                                                    last=len(words) - 1, word=words[-1], line=" ".join(words))],
                    capture_output=True, text=True, check=False, cwd=name, env={**os.environ, "HOME": name})
                assert set(done.stdout.split()) == expected, f"{shell}: {words}: {done.stdout}{done.stderr}"


def renders(page: Path, part: str) -> None:
    """Without a warning, where there is a man."""
    if shutil.which("man") is None:
        print(f"skipped: {page.name} is not rendered, there is no man")
        return
    done = subprocess.run(["man", "--warnings", "--encoding=UTF-8", "--local-file", str(page)], capture_output=True,
                          text=True, check=True, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANPAGER": "cat"})
    assert part in done.stdout and not done.stderr, done


if __name__ == "__main__":
    reads_names_and_texts()
    what_roff_would_take_for_a_command_is_escaped()
    every_command_has_a_page_and_every_option_stands_in_it()
    shells_complete_what_the_program_prints()
    print("4 passed, 0 failed")
