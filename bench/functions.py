#!/usr/bin/env python3
"""Functions of one daemon beside a process per function: start, memory, throughput.

    make build && ninja -C build/release bench_function_load bench_function_process dist
    .venv/bin/python bench/functions.py [starts] [memory] [throughput] [--quick] [--plot FILE.svg] [--json FILE]

Six kinds of small networks; function i is of kind i modulo 6. Each engine computes on one thread per function. Systems
that join run up to 16 requests of a function that wait as the rows of one run; their networks take any number of rows.
The last table compares functions with the best of the processes. All of it takes about half an hour on two idle cores;
--quick shows in one or two minutes that everything works.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "models")]

from harness import load_plot  # noqa: E402
from harness.daemon import Daemon  # noqa: E402

KINDS = ["digits", "mlp", "mlp_tiny", "boosted_1", "chain_10", "chain_110"]
PATTERNS = ["sporadic", "periodic", "bursty"]
SYSTEMS = {
    "functions": "functions:{address}",
    "functions, through gRPC": "grpc-functions:{address}",
    "models of one daemon, without lanes": "models:{address}",
    "onnxruntime in Python, a process each": "processes:onnxruntime",
    "Sluice in Python, a process each": "processes:sluice",
    "Sluice in C++, a process each": "processes:cpp",
    "onnxruntime in Python, one process": "one-process:onnxruntime",
    "Sluice in C++, one process": "one-process:cpp",
}
# Processes that end: after a second without requests, or to make room for another one.
ENDING = {
    "onnxruntime in Python, a process each, kept for 1 s": ("processes:onnxruntime", ["--keep", 1]),
    "Sluice in C++, a process each, kept for 1 s": ("processes:cpp", ["--keep", 1]),
}
# Requests that wait run as one: functions by batch_rows, processes by what their socket has.
JOINING = {
    "functions, joining": "functions:{address}",
    "onnxruntime in Python, a process each, joining": "processes:onnxruntime",
    "Sluice in Python, a process each, joining": "processes:sluice",
    "Sluice in C++, a process each, joining": "processes:cpp",
}
BATCH_ROWS = 16
#: What functions are compared with: a process for each of them.
PROCESSES = [name for name in SYSTEMS if name.endswith("a process each")]
EMPTY = "daemon without functions"
HELD = ["functions", *PROCESSES, "onnxruntime in Python, one process", "Sluice in C++, one process"]


def write_of_any_rows(onnx_file: Path, to: Path) -> None:
    """The network with a symbol for the first dimension of its inputs and outputs."""
    import onnx

    model = onnx.load(onnx_file)
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.shape.dim:
            value.type.tensor_type.shape.dim[0].dim_param = "N"
    del model.graph.value_info[:]
    onnx.save(model, to)


def build_models(build: Path, folder: Path) -> dict[str, tuple[Path, Path]]:
    """ONNX file and package of each kind, with one row and, as KIND.rows, with any number of rows."""
    import make

    folder.mkdir(exist_ok=True)
    files = {}
    for kind in KINDS:
        onnx = folder / f"{kind}.onnx"
        if kind == "digits":
            onnx = ROOT / "examples" / "digits" / "digits.onnx"
        elif not onnx.exists():
            make.write(kind, folder)
        files[kind] = onnx
        files[f"{kind}.rows"] = folder / f"{kind}.rows.onnx"
        if not files[f"{kind}.rows"].exists():
            write_of_any_rows(onnx, files[f"{kind}.rows"])
    models = {}
    for name, onnx in files.items():
        package = folder / f"{name}.sluice"
        if not package.exists():
            subprocess.run([build / "bin" / "sluice", "compile", onnx, "-o", package],
                           check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        models[name] = (onnx, package)
    return models


class Bench:
    def __init__(self, build: Path, compiler: Path | None = None) -> None:
        """`compiler`: the build that compiles the networks; this one by default."""
        self.build = build
        self.packages = (compiler or build) / "bench-functions"
        self.models = build_models(compiler or build, self.packages)
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-functions-"))
        self.environment = {"PYTHONPATH": str(build / "python")} | os.environ

    def functions(self, count: int, suffix: str = "") -> Path:
        lines = []
        for i in range(count):
            onnx, package = self.models[KINDS[i % len(KINDS)] + suffix]
            lines.append(f"{KINDS[i % len(KINDS)]}-{i} {onnx} {package}\n")
        path = self.folder / f"functions-{count}{suffix}"
        path.write_text("".join(lines))
        return path

    def daemon(self) -> Daemon:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        return Daemon(self.build, folder, "-x", "--function-lanes", 2, "--stream-requests", 65536, "--session-requests", 65536,
                      "--session-models", 1000, "--model-folders", self.packages,
                      "--model-folders", ROOT / "examples/digits")

    def command(self, count: int, target: str, *flags: object) -> list[str]:
        suffix = ".rows" if "--batch-rows" in flags else ""
        words = [self.build / "bench" / "function_load", self.functions(count, suffix), target, *flags]
        if "process" in target:
            words += ["--python", sys.executable, "--server", ROOT / "bench/harness/function_process.py",
                      "--program", self.build / "bench" / "function_process"]  # fmt: skip
        return [str(word) for word in words]

    def load(self, count: int, target: str, *flags: object) -> list[dict]:
        done = subprocess.run(self.command(count, target, *flags), env=self.environment,
                              capture_output=True, text=True)  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{target}: {done.stderr[-2000:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def pss_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"process {process} has no Pss")


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


def measure_starts(bench: Bench, count: int) -> list[dict]:
    """Start of a function and of a process, in turns; each kind."""
    rows = []
    with bench.daemon() as daemon:
        flags = ("--starts", count)
        for row in bench.load(len(KINDS), f"functions:{daemon.address}", *flags):
            rows.append(row | {"system": "function, " + ("cold" if row["cold"] else "warm")})
    for name in PROCESSES:
        for row in bench.load(len(KINDS), SYSTEMS[name], "--starts", num_process_starts(name, count)):
            rows.append(row | {"system": name.removesuffix(", a process each") + ", process"})
    return rows


def num_process_starts(name: str, count: int) -> int:
    return count if "C++" in name else max(5, count // 30)


def print_starts(rows: list[dict], count: int) -> None:
    systems = list(dict.fromkeys(row["system"] for row in rows))
    print(f"\nFirst answer, p50 / p99 in ms; {count} starts, {max(5, count // 30)} of processes in Python:\n")
    print("| | " + " | ".join(systems) + " | best process / cold function, p50 |")
    print("|---|" + "--:|" * (len(systems) + 1))
    for name in dict.fromkeys(row["function"] for row in rows):
        cells = {row["system"]: row for row in rows if row["function"] == name}
        texts = [f"{cells[one]['p50_ms']:.2f} / {cells[one]['p99_ms']:.2f}" for one in systems]
        best = min(row["p50_ms"] for system, row in cells.items() if system.endswith(", process"))
        ratio = best / cells["function, cold"]["p50_ms"]
        print(f"| {name.rsplit('-', 1)[0]} | " + " | ".join(texts) + f" | {ratio:.1f} |")


def held(bench: Bench, count: int, target: str) -> subprocess.Popen:
    """A load that has ended and keeps its functions."""
    process = subprocess.Popen(
        bench.command(count, target, "--hold", 1, "--seconds", 2, "--rate", 200),
        env=bench.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    if not process.stdout.readline():
        raise SystemExit(f"{target}: the load failed")
    return process


def measure_memory(bench: Bench, count: int) -> dict[str, float]:
    """PSS in MB of what holds the functions, after each has answered."""
    results = {}
    with bench.daemon() as daemon:
        results[EMPTY] = pss_bytes(daemon.process.pid) / 1e6
    for name in HELD:
        target = SYSTEMS[name]
        with bench.daemon() as daemon:
            load = held(bench, count, target.format(address=daemon.address))
            is_daemon = "{address}" in target
            processes = [daemon.process.pid] if is_daemon else children(load.pid)
            results[name] = sum(pss_bytes(process) for process in processes) / 1e6
            load.communicate()
    return results


def print_memory(results: dict[str, float], count: int) -> None:
    print(f"\nPSS of {count} functions of {len(KINDS)} kinds, each after requests:\n")
    print("| | MB | beside functions |\n|---|--:|--:|")
    for name, megabytes in results.items():
        print(f"| {name} | {megabytes:.0f} | {megabytes / results['functions']:.1f} |")


def measure_curve(bench: Bench, name: str, pattern: str, options) -> list[dict]:
    """Points of a search for the highest rate that meets the deadline."""
    flags = ["--pattern", pattern, "--rate", options.first_rate, "--search", 1,
             "--seconds", options.seconds, "--deadline-ms", options.deadline_ms]  # fmt: skip
    if name in JOINING:
        flags += ["--batch-rows", BATCH_ROWS]
    targets = SYSTEMS | JOINING
    with bench.daemon() as daemon:
        target, more = ENDING[name] if name in ENDING else (targets[name], [])
        return bench.load(options.functions, target.format(address=daemon.address), *more, *flags)[1:]


def is_good(point: dict, options) -> bool:
    is_all = point["answered"] == point["offered"]
    return is_all and point["p99_ms"] <= options.deadline_ms


def measure_throughput(bench: Bench, options) -> dict:
    """Curves by pattern and system."""
    curves: dict = {}
    for pattern in options.patterns.split(","):
        curves[pattern] = {}
        for name in options.systems:
            curves[pattern][name] = measure_curve(bench, name, pattern, options)
            for point in curves[pattern][name]:
                print(f"  {pattern} {name}: {point}", file=sys.stderr, flush=True)
    return curves


def best_rate(points: list[dict], options) -> dict | None:
    good = [point for point in points if is_good(point, options)]
    return max(good, key=lambda point: point["rate"], default=None)


def print_throughput(curves: dict, options) -> None:
    print(f"\nHighest rate with every request answered and p99 at most {options.deadline_ms:.0f} ms; "
          f"{options.functions} functions, {options.seconds:.0f} s each, open loop:\n")  # fmt: skip
    print("Systems that join are compared with the functions that join.\n")
    print("| trace | system | requests/s | p50 ms | p99 ms | fairness | functions / this |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for pattern, systems in curves.items():
        plain = best_rate(systems["functions"], options)
        joining = best_rate(systems["functions, joining"], options)
        for name, points in systems.items():
            ours = joining if name in JOINING else plain
            best = best_rate(points, options)
            if best is None:
                print(f"| {pattern} | {name} | under {points[0]['rate']:.0f} | | | | |")
                continue
            ratio = f"{ours['rate'] / best['rate']:.2f}" if ours else ""
            print(f"| {pattern} | {name} | {best['rate']:.0f} | {best['p50_ms']:.2f} "
                  f"| {best['p99_ms']:.2f} | {best['fairness']:.3f} | {ratio} |")  # fmt: skip


def of_best_process(systems: dict, is_joining: bool, options) -> tuple[float, str] | None:
    """Functions' rate by that of the best processes, and which these are."""
    suffix = ", joining" if is_joining else ""
    rates = {name: best_rate(systems[name + suffix], options) for name in ["functions", *PROCESSES]}
    best = max(PROCESSES, key=lambda name: rates[name]["rate"] if rates[name] else 0)
    if rates["functions"] is None or rates[best] is None:
        return None
    return rates["functions"]["rate"] / rates[best]["rate"], best


def best_rates(curves: dict, options) -> load_plot.Rates:
    """The best rates of functions and of a process each, one by one and joined; 0 where no request was in time."""
    def rate(points: list[dict]) -> float:
        best = best_rate(points, options)
        return best["rate"] if best else 0.0

    return {pattern: {name.removesuffix(", a process each"): (rate(systems[name]), rate(systems[f"{name}, joining"]))
                      for name in ["functions", *PROCESSES]} for pattern, systems in curves.items()}


def print_goals(results: dict, options) -> None:
    """The goals of functions, each against the best process, and what no function can get beyond."""
    print("\n| functions beside the best process each | goal | reached | limit |\n|---|--:|--:|---|")
    if "starts" in results:
        ratios, limits = [], []
        for name in dict.fromkeys(row["function"] for row in results["starts"]):
            cells = {row["system"]: row["p50_ms"] for row in results["starts"] if row["function"] == name}
            best = min(ms for system, ms in cells.items() if system.endswith(", process"))
            ratios.append(best / cells["function, cold"])
            limits.append(best / cells["function, warm"])
        print(f"| start, p50, least of the networks | 10 | {min(ratios):.1f} "
              f"| {min(limits):.1f}: connection and first call of a warm function |")  # fmt: skip
    if "memory" in results:
        memory = results["memory"]
        best = min(memory[name] for name in PROCESSES)
        print(f"| memory of {options.functions} | 8 | {best / memory['functions']:.1f} "
              f"| {best / memory[EMPTY]:.1f}: the daemon without functions |")  # fmt: skip
    for pattern, systems in results.get("throughput", {}).items():
        for is_joining, goal in ((False, 1.5), (True, 2.2)):
            reached = of_best_process(systems, is_joining, options)
            how = "joining on both sides" if is_joining else "without joining"
            text = f"{reached[0]:.2f} | beside {reached[1]}" if reached else "none met the deadline | "
            print(f"| requests/s, {pattern}, {how} | {goal} | {text} |")
        good = [best_rate(points, options) for name, points in systems.items() if name.startswith("functions")]
        print(f"| fairness, {pattern} | 0.95 | {min((one['fairness'] for one in good if one), default=0):.3f} | 1 |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["starts", "memory", "throughput"])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--functions", type=int, default=50)
    parser.add_argument("--starts", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--deadline-ms", type=float, default=50)
    parser.add_argument("--first-rate", type=float, default=2000)
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--quick", action="store_true",
                        help="few functions, systems and seconds: shows that it works, not how fast")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.systems = [*SYSTEMS, *JOINING, *ENDING]
    if options.quick:
        options.functions, options.starts, options.seconds = len(KINDS), 10, 0.5
        options.patterns = "bursty"
        options.systems = ["functions", *PROCESSES, *JOINING]
    bench = Bench(options.build)
    results: dict = {}
    if "starts" in options.what:
        results["starts"] = measure_starts(bench, options.starts)
        print_starts(results["starts"], options.starts)
    if "memory" in options.what:
        results["memory"] = measure_memory(bench, options.functions)
        print_memory(results["memory"], options.functions)
    if "throughput" in options.what:
        results["throughput"] = measure_throughput(bench, options)
        print_throughput(results["throughput"], options)
    print_goals(results, options)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.plot and "throughput" in results:
        load_plot.draw(best_rates(results["throughput"], options), options.plot)


if __name__ == "__main__":
    main()
