"""`python -m sluice.ray CORES`: this machine's groups of so many cores, for `ray start --resources`."""

from __future__ import annotations

import argparse
import json
import sys

from ..errors import Error
from .supervisor import resources


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sluice.ray", description=__doc__)
    parser.add_argument("cores", type=int, help="cores of a group")
    parser.add_argument("--kind", default="cpu", help="kind of the devices (default: %(default)s)")
    parsed = parser.parse_args(arguments)
    try:
        print(json.dumps(resources(parsed.cores, kind=parsed.kind)))
    except Error as error:
        print(f"sluice.ray: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
