#!/usr/bin/env python3
"""Every plug-in given exports its entry and nothing else."""

import subprocess
import sys

failed = 0
for path in sys.argv[1:]:
    nm = subprocess.run(["nm", "--dynamic", "--defined-only", path], capture_output=True, text=True,
                        check=True)
    names = [line.split()[-1] for line in nm.stdout.splitlines()]
    if names != ["sluice_backend_entry"]:
        failed += 1
        print(f"{path} exports {names[:8]}, not just sluice_backend_entry")
print(f"{len(sys.argv) - 1 - failed} passed, {failed} failed")
sys.exit(1 if failed or len(sys.argv) == 1 else 0)
