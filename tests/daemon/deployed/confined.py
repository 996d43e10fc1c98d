#!/usr/bin/env python3
"""A daemon, its workers and an upgrade within what deploy/systemd/confined.conf leaves them: the user without
capabilities, the read-only file system and the filter of system calls, made here as systemd makes them.

    tests/daemon/deployed/confined.py BUILD_FOLDER
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import BUILD, DIGITS, ROOT, Daemon, Sluice, at, eventually, holds, is_sanitized, prove, same  # noqa: E402

UNIT = ROOT / "deploy/systemd/confined.conf"
# Actions from <linux/seccomp.h> and <seccomp.h>.
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def values(key: str) -> list[str]:
    return [line.partition("=")[2] for line in UNIT.read_text().splitlines() if line.startswith(key + "=")]


def calls_of(name: str) -> set[str]:
    """The system calls of a set of systemd.exec(5)."""
    if not name.startswith("@"):
        return {name}
    words = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True,
                           check=True).stdout.split("\n")[1:]
    found: set[str] = set()
    for word in (line.strip() for line in words):
        if word and not word.startswith("#"):
            found |= calls_of(word)
    return found


def allowed_calls() -> set[str]:
    """As systemd reads it: the first line is what is allowed, later ones add or take away."""
    allowed: set[str] = set()
    for line in values("SystemCallFilter"):
        calls = set().union(*(calls_of(word) for word in line.removeprefix("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed | calls_of("@default")


def filter_of(calls: set[str]) -> Callable[[], None]:
    """Loads it into this process; EPERM for other calls, as the unit has it."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(ERRNO | errno.EPERM)))
    assert context.value, "seccomp_init"
    for name in calls:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            assert library.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), number, 0) == 0, name
    return lambda: library.seccomp_load(context)


def confine() -> None:
    """Runs in a child, before its program. Its privileges go last."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(what: str, *arguments: object) -> None:
        if getattr(libc, what)(*arguments) != 0:
            raise OSError(ctypes.get_errno(), what)

    call("prctl", 38, 1, 0, 0, 0)  # no_new_privs
    if values("MemoryDenyWriteExecute") == ["yes"]:
        libc.prctl(65, 1, 0, 0, 0)  # PR_SET_MDWE; a kernel before 6.3 has none
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    LOAD_FILTER()


def confined(folder: Path, *flags: str) -> Daemon:
    """A daemon on the processors of this machine. It can write to its own folder alone."""
    own = folder / "d"
    own.mkdir()
    for path in (folder, own):
        path.chmod(0o755)
    os.chown(own, 65534, 65534)
    daemon = Daemon(own, "--state-file", str(own / "state.json"), *flags, is_simulated=False)
    (own / "machine.json").unlink()
    daemon._command = ["unshare", "--mount", "bash", "-ec",
                       f'mount --bind {own} {own}; mount -o remount,bind,ro /; mount -o remount,bind,rw {own}; exec "$@"', "bash",
                       sys.executable, __file__, str(BUILD), "--run", *daemon._command]
    return daemon


def for_processors(folder: Path) -> str:
    package = folder / "digits.sluice"
    Sluice().text("compile", str(DIGITS), "-o", str(package))
    return str(package)


def models_are_served_by_the_daemon_and_by_workers(folder: Path) -> None:
    package = for_processors(folder)
    with confined(folder) as daemon:
        sluice = at(daemon)
        for isolation in ("stream", "process"):
            model = sluice.json("load", package, "--name", isolation, "--isolation", isolation)
            same(model["phase"], "started")
            sluice.text("infer", isolation, "--input", "image=random", "--repeat", "200", "--in-flight", "4")
            if isolation == "stream":
                sluice.text("unload", isolation)  # its core is for the worker, if there is one alone
        status = Path(f"/proc/{daemon.process.pid}/status").read_text()
        for line in ("CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "Uid:\t65534\t65534\t65534\t65534"):
            holds(status, line)
        [group] = [one for one in sluice.json("groups") if one["isolation"] == "process"]
        os.kill(group["worker_process"], signal.SIGKILL)
        eventually(lambda: sluice.run("infer", "process", "--input", "image=random").returncode == 0, why=daemon.said)
        holds((folder / "d/state.json").read_text(), "process")
        same(daemon.stop(), 0)


def a_confined_daemon_has_a_successor(folder: Path) -> None:
    package = for_processors(folder)
    with confined(folder) as daemon:
        at(daemon).json("load", package)
        os.kill(daemon.process.pid, signal.SIGUSR2)
        eventually(lambda: daemon.process.poll() is not None, why=daemon.said)
        same(daemon.process.returncode, 0)
        successor = int(daemon.said().partition("daemon.leave successor=")[2].split()[0])
        try:
            same(at(daemon).json("infer", "digits", "--input", "image=random")["code"], 0)
        finally:
            os.kill(successor, signal.SIGTERM)
            eventually(lambda: not Path(f"/proc/{successor}").exists(), why=daemon.said)


def reason_to_skip() -> str:
    if os.geteuid() != 0:
        return "needs root, to become another user"
    if is_sanitized():
        return "a sanitizer makes system calls of its own"
    if not shutil.which("systemd-analyze"):
        return "no systemd-analyze, which knows the sets of system calls"
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return "no libseccomp.so.2"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        return "no mount namespaces"
    return ""


if __name__ == "__main__":
    if sys.argv[2:3] == ["--run"]:
        LOAD_FILTER = filter_of(allowed_calls())
        confine()
        os.execv(sys.argv[3], sys.argv[3:])
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    sys.exit(prove([
        models_are_served_by_the_daemon_and_by_workers,
        a_confined_daemon_has_a_successor,
    ]))
