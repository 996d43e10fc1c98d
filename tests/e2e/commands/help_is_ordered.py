#!/usr/bin/env python3
"""`sluice --help` fits a screen in groups; the help of each command begins with its smallest call."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import ROOT, run_cases  # noqa: E402

from harness.sluice_cli import run_command  # noqa: E402

GROUPS = ["Models", "Machine", "Daemon", "Functions"]
LINES, COLUMNS = 50, 80  # of a screen
COMMAND_COLUMNS = 100
ALONE = {"run", "bench", "inspect", "explain"}  # their first examples run without a daemon or a file more


def groups() -> dict[str, list[str]]:
    """Commands by heading, as the help lists them."""
    found: dict[str, list[str]] = {}
    for line in run_command("--help").splitlines():
        if heading := re.fullmatch(r"(\w+):", line):
            found[heading[1]] = []
        elif found and (entry := re.match(r"  (\S+)  +\S", line)):
            found[list(found)[-1]].append(entry[1])
    return found


def commands() -> list[str]:
    return [name for names in groups().values() for name in names]


def made_commands() -> set[str]:
    """The names that the sources give their commands."""
    names = set()
    for source in (ROOT / "tools/sluice").rglob("*_command.cc"):
        text = source.read_text()
        names.update(re.findall(r"name\(\) const override \{ return \"([\w-]+)\"", text))
        names.update(re.findall(r"make\(Change::\w+, \"([\w-]+)\"", text))
    return names | set(re.findall(r"add_subcommand\(\"(\w+)\"", (ROOT / "tools/sluice/cli/run_commands.cc").read_text()))


def examples_of(command: str) -> list[str]:
    """The lines before the first blank one."""
    return run_command(command, "--help").partition("\n\n")[0].splitlines()


def fits_a_screen(_: Path) -> str:
    lines = run_command("--help").splitlines()
    long = [line for line in lines if len(line) > COLUMNS]
    if len(lines) > LINES or long:
        return f"{len(lines)} lines, too long: {long}"
    return "" if lines[0].startswith("  sluice ") else f"the first line is no example: {lines[0]}"


def each_command_is_in_one_group(_: Path) -> str:
    found = groups()
    if list(found) != GROUPS:
        return f"groups are {list(found)}"
    names = commands()
    if twice := {name for name in names if names.count(name) > 1}:
        return f"in two groups: {twice}"
    differ = set(names) ^ made_commands()
    return f"listed or made, but not both: {differ}" if differ or len(names) < 30 else ""


def each_help_begins_with_an_example(_: Path) -> str:
    for command in commands():
        lines = examples_of(command)
        calls = [line.split() for line in lines]
        if calls[0][:2] != ["sluice", command] or any(call[0] != "sluice" for call in calls):
            return f"{command}: {lines}"
        if len(calls[0]) > min(len(call) for call in calls if call[1] == command):
            return f"{command}: the first example is not the shortest"
        if wide := [line for line in run_command(command, "--help").splitlines() if len(line) > COMMAND_COLUMNS]:
            return f"{command}: {wide}"
    return ""


def examples_use_options_that_exist(_: Path) -> str:
    for command in commands():
        for line in examples_of(command):
            _, called, *words = line.split()
            declared = run_command(called, "--help").partition("Options:")[2]
            for option in (word for word in words if word.startswith("-")):
                if not re.search(rf"^  (-\w, )?{option}\b|^  {option}, ", declared, re.MULTILINE):
                    return f"{command}: {line} names {option}, which {called} lacks"
    return ""


def smallest_calls_run(folder: Path) -> str:
    (folder / "model.onnx").write_bytes((ROOT / "examples/digits/digits.onnx").read_bytes())
    for command in sorted(ALONE):
        words = examples_of(command)[0].split()[1:]
        run_command(*(folder / word if word == "model.onnx" else word for word in words),
                    *(["--seconds", "0.1"] if command == "bench" else []))
    return ""


CASES: dict[str, Callable[[Path], str]] = {
    "the list of commands fits a screen": fits_a_screen,
    "each command is in one group": each_command_is_in_one_group,
    "each help begins with its smallest example": each_help_begins_with_an_example,
    "examples use options that exist": examples_use_options_that_exist,
    "the smallest calls run": smallest_calls_run,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
