#!/usr/bin/env python3
"""No path in the tree that exists on one person's machine only."""

import re
import sys

import project

PERSONAL = re.compile(rb"(?<![\w.\-}*)/])/(home|root|Users|work|workspace|farm|mnt)/[\w.]+")
#: Where KServe mounts the models of a container, on every machine.
CONTRACTS = {b"/mnt/models"}
BINARY = {".png", ".onnx", ".npy", ".npz", ".sluice", ".pb"}


def main():
    problems = []
    for path in project.files():
        if path.suffix in BINARY:
            continue
        for number, line in enumerate((project.ROOT / path).read_bytes().splitlines(), 1):
            match = PERSONAL.search(line)
            if match and match.group(0) not in CONTRACTS:
                problems.append(f"{path}:{number}: {match.group(0).decode()}")
    return project.report(problems, "paths: none that one machine has and others lack")


if __name__ == "__main__":
    sys.exit(main())
