#!/usr/bin/env python3
"""clang-tidy 14 over every source file but the tests, again only when what it reads has changed. With
SLUICE_CHECK_SINCE="6 hours ago", as in CI, only over sources that a commit changed since then.

Its time goes mostly into headers, so sources are checked several at a time (units.py); if a unit has
findings or does not compile, its sources are checked one by one.
Needs a configured and built build folder (generated headers): build/release, or --build.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import project
import stamps
import units

SOURCES = 12  # in a unit: more gain little and cost memory


def configuration():
    """The text of all .clang-tidy files."""
    return "".join((project.ROOT / path).read_text() for path in project.files()
                   if path.name == ".clang-tidy")


def tidy(tool, build, source, flags):
    # The flags are GCC's: ignore flags unknown to clang, and warnings of the compiler itself.
    run = subprocess.run(
        [tool, "--quiet", str(source), "--", *flags, "-Wno-unknown-warning-option",
         "-Wno-unused-command-line-argument", "-Wno-error"],
        cwd=build, capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stdout + ("" if run.stdout else run.stderr)


def tidy_unit(tool, build, paths, flags):
    """The findings for each path; empty for a clean source."""
    if len(paths) > 1 and tidy(tool, build, units.write("tidy", paths), flags)[0]:
        return dict.fromkeys(paths, "")
    alone = {path: tidy(tool, build, project.ROOT / path, flags) for path in paths}
    return {path: "" if clean else output for path, (clean, output) in alone.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=project.ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="only these")
    args = parser.parse_args()
    chosen = set(args.files) or project.changed_for_checks()
    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    build = args.build.resolve()
    if tool is None or not (build / "compile_commands.json").exists():
        print(f"tidy: needs clang-tidy (scripts/install-deps check) and a configured {args.build}")
        return 1
    settings = configuration()
    commands = {path: command for path, command in project.compile_commands(build).items()
                if not path.stem.endswith("_test") and (chosen is None or path in chosen)}
    if chosen is not None:
        print(f"tidy: {len(commands)} chosen sources")
    marks = {path: stamps.stamp("tidy", project.ROOT / path, settings, command)
             for path, command in commands.items()}
    waiting = {path: command for path, command in commands.items() if not marks[path].exists()}
    done = 0
    findings = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda unit: tidy_unit(tool, build, unit, units.flags(commands[unit[0]])),
                           units.gather(waiting, SOURCES))
        for unit in results:
            done += len(unit)
            print(f"[{done}/{len(waiting)}] {', '.join(map(str, unit))}", flush=True)
            for path, output in unit.items():
                if output:
                    findings.append(output)
                else:
                    marks[path].touch()
    # Last, because a reader of a long log has its end.
    print(*findings, sep="\n")
    print(f"tidy: {len(findings)} files with findings" if findings else "tidy: clang-tidy finds nothing")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
