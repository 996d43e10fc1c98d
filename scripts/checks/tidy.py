#!/usr/bin/env python3
"""clang-tidy 14 over every source file but the tests, again only when what it reads has changed.

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


def configuration():
    """All that clang-tidy is told by files of its own."""
    return "".join((project.ROOT / path).read_text() for path in project.files()
                   if path.name == ".clang-tidy")


def tidy(tool, build, path):
    # The commands are GCC's: flags clang does not know, and warnings that are not clang-tidy's, pass.
    run = subprocess.run(
        [tool, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-error", str(path)], cwd=project.ROOT,
        capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stdout + ("" if run.stdout else run.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=project.ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="only these")
    args = parser.parse_args()
    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    build = args.build.resolve()
    if tool is None or not (build / "compile_commands.json").exists():
        print(f"tidy: needs clang-tidy (scripts/install-deps check) and a configured {args.build}")
        return 1
    settings = configuration()
    waiting = {path: stamps.stamp("tidy", project.ROOT / path, settings, command)
               for path, command in sorted(project.compile_commands(build).items())
               if not path.stem.endswith("_test") and (not args.files or path in args.files)}
    waiting = {path: stamp for path, stamp in waiting.items() if not stamp.exists()}
    problems = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: (path, *tidy(tool, build, path)), waiting)
        for done, (path, clean, output) in enumerate(results, 1):
            print(f"[{done}/{len(waiting)}] {path}", flush=True)
            if clean:
                waiting[path].touch()
            else:
                problems += 1
                print(output)
    print(f"tidy: {problems} files with findings" if problems else "tidy: clang-tidy finds nothing")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
