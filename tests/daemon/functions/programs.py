#!/usr/bin/env python3
"""CUDA programs as functions of a daemon, on the emulator: deployed, invoked, asleep, refused, ended.

    programs.py BUILD
"""

from __future__ import annotations

import os
import shutil
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import BUILD, Daemon, Sluice, at, eventually, holds, prove, same  # noqa: E402

BY_HAND = BUILD / "test/guest/by_hand"
NOBODY = 65534


def npy(payload: bytes) -> bytes:
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(payload)},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + payload


def payload_of(file: bytes) -> bytes:
    (length,) = struct.unpack_from("<H", file, 8)
    return file[10 + length:]


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


@contextmanager
def programs(folder: Path, *flags: str) -> Iterator[tuple[Daemon, Path]]:
    """A daemon, and its folder of programs with `by_hand` in it."""
    place = folder / "programs"
    place.mkdir()
    shutil.copy(BY_HAND, place / "by_hand")
    folder.chmod(0o755)  # for nobody
    flags = flags or ("--worker-user", "")
    with Daemon(folder / "daemon", "--program-folders", str(place), "--program-backend", "cuda-emulated",
                "--state-file", str(folder / "state.json"), *flags) as daemon:
        yield daemon, place


def script(place: Path, name: str, text: str) -> str:
    path = place / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def deploy(sluice: Sluice, program: Path | str, *options: str, to: str = "") -> None:
    """`to`: the program's arguments."""
    sluice.text("deploy", "--program", *options, str(program), *to.split())


def request_file(folder: Path, payload: bytes) -> str:
    path = folder / "request.npy"
    path.write_bytes(npy(payload))
    return f"request={path}"


def ask(sluice: Sluice, folder: Path, name: str, payload: bytes) -> bytes:
    sluice.text("infer", name, "--input", request_file(folder, payload), "--output-dir", str(folder))
    return payload_of((folder / "reply.npy").read_bytes())


def refusal(sluice: Sluice, folder: Path, name: str, payload: bytes = b"x") -> str:
    return sluice.run("infer", name, "--input", request_file(folder, payload)).stderr


def function(sluice: Sluice, name: str) -> dict:
    return next(one for one in sluice.json("functions") if one["name"] == name)["function"]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(process: int) -> list[int]:
    children = [int(line) for line in os.popen(f"pgrep -P {process}")]
    return children + [one for child in children for one in descendants(child)]


def is_open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


def program_answers_requests_and_is_listed(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        deploy(sluice, place / "by_hand", "--name", "adder", "--share", "3", to="reply 5")
        same(ask(sluice, folder, "adder", words(1, 2, 3)), words(6, 7, 8))
        same(ask(sluice, folder, "adder", words(10)), words(15))
        state = function(sluice, "adder")
        same((state["phase"], state["share"], state["num_requests"], state["num_starts"]), ("warm", 3, 2, 1))
        same(state["program"], {"arguments": ["reply", "5"], "stays": False})
        holds(sluice.text("functions"), "adder")


def program_that_stays_keeps_its_process_between_requests(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        deploy(sluice, place / "by_hand", "--stays", to="stay 1")
        same([ask(sluice, folder, "by_hand", words(1)) for _ in range(3)], [words(2), words(3), words(4)])
        sluice.text("stop", "by_hand")
        same(function(sluice, "by_hand")["phase"], "cold")
        same(ask(sluice, folder, "by_hand", words(1)), words(2))
        same(function(sluice, "by_hand")["num_starts"], 2)


def idle_program_sleeps_and_a_request_wakes_it(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        deploy(sluice, place / "by_hand", "--keep-warm", "0", to="reply 1")
        for number in (1, 2):
            same(ask(sluice, folder, "by_hand", words(number)), words(number + 1))
            eventually(lambda: function(sluice, "by_hand")["phase"] == "cold", why="it sleeps")
        same(function(sluice, "by_hand")["num_starts"], 3)


def quota_is_the_memory_that_a_program_sees(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        for name, mib in (("small", 24), ("large", 48)):
            deploy(sluice, place / "by_hand", "--name", name, "--memory", f"{mib}m", to="free")
            holds(ask(sluice, folder, name, b"").decode(), f"free {mib << 20} of {mib << 20}")


def failure_of_a_program_is_the_requests_alone(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        breaks = script(place, "breaks", "echo no luck >&2; exit 3")
        deploy(sluice, breaks)
        said = refusal(sluice, folder, "breaks")
        holds(said, "exit code 3")
        holds(said, "no luck")
        liar = script(place, "liar", "printf 'ffffffffffff'")
        deploy(sluice, liar, "--stays")
        holds(refusal(sluice, folder, "liar"), "longer than")
        deploy(sluice, place / "by_hand", "--name", "faulty", to="fault")
        deploy(sluice, place / "by_hand", to="reply 1")
        for _ in range(2):
            same(ask(sluice, folder, "faulty", b""), b"right\n")
            same(ask(sluice, folder, "by_hand", words(1)), words(2))


def program_beyond_its_time_is_ended_with_its_children(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        pid = folder / "pid"
        slow = script(place, "slow", f"cat > /dev/null; sleep 1000 & echo $! > {pid}.new; mv {pid}.new {pid}; wait")
        deploy(sluice, slow, "--max-run", "1")
        holds(refusal(sluice, folder, "slow"), "too long")
        eventually(lambda: not is_alive(int(pid.read_text())), why="its child ends")


def processes_end_with_their_function_and_with_the_daemon(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        pid = folder / "pid"
        waiting = script(place, "waiting", f"echo $$ > {pid}.new; mv {pid}.new {pid}; cat")

        def deployed() -> int:
            pid.unlink(missing_ok=True)
            deploy(sluice, waiting)
            eventually(pid.exists, why="the program runs")
            return int(pid.read_text())

        process = deployed()
        sluice.text("unload", "waiting")
        eventually(lambda: not is_alive(process), why="the program ends with its function")
        process = deployed()
        others = descendants(daemon.process.pid)
        assert process in others and len(others) > 2, others  # the proxy, too
        daemon.kill()
        eventually(lambda: not any(is_alive(one) for one in others), why="all end with the daemon")


def proxies_take_the_daemons_transfers(folder: Path) -> None:
    flags = ("--transfer-policy", "strict", "--transfer-blocks-in-flight", "3")
    with programs(folder, "--worker-user", "", *flags) as (daemon, place):
        sluice = at(daemon)
        deploy(sluice, place / "by_hand", to="reply 1")
        same(ask(sluice, folder, "by_hand", words(1)), words(2))
        started = [Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0") for one in descendants(daemon.process.pid)]
        [proxy] = [said for said in started if said[0].endswith(b"/sluice-guest-proxy")]
        same(proxy[-3:-1], [b"strict", b"3"])  # before the last NUL


def program_runs_on_multiprocessors_that_its_script_asks_for(folder: Path) -> None:
    built = BUILD / "test/guest/cores.nvcc"
    if not built.exists():
        print("skipped: the programs of nvcc, which is not installed")
        return
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        shutil.copy(built, place / "cores")
        deploy(sluice, script(place, "narrow", f"SLUICE_GUEST_CORES=4 exec {place}/cores"))
        for _ in range(3):
            same(ask(sluice, folder, "narrow", b""), b"4 multiprocessors\nequal\n")


def program_sees_no_secrets_of_the_daemons_variables(folder: Path) -> None:
    os.environ["SLUICE_TEST_SECRET"] = "hidden"
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        deploy(sluice, script(place, "variables", "env"))
        said = ask(sluice, folder, "variables", b"").decode()
        holds(said, "SLUICE_GUEST_SOCKET=")
        assert "hidden" not in said, said


def deployment_comes_back_with_the_daemon(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        deploy(sluice, place / "by_hand", "--stays", to="stay 7")
        daemon.stop()
        daemon.start()
        same(ask(sluice, folder, "by_hand", words(1)), words(8))


def daemon_refuses_programs_that_its_operator_did_not_allow(folder: Path) -> None:
    with programs(folder) as (daemon, place):
        sluice = at(daemon)
        outside = folder / "by_hand"
        shutil.copy(BY_HAND, outside)
        holds(sluice.refusal("deploy", "--program", str(outside), "reply", "1"), "program folder")
        link = place / "link"
        link.symlink_to(outside)
        holds(sluice.refusal("deploy", "--program", str(link), "reply", "1"), "leads out of the program folders")
        plain = place / "plain"
        plain.write_text("no program")
        holds(sluice.refusal("deploy", "--program", str(plain)), "does not start")
        holds(sluice.refusal("deploy", "--program", "--batch-rows", "4", str(place / "by_hand")), "not joined")
        holds(sluice.refusal("deploy", str(place / "by_hand"), "reply"), "add --program")
        same(sluice.json("functions"), [])
    with Daemon(folder / "other") as daemon:
        holds(at(daemon).refusal("deploy", "--program", str(place / "by_hand"), "reply", "1"), "from nowhere")


def program_runs_as_worker_user(folder: Path) -> None:
    if os.geteuid() != 0:
        print("skipped: the daemon is not root, so its programs stay who it is")
        return
    with programs(folder, "--worker-user", "nobody") as (daemon, place):
        sluice = at(daemon)
        deploy(sluice, script(place, "who", "id -u; grep CapEff /proc/self/status"))
        said = ask(sluice, folder, "who", b"").decode().split()
        same((int(said[0]), int(said[2], 16)), (NOBODY, 0))
        if not is_open_to_all(BUILD / "lib/sluice/guest/libcudart.so.13"):
            print("skipped: nobody cannot read the guest library in the folder of the build")
            return
        deploy(sluice, place / "by_hand", to="free")
        holds(ask(sluice, folder, "by_hand", b"").decode(), "free")


if __name__ == "__main__":
    sys.exit(prove([
        program_answers_requests_and_is_listed,
        program_that_stays_keeps_its_process_between_requests,
        idle_program_sleeps_and_a_request_wakes_it,
        quota_is_the_memory_that_a_program_sees,
        failure_of_a_program_is_the_requests_alone,
        program_beyond_its_time_is_ended_with_its_children,
        processes_end_with_their_function_and_with_the_daemon,
        proxies_take_the_daemons_transfers,
        program_runs_on_multiprocessors_that_its_script_asks_for,
        program_sees_no_secrets_of_the_daemons_variables,
        deployment_comes_back_with_the_daemon,
        daemon_refuses_programs_that_its_operator_did_not_allow,
        program_runs_as_worker_user,
    ]))
