#!/usr/bin/env python3
"""CUDA programs as guests of a proxy: their results, their errors, their ends.

    guests.py FOLDER [BACKEND]    programs of nvcc and by_hand, as CMake built them; cuda-emulated by default
    guests.py FOLDER --at-once 200 --kills 1000    as many guests of one proxy, as many killed ones

The cases that need programs of nvcc are skipped where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from report import run_cases  # noqa: E402

from support.eventually import HANG_S, eventually  # noqa: E402


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("backend", nargs="?", default="cuda-emulated")
    parser.add_argument("--at-once", type=int, default=24)
    parser.add_argument("--kills", type=int, default=40)
    return parser.parse_args()


SLUICE = os.environ["SLUICE"]
ARGUMENTS = parse_arguments()
PROGRAMS = ARGUMENTS.folder
BY_HAND = PROGRAMS / "by_hand"
BACKEND = ARGUMENTS.backend
ON_BACKEND = ("--backend", BACKEND)
LIMIT = 1_000_000  # instructions of a launch
WITH_A_LIMIT = ("--machine", f"instructions={LIMIT}") if BACKEND == "cuda-emulated" else ()


def command(*options: str | Path) -> list[str]:
    return [SLUICE, "guest", "run", *map(str, options)]


def run(*options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*options), capture_output=True, text=True, timeout=HANG_S, check=False)


def problem_of(ended: subprocess.CompletedProcess[str], last_line: str) -> str:
    """"" if a program ended well and with this line."""
    lines = ended.stdout.splitlines()
    if ended.returncode == 0 and lines and lines[-1] == last_line:
        return ""
    return f"code {ended.returncode}: {ended.stdout.strip()} {ended.stderr.strip()}"


def by_hand(mode: str, *options: str) -> Callable[[Path], str]:
    return lambda folder: problem_of(run(*ON_BACKEND, *options, "--", BY_HAND, mode), "right")


def is_right(program: str) -> Callable[[Path], str]:
    return lambda folder: problem_of(run(*ON_BACKEND, "--", PROGRAMS / program), "right")


def names_what_is_missing(program: str, *names: str) -> Callable[[Path], str]:
    def named(folder: Path) -> str:
        said = run(*ON_BACKEND, "--", PROGRAMS / program).stderr
        return "" if all(said.count(name + "\n") == 1 for name in names) else said

    return named


def accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        return asked.connect_ex(str(path)) == 0


@contextmanager
def proxy(folder: Path, *options: str) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A proxy that serves several guests: its socket, and the command that watches it."""
    path = folder / "proxy"
    options = options or ("--memory", "1g")  # others use the device too
    with subprocess.Popen([SLUICE, "guest", "serve", "--socket", str(path), *ON_BACKEND, *options]) as served:
        try:
            eventually(lambda: accepts(path), why="the proxy's socket")
            yield path, served
        finally:
            served.kill()


def free_bytes(at: Path) -> tuple[int, int]:
    ended = run("--socket", at, "--", BY_HAND, "free")
    found = re.match(r"free (\d+) of (\d+)", ended.stdout)
    assert found, ended
    return int(found[1]), int(found[2])


def everything_is_back(at: Path) -> str:
    """The proxy learns of a guest's end behind it."""

    def is_back() -> bool:
        free, total = free_bytes(at)
        return free == total

    eventually(is_back, why=lambda: f"free bytes and all bytes: {free_bytes(at)}")
    return ""


@contextmanager
def holding(at: Path, mode: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A guest of which the proxy holds something, until it is killed."""
    guest = subprocess.Popen(
        [BY_HAND, mode], env=guest_environment(at) | variables, stdout=subprocess.PIPE, text=True
    )
    try:
        assert guest.stdout is not None
        assert guest.stdout.readline() == "held\n"
        yield guest
    finally:
        guest.kill()
        guest.communicate()


def guest_environment(at: Path) -> dict[str, str]:
    """That of a guest without the command between, so that a kill meets the guest itself."""
    library = Path(SLUICE).resolve().parents[1] / "lib/sluice/guest"
    return {**os.environ, "SLUICE_GUEST_SOCKET": str(at), "LD_LIBRARY_PATH": str(library)}


def serves_many_at_once(*program: str | Path, options: tuple[str, ...] = ()) -> Callable[[Path], str]:
    def served(folder: Path) -> str:
        with proxy(folder, *options) as (at, _):
            words = command("--socket", at, "--", *program)
            guests = [
                subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(ARGUMENTS.at_once)
            ]
            ended = [(guest.communicate(timeout=HANG_S), guest.returncode) for guest in guests]
            wrong = [end for end in ended if end[1] != 0]
            return str(wrong) if wrong else everything_is_back(at)

    return served


def takes_back_what_killed_guests_held(folder: Path) -> str:
    with proxy(folder) as (at, _):
        for number in range(ARGUMENTS.kills):
            with holding(at, "flood" if number % 4 == 3 else "hold"):
                pass
        neighbour = problem_of(run("--socket", at, "--", BY_HAND, "adds"), "right")
        return neighbour or everything_is_back(at)


def gives_everything_back(mode: str) -> Callable[[Path], str]:
    def given(folder: Path) -> str:
        with proxy(folder) as (at, _):
            return problem_of(run("--socket", at, "--", BY_HAND, mode), "right") or everything_is_back(at)

    return given


def serves_beside_a_flood_and_a_stopped_guest(folder: Path) -> str:
    with proxy(folder) as (at, _), holding(at, "flood"), holding(at, "flood") as stopped:
        stopped.send_signal(signal.SIGSTOP)
        return problem_of(run("--socket", at, "--", BY_HAND, "adds"), "right")


def starts_anew_behind(*modes: str) -> Callable[[Path], str]:
    def started(folder: Path) -> str:
        with proxy(folder, *WITH_A_LIMIT) as (at, _):
            for mode in modes:
                problem = problem_of(run("--socket", at, "--", BY_HAND, mode), "right")
                problem = problem or problem_of(run("--socket", at, "--", BY_HAND, "adds"), "right")
                if problem:
                    return f"{mode}: {problem}"
            return everything_is_back(at)

    return started


def tells_neighbours_of(mode: str, neighbours_mode: str) -> Callable[[Path], str]:
    def told(folder: Path) -> str:
        with proxy(folder, *WITH_A_LIMIT) as (at, _), holding(at, neighbours_mode) as neighbour:
            fault = problem_of(run("--socket", at, "--", BY_HAND, mode), "right")
            assert neighbour.stdout is not None
            said = neighbour.stdout.read()
            newcomer = problem_of(run("--socket", at, "--", BY_HAND, "adds"), "right")
            return fault or newcomer or ("" if said == "right\n" else said)

    return told


def names_the_limit_of_an_endless_kernel(folder: Path) -> str:
    ended = run(*ON_BACKEND, *WITH_A_LIMIT, "--", BY_HAND, "endless")
    problem = problem_of(ended, "right")
    wanted = ("kernel endless", f"the launch ran {LIMIT} instructions of warps without an end")
    return problem or ("" if all(ended.stderr.count(text) == 1 for text in wanted) else ended.stderr)


def spares_guests_of_other_proxies(folder: Path) -> str:
    other = folder / "other"
    other.mkdir()
    with proxy(folder, *WITH_A_LIMIT) as (at, _), proxy(other) as (beside, _):
        with holding(beside, "outlive") as neighbour:
            for mode in ("endless", "trap", "read", "fault"):
                problem = problem_of(run("--socket", at, "--", BY_HAND, mode), "right")
                problem = problem or problem_of(run("--socket", beside, "--", BY_HAND, "adds"), "right")
                if problem:
                    return f"{mode}: {problem}"
            if neighbour.poll() is not None:
                return "the guest of the other proxy has ended"
        return everything_is_back(beside) or everything_is_back(at)


def copies_under(policy: str) -> Callable[[Path], str]:
    """Copies of several pieces, there and back, of many guests at once."""
    return serves_many_at_once(BY_HAND, "copies", options=("--transfer-policy", policy))


def serves_a_guest_in_a_container(folder: Path) -> str:
    """A process whose namespaces are all its own, with the proxy's socket and the build's files."""
    container = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts"]
    if subprocess.run([*container, "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: a guest in a container, because this user may make no namespaces")
        return ""
    with proxy(folder) as (at, _):
        words = [*container, *command("--socket", at, "--", BY_HAND, "adds")]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=False)
        return problem_of(ended, "right") or everything_is_back(at)


def passes_memory_by_its_address(folder: Path) -> str:
    """The giver is killed while the taker holds the memory."""
    with proxy(folder) as (at, _):
        taker = subprocess.Popen(
            [BY_HAND, "take"], env=guest_environment(at), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with holding(at, "give") as giver:
            assert giver.stdout is not None and taker.stdin is not None and taker.stdout is not None
            taker.stdin.write(giver.stdout.readline())
            taker.stdin.flush()
            said = taker.stdout.readline()
        said += taker.communicate("the giver has ended\n", timeout=HANG_S)[0]
        return everything_is_back(at) if said == "added\nright\n" else said


def clears_memory_between_guests(folder: Path) -> str:
    with proxy(folder) as (at, _):
        runs = [run("--socket", at, "--", BY_HAND, "zeros") for _ in range(3)]
        return next(filter(None, (problem_of(ended, "right") for ended in runs)), "")


def keeps_quotas(folder: Path) -> str:
    with proxy(folder, "--memory", "24m") as (at, _), holding(at, "hold"):
        ended = run("--socket", at, "--", BY_HAND, "fill")
        return problem_of(ended, "right") or ("" if "24 MiB of 24" in ended.stdout else ended.stdout)


def tells_guests_of_the_proxys_death(folder: Path) -> str:
    with proxy(folder) as (at, served), holding(at, "outlive") as guest:
        served.kill()
        assert guest.stdout is not None
        said = guest.stdout.read()
        return "" if said == "right\n" else said


def refuses(reason: str, *options: str | Path) -> Callable[[Path], str]:
    def refused(folder: Path) -> str:
        ended = run(*(str(word).replace("FOLDER", str(folder)) for word in options))
        return "" if ended.returncode == 1 and reason in ended.stderr else f"{ended.returncode}: {ended.stderr}"

    return refused


def passes_the_exit_code_on(folder: Path) -> str:
    codes = [run(*ON_BACKEND, "--", "sh", "-c", text).returncode for text in ("exit 7", "kill -TERM $$")]
    return "" if codes == [7, 128 + signal.SIGTERM] else f"codes are {codes}"


def finds_no_device_without_a_proxy(folder: Path) -> str:
    environment = guest_environment(folder / "nothing")
    ended = subprocess.run([BY_HAND, "no-device"], env=environment, capture_output=True, text=True, check=False)
    return problem_of(ended, "right") or ("" if "nothing" in ended.stderr else ended.stderr)


def has_cores_of_its_own(folder: Path) -> str:
    """Until the program ends they are no other's."""
    with proxy(folder, "--machine", "multiprocessors=16") as (at, _):
        with holding(at, "hold", SLUICE_GUEST_CORES="10"):
            refused = run("--socket", at, "--cores", "8", "--", PROGRAMS / "cores.nvcc")
            if refused.returncode == 0 or "no 8 multiprocessors" not in refused.stderr:
                return f"not refused: {refused}"
            ended = run("--socket", at, "--cores", "4", "--", PROGRAMS / "cores.nvcc")
            if ended.stdout != "4 multiprocessors\nequal\n":
                return f"with 4: {ended}"
        problem = everything_is_back(at)
        ended = run("--socket", at, "--cores", "8", "--", PROGRAMS / "cores.nvcc")
        return problem or ("" if ended.stdout == "8 multiprocessors\nequal\n" else f"with 8: {ended}")


def lists_guests_with_their_use(folder: Path) -> str:
    with proxy(folder) as (at, _), holding(at, "hold") as guest:

        def listed() -> list[dict[str, int]]:
            """Without commands that have listed before, of whose ends the proxy learns behind them."""
            said = subprocess.run([SLUICE, "guest", "list", "--socket", at, "--json"], capture_output=True, check=True)
            return [one for one in json.loads(said.stdout) if one["process"] == guest.pid]

        [line] = listed()
        table = subprocess.run([SLUICE, "guest", "list", "--socket", at], capture_output=True, text=True, check=True)
        is_right = (line["memory_bytes"], line["num_launches"]) == (8 << 20, 2) and line["num_calls"] > 5
        return "" if is_right and f"{guest.pid} " in table.stdout else f"{line} {table.stdout}"


def equals_the_host(name: str, seed: int) -> Callable[[Path], str]:
    machine = ("--machine", f"capability=8.0,seed={seed}") if BACKEND == "cuda-emulated" else ()
    return lambda folder: problem_of(run(*ON_BACKEND, *machine, "--", PROGRAMS / name), "equal")


def main() -> int:
    cases = {
        "adds": by_hand("adds"),
        "copies of several pieces": by_hand("copies"),
        "errors": by_hand("errors"),
        "an error of an earlier call": by_hand("late"),
        "variables": by_hand("variables"),
        "variables beyond the quota": by_hand("variables", "--memory", "4m"),
        "a fault of a kernel": by_hand("fault"),
        "a fork": by_hand("fork"),
        "products of matrices": is_right("products"),
        "described products": is_right("described_products"),
        "names of what cuBLASLt lacks": names_what_is_missing(
            "described_products", "CUBLASLT_MATMUL_DESC_EPILOGUE 160", "CUBLASLT_MATRIX_LAYOUT_ORDER 2"
        ),
        "convolutions": is_right("convolutions"),
        "names of what cuDNN lacks": names_what_is_missing(
            "convolutions", "cudnnPoolingForward", "cudnnActivationMode_t 2", "cudnnTensorFormat_t 2"
        ),
        "many guests at once": serves_many_at_once(BY_HAND, "adds"),
        "products of many guests": serves_many_at_once(PROGRAMS / "described_products"),
        "killed guests": takes_back_what_killed_guests_held,
        "a guest that closes its files": gives_everything_back("close"),
        "a guest that becomes another program": gives_everything_back("exec"),
        "a flood and a stopped guest": serves_beside_a_flood_and_a_stopped_guest,
        "guests behind a fault": starts_anew_behind("fault", "fault", "trap", "read"),
        "neighbours of a fault": tells_neighbours_of("fault", "neighbour"),
        "launches beyond the device": by_hand("much"),
        "streams that wait for each other": by_hand("chain"),
        "a guest in a container": serves_a_guest_in_a_container,
        "memory of another guest": clears_memory_between_guests,
        "memory that a guest offers": passes_memory_by_its_address,
        "quotas": keeps_quotas,
        "the proxy's death": tells_guests_of_the_proxys_death,
        "a list of guests": lists_guests_with_their_use,
        "no proxy": finds_no_device_without_a_proxy,
        "exit codes": passes_the_exit_code_on,
        "a program that is missing": refuses("does not start", *ON_BACKEND, "--", "FOLDER/missing"),
        "a proxy that is missing": refuses("No such file", "--socket", "FOLDER/missing", "--", BY_HAND, "adds"),
    }
    for policy in ("weighted", "round-robin", "deadline", "strict"):
        cases[f"copies of many guests, {policy}"] = copies_under(policy)
    if BACKEND == "cuda-emulated":  # a GPU lets a kernel run for ever
        cases["an endless kernel"] = names_the_limit_of_an_endless_kernel
        cases["guests behind an endless kernel"] = starts_anew_behind("endless", "endless")
        cases["neighbours of an endless kernel"] = tells_neighbours_of("endless", "neighbour-of-endless")
        cases["guests of another proxy"] = spares_guests_of_other_proxies
    built = sorted(PROGRAMS.glob("*.nvcc"))
    if built and BACKEND == "cuda-emulated":  # its multiprocessors are as many as the case says
        cases["multiprocessors of a guest"] = has_cores_of_its_own
    for program in built:
        if program.name == "static.nvcc":
            cases["a static runtime"] = refuses("-cudart shared", *ON_BACKEND, "--", program)
            continue
        for seed in (1, 2) if BACKEND == "cuda-emulated" else (1,):
            cases[f"{program.stem}, seed {seed}"] = equals_the_host(program.name, seed)
    if not built:
        print("skipped: the programs of nvcc, which is not installed")
    return run_cases(cases)


if __name__ == "__main__":
    sys.exit(main())
