"""`python -m sluice.ray CORES`: this machine's groups of so many cores, for `ray start --resources`."""

from __future__ import annotations

import argparse
import json

from .supervisor import resources


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sluice.ray", description=__doc__)
    parser.add_argument("cores", type=int, help="cores of a group")
    print(json.dumps(resources(parser.parse_args().cores)))


if __name__ == "__main__":
    main()
