"""`python -m sluice.cluster`: writes an engine's configuration to stdout."""

from __future__ import annotations

import argparse
import sys

from . import haproxy, slurm


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sluice.cluster", description=__doc__)
    engines = parser.add_subparsers(required=True, metavar="ENGINE")
    haproxy.add_to(engines)
    slurm.add_to(engines)
    parsed = parser.parse_args(arguments)
    try:
        sys.stdout.write(parsed.write(parsed))
    except (OSError, ValueError) as error:
        print(f"sluice.cluster: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
