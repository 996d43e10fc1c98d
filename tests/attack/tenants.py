#!/usr/bin/env python3
"""Users who make a sluiced hold as much as they can. Each is stopped at its own limit, and all at that of the daemon.

    tests/attack/tenants.py BUILD_FOLDER

The clients run as users of numbers that nobody has; only root can start them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fetch_peers import giver
from roles import ALICE, BOB, CAROL, User, shared_package

from harness import BUILD, Daemon, at, eventually, holds, prove, same  # noqa: E402
from metrics import get, samples

MIB = 1 << 20
TENSOR_BYTES = 40 * MIB


class Keeper:
    """A client of a user with one tensor in the exchange, from `with` to its end, or a refusal."""

    def __init__(self, daemon: Daemon, user: int) -> None:
        self._process = subprocess.Popen([str(BUILD / "test/attack_offerer"), daemon.socket, str(TENSOR_BYTES)],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=user,
                                         group=user, extra_groups=(), cwd="/")

    def __enter__(self) -> Keeper:
        assert self._process.stdout.readline(), self._process.stderr.read()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """After its answer, whichever that is."""
        self._process.stdout.readline()
        self.__exit__()

    def refusal(self) -> str:
        same(self._process.wait(), 1)
        return self._process.stderr.read()


def open_giver(folder: Path, *flags: str) -> Daemon:
    """One whose socket every user may reach."""
    folder.chmod(0o755)
    (folder / "giver").mkdir(mode=0o755)
    return giver(folder, "--socket-mode", "0666", *flags)


def held(daemon: Daemon, name: str) -> int:
    return int(samples(get(daemon)[2]).get(f"sluice_{name}", 0))


def kind(name: str) -> str:
    return f'memory_bytes{{category="{name}"}}'


def account(user: int) -> str:
    return f'account_memory_bytes{{account="user {user}"}}'


def exchange_is_bounded_for_each_user_and_in_sum(folder: Path) -> None:
    flags = ("--memory-per-tenant", str(64 * MIB), "--exchange-bytes", str(100 * MIB))
    with open_giver(folder, *flags) as daemon:
        with Keeper(daemon, ALICE):
            holds(Keeper(daemon, ALICE).refusal(), f"of {64 * MIB} are in use")  # of all sessions of the user
            with Keeper(daemon, BOB):
                holds(Keeper(daemon, CAROL).refusal(), f"of {100 * MIB} are in use")
                same(held(daemon, kind("exchange")), 2 * TENSOR_BYTES)
                same(held(daemon, account(ALICE)), TENSOR_BYTES)
                same(held(daemon, account(BOB)), TENSOR_BYTES)
        eventually(lambda: held(daemon, kind("exchange")) == 0)
        with Keeper(daemon, CAROL):
            same(held(daemon, kind("exchange")), TENSOR_BYTES)
        same(daemon.stop(), 0)


def memory_bounds_all_kinds_together(folder: Path) -> None:
    with open_giver(folder, "--memory", str(80 * MIB)) as daemon:
        same(held(daemon, "memory_limit_bytes"), 60 * MIB)  # three quarters
        with Keeper(daemon, ALICE):
            holds(Keeper(daemon, BOB).refusal(), f"of {60 * MIB} are in use")
        eventually(lambda: held(daemon, kind("exchange")) == 0)
        with Keeper(daemon, BOB):
            pass
        same(daemon.stop(), 0)


def uploads_and_models_count_until_they_go(folder: Path) -> None:
    package = shared_package(folder)
    size = Path(package).stat().st_size
    with open_giver(folder, "--memory-per-tenant", str(size + 64 * MIB)) as daemon:
        user = User(ALICE, daemon)
        user.text("deploy", package, "--name", "mine")
        same(held(daemon, kind("packages")), size)
        user.text("infer", "mine", "--input", "image=zeros")
        assert held(daemon, kind("models")) > 0, "a context of a warm function"
        # Until the last answer has gone, it counts besides.
        eventually(lambda: held(daemon, account(ALICE)) == size + held(daemon, kind("models")))
        User(BOB, daemon).text("deploy", package, "--name", "same")
        same(held(daemon, kind("packages")), size)  # equal packages are one
        user.text("unload", "mine")
        User(BOB, daemon).text("unload", "same")
        eventually(lambda: held(daemon, kind("packages")) + held(daemon, kind("models")) == 0)
        same(daemon.stop(), 0)


def an_upload_beyond_the_limit_is_refused(folder: Path) -> None:
    package = shared_package(folder)
    with open_giver(folder, "--memory-per-tenant", str(Path(package).stat().st_size - 1)) as daemon:
        holds(User(ALICE, daemon).refusal("deploy", package), "uploaded packages")
        at(daemon).text("groups")
        same(held(daemon, kind("packages")), 0)
        same(daemon.stop(), 0)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root can start clients of other users")
        sys.exit(77)
    sys.exit(prove([
        exchange_is_bounded_for_each_user_and_in_sum,
        memory_bounds_all_kinds_together,
        uploads_and_models_count_until_they_go,
        an_upload_beyond_the_limit_is_refused,
    ]))
