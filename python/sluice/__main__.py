"""`python -m sluice`: the command-line program."""

from __future__ import annotations

import os
import sys

from .commands import program


def main() -> None:
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
