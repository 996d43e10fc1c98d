#!/usr/bin/env python3
"""CUDA programs as guests of one proxy, beside the same programs as processes with a context each.

    bench/guest/beside_processes.py [--build build/release] [--out FOLDER] [--emulated] [PART...]

Parts:
    programs    those of tests/e2e/guest/programs give the host's results on both sides
    calls       time of a call by kind
    start       from asking for a program to its first kernel's result, and to its end
    memory      of the device and of the host, for 20 programs or --programs
    copies      a small copy beside a large one, under each policy of transfers
    fault       a kernel's fault ends the context of all guests; guests behind it find a new one
All parts run if none is named. Prints tables in Markdown; FOLDER gets them as guests.md, and guests.json. Ends with 1 if a
part failed. With --emulated the proxies are on the emulator, and a "process" is a guest with a proxy of its own: a test
of this script, with smaller sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 30
MIB = 1 << 20
POLICIES = ("weighted", "round-robin", "deadline", "strict")


class PartError(Exception):
    """Its text says what went wrong."""


class Side:
    """How a program is started: its words and its environment."""

    def __init__(self, name: str, prefix: list[str], environment: dict[str, str]) -> None:
        self.name = name
        self.prefix = prefix
        self.environment = environment

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen([*self.prefix, *map(str, words)], env=self.environment, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *words: str | Path) -> str:
        with self.start(*words) as started:
            return finish(started)

    @contextmanager
    def ready(self, count: int, *words: str | Path) -> Iterator[list[subprocess.Popen[str]]]:
        """Programs that have said that they are ready; they end with the block."""
        started = [self.start(*words) for _ in range(count)]
        try:
            for each in started:
                if (line := first_line(each)) != "ready\n":
                    assert each.stdout is not None
                    raise PartError(f"{self.name} {' '.join(map(str, words))}: {line}{each.stdout.read()}")
            yield started
        finally:
            for each in started:
                each.kill()
            for each in started:
                each.communicate()


def first_line(started: subprocess.Popen[str]) -> str:
    """Nothing from a program that hangs, which is killed."""
    assert started.stdout is not None
    watch = threading.Timer(HANG_S, started.kill)
    watch.start()
    try:
        return started.stdout.readline()
    finally:
        watch.cancel()


def finish(started: subprocess.Popen[str], last_input: str = "") -> str:
    """What a program still prints, once its input has ended."""
    try:
        said, _ = started.communicate(last_input, timeout=HANG_S)
    except subprocess.TimeoutExpired:
        started.kill()
        said, _ = started.communicate()
        raise PartError(f"hangs: {said}") from None
    if started.returncode != 0:
        raise PartError(f"ended with {started.returncode}: {said.strip()}")
    return said


class Machine:
    """A build, and the proxy whose guests are measured."""

    def __init__(self, build: Path, folder: Path, is_emulated: bool, num_held: int | None) -> None:
        self.is_emulated = is_emulated
        self.num_held = num_held or (4 if is_emulated else 20)
        self.sluice = str(build / "bin/sluice")
        self.programs = sorted(path for path in (build / "test/guest").glob("*.nvcc") if path.stem != "static")
        self.measured = build / "bench/measured.nvcc"
        self.socket = folder / "proxy"
        backend = ["--backend", "cuda-emulated" if is_emulated else "cuda"]
        self.serve = [self.sluice, "guest", "serve", "--socket", str(self.socket), "--memory", "4g", *backend]
        own = dict(os.environ)
        alone = [self.sluice, "guest", "run", *backend, "--"] if is_emulated else []
        self.process = Side("process", alone, own)
        library = build / "lib/sluice/guest"
        paths = f"{library}:{own.get('LD_LIBRARY_PATH', '')}"
        self.guest = Side("guest", [], {**own, "SLUICE_GUEST_SOCKET": str(self.socket), "LD_LIBRARY_PATH": paths})
        self.guest_by_command = Side("sluice guest run", [self.sluice, "guest", "run", "--socket", str(self.socket), "--"],
                                     own)

    def sides(self) -> tuple[Side, Side]:
        return self.process, self.guest

    @contextmanager
    def proxy(self, *options: str) -> Iterator[int]:
        """The process that serves, once it takes guests."""
        with subprocess.Popen([*self.serve, *options]) as served:
            try:
                deadline = time.monotonic() + HANG_S
                while served.poll() is None and time.monotonic() < deadline:
                    if "result 42" in self.guest_by_command_says():
                        break
                    time.sleep(0.02)
                else:
                    raise PartError(f"no proxy: {' '.join(self.serve)}: {self.guest_by_command_says()}")
                yield served.pid
            finally:
                served.terminate()
                deadline = time.monotonic() + HANG_S
                while self.is_served() and time.monotonic() < deadline:
                    time.sleep(0.02)  # the command ends before the proxy that it started

    def is_served(self) -> bool:
        with socket.socket(socket.AF_UNIX) as asked:
            return asked.connect_ex(str(self.socket)) == 0

    def guest_by_command_says(self) -> str:
        with self.guest_by_command.start(self.measured, "start") as started:
            return started.communicate(timeout=HANG_S)[0]


Report = dict[str, Any]


def programs(machine: Machine) -> tuple[Report, list[str]]:
    report: Report = {}
    for program in machine.programs:
        said = {}
        for side in machine.sides():
            try:
                said[side.name] = side.run(program).strip()
            except PartError as error:
                said[side.name] = str(error)
        report[program.stem] = said
    if not report:
        raise PartError("no programs: build them where nvcc is")
    lines = ["| program | process | guest |", "|---|---|---|"]
    lines += [f"| {name} | {said['process']} | {said['guest']} |" for name, said in report.items()]
    wrong = [name for name, said in report.items() if set(said.values()) != {"equal"}]
    return {**report, "wrong": ", ".join(wrong)}, lines


def calls(machine: Machine) -> tuple[Report, list[str]]:
    rounds, mib = ("5", "4") if machine.is_emulated else ("40", "64")
    report: Report = {}
    for side in machine.sides():
        for line in side.run(machine.measured, "calls", rounds, mib).splitlines():
            kind, median, decile = line.split("\t")
            report.setdefault(kind, {})[side.name] = {"p50_us": float(median), "p90_us": float(decile)}
    lines = ["| call | process, us | guest, us |", "|---|---|---|"]
    for kind, figures in report.items():
        cells = [f"{figures[side.name]['p50_us']:.2f} (p90 {figures[side.name]['p90_us']:.2f})" for side in machine.sides()]
        lines.append(f"| {kind} | {cells[0]} | {cells[1]} |")
    return report, lines


def time_of_start(side: Side, measured: Path) -> tuple[float, float]:
    """Milliseconds to the first result, and to the program's end."""
    begin = time.perf_counter()
    with side.start(measured, "start") as started:
        line = first_line(started)
        result = time.perf_counter()
        said = line + finish(started)
    end = time.perf_counter()
    if said != "result 42\n":
        raise PartError(f"{side.name}: {said}")
    return (result - begin) * 1e3, (end - begin) * 1e3


def start(machine: Machine) -> tuple[Report, list[str]]:
    """Processes start faster while another one keeps the device open, so both are measured."""
    count = 3 if machine.is_emulated else 10
    report: Report = {}
    lines = ["| start | first result, ms | end, ms |", "|---|---|---|"]
    sides = [*machine.sides(), machine.guest_by_command]
    times: dict[str, list[tuple[float, float]]] = {"process, the device idle": []}
    times |= {side.name: [] for side in sides}
    for _ in range(3):
        times["process, the device idle"].append(time_of_start(machine.process, machine.measured))
    begin = time.perf_counter()
    with machine.proxy():
        times["proxy and its first guest"] = [((time.perf_counter() - begin) * 1e3,) * 2]
        for _ in range(count):
            for side in sides:
                times[side.name].append(time_of_start(side, machine.measured))
    for name, pairs in times.items():
        results, ends = ([pair[i] for pair in pairs] for i in range(2))
        report[name] = {"first_result_ms": statistics.median(results), "end_ms": statistics.median(ends),
                        "most_ms": max(results)}
        lines.append(f"| {name} | {statistics.median(results):.1f} (most {max(results):.1f}) | {statistics.median(ends):.1f} |")
    return report, lines


def device_mib() -> int | None:
    """Memory of device 0 that is in use; none where no nvidia-smi says it."""
    try:
        said = subprocess.run(["nvidia-smi", "-i", "0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, timeout=HANG_S, check=True).stdout
        return int(said.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def with_children(processes: list[int]) -> set[int]:
    """The processes and all below them."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = set(processes)
    while more := {process for process, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def pss_mib(processes: list[int], command: str) -> float | None:
    """Without the commands that started them. None where the kernel has no figures for a process."""
    total = 0
    for process in with_children(processes):
        folder = Path(f"/proc/{process}")
        if os.path.samefile(folder / "exe", command):
            continue
        file = next((folder / name for name in ("smaps_rollup", "smaps") if (folder / name).exists()), None)
        if file is None:
            return None
        total += sum(int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith("Pss:"))
    return total / 1024


def memory_of(machine: Machine, side: Side, count: int, proxy: int | None) -> Report:
    with side.ready(count, machine.measured, "hold", "1") as waiting:
        processes = [each.pid for each in waiting] + ([proxy] if proxy is not None else [])
        return {"programs": count, "device_mib": device_mib(), "host_pss_mib": pss_mib(processes, machine.sluice)}


def memory(machine: Machine) -> tuple[Report, list[str]]:
    """Starts and ends its own proxy, so that the device is otherwise empty."""
    report: Report = {"nothing": {"programs": 0, "device_mib": device_mib(), "host_pss_mib": None}}
    report["processes, 1"] = memory_of(machine, machine.process, 1, None)
    report[f"processes, {machine.num_held}"] = memory_of(machine, machine.process, machine.num_held, None)
    with machine.proxy() as proxy:
        report["guests, 0"] = memory_of(machine, machine.guest, 0, proxy)
        report["guests, 1"] = memory_of(machine, machine.guest, 1, proxy)
        report[f"guests, {machine.num_held}"] = memory_of(machine, machine.guest, machine.num_held, proxy)
    lines = ["| what runs, each with 1 MiB of the device | device, MiB | host PSS, MiB |", "|---|---|---|"]
    for name, figures in report.items():
        pss = figures["host_pss_mib"]
        lines.append(f"| {name} | {figures['device_mib']} | {'' if pss is None else f'{pss:.1f}'} |")
    return report, lines


def copies_of(side: Side, machine: Machine, direction: str, urgent: str | None) -> Report:
    """`urgent`: the large or the small copy, whose stream goes first; empty for neither. None: no large one."""
    count = "400"
    large = 64 * MIB if machine.is_emulated else 256 * MIB
    priority = {name: "-1" if name == urgent else "0" for name in ("large", "small")}
    report: Report = {}
    with ExitStack() as held:
        flood = None
        if urgent is not None:
            words = ("flood", direction, str(large), priority["large"])
            [flood] = held.enter_context(side.ready(1, machine.measured, *words))
        words = ("copies", direction, "4096", count, priority["small"])
        [small] = held.enter_context(side.ready(1, machine.measured, *words))
        if flood is not None:
            assert flood.stdin is not None
            flood.stdin.write("x")
            flood.stdin.flush()
            time.sleep(0.1)  # until its copies are under way
        figures = finish(small, "x").split()
        report.update(zip(("p50_us", "p99_us", "most_us"), map(float, figures), strict=True))
        if flood is not None:
            report["large_gb_per_s"] = float(finish(flood)) / 1e3
    return report


def copies(machine: Machine) -> tuple[Report, list[str]]:
    """Each row of guests has a proxy of its own, whose transfers go by the policy that the row names."""
    report: Report = {}
    size = "64" if machine.is_emulated else "256"
    lines = [f"| copies of 4 KiB beside one of {size} MiB | p50, us | p99, us | most, us | the large copy, GB/s |",
             "|---|--:|--:|--:|--:|"]
    rows = [("process", "alone", None, None), ("process", "beside", None, ""), ("guest", "alone", POLICIES[0], None)]
    rows += [("guest", "beside", policy, "") for policy in POLICIES]
    rows += [("guest", f"beside, the {urgent} one urgent", "strict", urgent) for urgent in ("large", "small")]
    for direction in ("in", "out"):
        for side_name, place, policy, urgent in rows:
            with ExitStack() as held:
                side = machine.process
                if policy is not None:
                    side = machine.guest
                    held.enter_context(machine.proxy("--transfer-policy", policy))
                figures = copies_of(side, machine, direction, urgent)
            name = ", ".join(filter(None, (direction, side_name, place, policy)))
            report[name] = figures
            large = f"{figures['large_gb_per_s']:.2f}" if "large_gb_per_s" in figures else ""
            lines.append(f"| {name} | {figures['p50_us']:.1f} | {figures['p99_us']:.1f} | {figures['most_us']:.1f} | {large} |")
    return report, lines


def behind_a_fault(machine: Machine, kind: str) -> tuple[str, str]:
    """The error of a guest that faults, and the answer of the next guest, in a new context of the proxy."""
    try:
        told = machine.guest.run(machine.measured, "fault", kind)
    except PartError as error:
        told = str(error)
    deadline = time.monotonic() + HANG_S / 3
    while (behind := machine.guest_by_command_says().strip()) != "result 42" and time.monotonic() < deadline:
        time.sleep(0.1)
    return told, behind


def fault(machine: Machine) -> tuple[Report, list[str]]:
    report: Report = {}
    lines = ["| fault | the guest | the next guest | device, MiB |", "|---|---|---|---|"]
    for kind in ("address", "trap") if machine.is_emulated else ("address", "trap", "assert"):
        told, behind = behind_a_fault(machine, kind)
        report[kind] = {"told": told, "behind": behind, "device_mib": device_mib()}
        lines.append(f"| {kind} | {told} | {behind} | {device_mib()} |")
    wrong = [kind for kind, said in report.items() if "cudaError" not in said["told"] or said["behind"] != "result 42"]
    return {**report, "wrong": ", ".join(wrong)}, lines


PARTS: dict[str, tuple[Callable[[Machine], tuple[Report, list[str]]], bool]] = {
    # whether a proxy runs beside it
    "memory": (memory, False),
    "programs": (programs, True),
    "calls": (calls, True),
    "start": (start, False),
    "copies": (copies, False),
    "fault": (fault, True),
}


def run_part(name: str, machine: Machine) -> tuple[Report, str]:
    """The part's figures and its text."""
    part, wants_proxy = PARTS[name]
    begin = time.monotonic()
    report: Report = {"passed": False}
    lines: list[str] = []
    try:
        with ExitStack() as held:
            if wants_proxy:
                held.enter_context(machine.proxy())
            report["figures"], lines = part(machine)
        report["passed"] = not (why := report["figures"].pop("wrong", ""))
    except (PartError, OSError, ValueError, subprocess.SubprocessError) as error:
        why = str(error)
    report["seconds"] = round(time.monotonic() - begin, 1)
    said = f"FAILED: {report.setdefault('why', why)}" if why else "passed"
    return report, f"\n## {name}: {said}, {report['seconds']} s\n\n" + "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--programs", type=int, help="how many hold memory at once; 20, or 4 with --emulated")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    report: Report = {"date": time.strftime("%Y-%m-%d"), "emulated": arguments.emulated}
    text = f"# Guests of one proxy beside processes, {report['date']}{', emulated' if arguments.emulated else ''}\n"
    with tempfile.TemporaryDirectory(prefix="guests-") as folder:
        machine = Machine(arguments.build.resolve(), Path(folder), arguments.emulated, arguments.programs)
        for name in arguments.parts or PARTS:
            report[name], said = run_part(name, machine)
            print(said, flush=True)
            text += said + "\n"
            if arguments.out:
                arguments.out.mkdir(parents=True, exist_ok=True)
                (arguments.out / "guests.json").write_text(json.dumps(report, indent=1) + "\n")
                (arguments.out / "guests.md").write_text(text)
    failed = [name for name in arguments.parts or PARTS if not report[name]["passed"]]
    print(f"\n{len(failed)} parts failed{': ' if failed else ''}{', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
