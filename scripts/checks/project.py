"""The files of the project, for the checks."""

import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = (".h", ".hpp", ".cc", ".c", ".cu")
_NOT_OURS = {"build", ".git", ".venv", ".cache", "__pycache__"}


def files(suffixes=None):
    """Paths relative to the root: what git tracks or would; all but build products without git."""
    names = _known_to_git() or _walk()
    paths = (pathlib.Path(name) for name in sorted(names))
    return [path for path in paths
            if (ROOT / path).is_file() and (suffixes is None or path.suffix in suffixes)]


def changed_for_checks():
    """The files that commits since SLUICE_CHECK_SINCE, a date of git's, touched, and those that wait for one.

    None, which means all, without that variable or git's history.
    """
    date = os.environ.get("SLUICE_CHECK_SINCE")
    if not date:
        return None
    history = subprocess.run(["git", "log", f"--since={date}", "--format=", "--name-only"],
                             cwd=ROOT, capture_output=True, text=True, check=False)
    waiting = subprocess.run(["git", "diff", "--name-only", "HEAD"],
                             cwd=ROOT, capture_output=True, text=True, check=False)
    if history.returncode or not history.stdout:
        return None
    return {pathlib.Path(name) for name in (history.stdout + waiting.stdout).split()}


def _known_to_git():
    """Nothing without git, or where it refuses: a copy of the tree, somebody else's clone."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return []
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                             cwd=ROOT, capture_output=True, text=True, check=False)
    return listing.stdout.splitlines()


def _walk():
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if name not in _NOT_OURS]
        for name in names:
            yield str(pathlib.Path(folder, name).relative_to(ROOT))


def compile_commands(build):
    """Path to compile command of each source; the first where one is compiled several times. A source that is
    compiled in a unit (cmake/SluiceUnits.cmake) has the unit's command."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        for source in _sources_of_unit(path) if path.parent.name == "Unity" else [path]:
            source = source.resolve()
            if source.is_relative_to(ROOT) and not source.is_relative_to(build):
                found.setdefault(source.relative_to(ROOT), entry["command"])
    return found


def _sources_of_unit(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [pathlib.Path(line.split('"')[1]) for line in lines if line.startswith("#include")]


def report(problems, all_well):
    """Prints the problems, or `all_well` without any; returns the exit status."""
    for problem in problems:
        print(problem)
    if not problems:
        print(all_well)
    return 1 if problems else 0
