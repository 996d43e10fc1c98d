"""What tests take from the machine that they run on: folders that others do not see."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def mounted(script: str, *words: object) -> list[str]:
    """The words before a command that runs in a mount namespace, after a shell's script whose $1, $2, ... are `words`.

    Skips the test where the system gives no such namespace.
    """
    namespace = ["unshare", "--mount", "sh", "-ec"]
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    tried = subprocess.run([*namespace, "mount -t tmpfs none /tmp"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace: {tried.stderr.strip()}")
    return [*namespace, f'{script}; shift {len(words)}; exec "$@"', "mounted", *map(str, words)]
