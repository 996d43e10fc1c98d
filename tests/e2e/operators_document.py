"""docs/operators.md is what the command prints; `--write` makes it so."""

import os
import pathlib
import subprocess
import sys

DOCUMENT = pathlib.Path("docs/operators.md")
COMMAND = [os.environ.get("SLUICE", "build/release/bin/sluice"), "operators", "--backend",
           "reference", "--markdown"]


def main():
    printed = subprocess.run(COMMAND, capture_output=True, text=True, check=True).stdout
    if "--write" in sys.argv:
        DOCUMENT.write_text(printed)
        return 0
    if DOCUMENT.read_text() == printed:
        return 0
    print(f"{DOCUMENT} is not what the command prints; refresh it with\n"
          "    python3 tests/e2e/operators_document.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
