#!/usr/bin/env python3
"""`sluice run model.onnx` compiles once: the next call reads the cache, unless something changed or is damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import ROOT, first_wrong_refusal, run_cases  # noqa: E402

from harness.sluice_cli import SluiceError, binary  # noqa: E402

DIGITS = ROOT / "examples/digits/digits.onnx"


def call(cache: Path | str, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([binary(), *arguments], capture_output=True, text=True,
                          env={**os.environ, "SLUICE_CACHE_DIR": str(cache), **variables})
    if done.returncode != 0:
        raise SluiceError(done.stderr)
    return done


def compiles(cache: Path | str, *arguments: str | Path, **variables: str) -> bool:
    """Whether `sluice run` with these arguments compiled, and reported that."""
    return call(cache, "run", *arguments, "--input", "random", **variables).stderr.count("compiled ") == 1


def packages(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.sluice"))


def twice(folder: Path) -> str:
    cache = folder / "cache"
    first = call(cache, "run", DIGITS, "--input", "random")
    second = call(cache, "run", DIGITS, "--input", "random")
    if not first.stderr.startswith("compiled ") or second.stderr:
        return f"{first.stderr} | {second.stderr}"
    if first.stdout != second.stdout or len(packages(cache)) != 1:
        return f"{first.stdout} | {second.stdout} | {packages(cache)}"
    for command in ("inspect", "explain", "bench"):
        if printed := call(cache, command, DIGITS, *(["--seconds", "0.1"] if command == "bench" else [])).stderr:
            return f"{command}: {printed}"
    return ""


def changes(folder: Path) -> str:
    """A call compiles if an option, a processor or the file differs from those of earlier calls."""
    cache, model = folder / "cache", folder / "model.onnx"
    model.write_bytes(DIGITS.read_bytes())
    calls: list[tuple[str, list[str], dict[str, str]]] = [
        ("as it is", [], {}),
        ("a shape", ["--shape", "image=2,1,8,8"], {}),
        ("a backend", ["--backend", "reference"], {}),
        ("no passes", ["--no-optimize"], {}),
        ("a place", ["--place", "softmax=reference"], {}),
        ("an instruction set", [], {"SLUICE_CPU_ISA": "portable"}),
    ]
    for what, options, variables in calls:
        if not compiles(cache, model, *options, **variables):
            return f"{what}: not compiled"
    for what, options, variables in calls:
        if compiles(cache, model, *options, **variables):
            return f"{what}: compiled twice"
    graph = onnx.load(model)
    graph.producer_name = "another"
    onnx.save(graph, model)
    return "" if compiles(cache, model) else "other contents: not compiled"


def external_data_changes(folder: Path) -> str:
    weights = np.ones((4, 4), np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "external",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])], [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights.of.mine", size_threshold=0)

    def result() -> str:
        return call(folder / "cache", "run", folder / "model.onnx", "--input", "x=random").stdout

    before = result()
    (folder / "weights.of.mine").write_bytes((2 * weights).tobytes())
    os.utime(folder / "weights.of.mine", (1, 1))
    return "" if result() != before else "other weights beside the model, the same result"


def damaged(folder: Path) -> str:
    cache = folder / "cache"
    compiles(cache, DIGITS)
    [package] = packages(cache)
    whole = package.read_bytes()
    used = [at for at, byte in enumerate(whole) if byte != 0]  # padding has no checksum
    for what, contents in (("empty", b""), ("cut", whole[:-100]), ("no package", b"x" * len(whole)),
                           *((f"byte {at}", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
                             for at in used[::len(used) // 12])):
        package.write_bytes(contents)
        if not compiles(cache, DIGITS):
            return f"{what}: not compiled"
        if compiles(cache, DIGITS):
            return f"{what}: compiled again and again"
    return ""


def is_bounded(folder: Path) -> str:
    """The least recently used goes; a call makes its package the most recently used."""
    cache = folder / "cache"
    calls = [["--shape", f"image={batch},1,8,8"] for batch in (1, 2, 3)]
    for options in calls[:2]:
        compiles(cache, DIGITS, *options)
    for package in packages(cache):  # a MiB each, and old
        with package.open("ab") as file:
            file.truncate(1 << 20)
        os.utime(package, (1, 1))
    for index, package in enumerate(packages(cache)):
        (cache / f"other{index}.sluice").write_bytes(b"x" * (1 << 19))
    compiles(cache, DIGITS, *calls[2], SLUICE_CACHE_MIB="2")
    names = {package.name for package in packages(cache)}
    if len(names) != 3 or not {"other0.sluice", "other1.sluice"} <= names:
        return f"left: {names}"
    if compiles(cache, DIGITS, *calls[2], SLUICE_CACHE_MIB="2"):
        return "the newest was removed"
    # The newest stays under any limit: somebody was just told its place.
    if not compiles(cache, DIGITS, *calls[2], "--no-optimize", SLUICE_CACHE_MIB="0") or len(packages(cache)) != 1:
        return f"a limit of 0: {packages(cache)}"
    return "" if compiles(cache, DIGITS, SLUICE_CACHE_MIB="many") else "not compiled under a limit that is no number"


def is_optional(folder: Path) -> str:
    (folder / "file").write_text("no folder")
    for where in ("", "/proc/none", folder / "file"):
        for _ in range(2):
            if printed := call(where, "run", DIGITS, "--input", "random").stderr:
                return f"{where}: {printed}"
    home = folder / "home"
    variables = {name: value for name, value in os.environ.items() if name != "SLUICE_CACHE_DIR"}
    for name, place in (("HOME", home / ".cache/sluice"), ("XDG_CACHE_HOME", home / "sluice")):
        subprocess.run([binary(), "run", DIGITS, "--input", "random"], check=True, capture_output=True,
                       env={**variables, "XDG_CACHE_HOME": "", name: str(home)})
        if len(packages(place)) != 1:
            return f"{name}: nothing in {place}"
    return ""


def conformance_keeps_nothing(folder: Path) -> str:
    """It compiles each of its many models, which no other call reads."""
    case = folder / "cases/digits"
    case.mkdir(parents=True)
    (case / "model.onnx").write_bytes(DIGITS.read_bytes())
    (case / "test_data_set_0").mkdir()
    printed = subprocess.run([binary(), "conformance", folder / "cases"], capture_output=True, text=True,
                             env={**os.environ, "SLUICE_CACHE_DIR": str(folder / "cache")})
    kept = list((folder / "cache").glob("*"))
    return f"{printed.stdout} {kept}" if kept or "digits" not in printed.stdout + printed.stderr else ""


def calls_meet(folder: Path) -> str:
    """Processes that compile the same model at once all answer, and leave one package."""
    running = [subprocess.Popen([binary(), "inspect", DIGITS, "--json"], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.DEVNULL,
                                env={**os.environ, "SLUICE_CACHE_DIR": str(folder / "cache")}) for _ in range(6)]
    answers = [json.loads(process.communicate()[0])["inputs"] for process in running]
    is_right = all(answer == answers[0] for answer in answers) and len(list((folder / "cache").iterdir())) == 1
    return "" if is_right else f"{answers}, {list((folder / 'cache').iterdir())}"


def refuses(folder: Path) -> str:
    text = folder / "text.onnx"
    text.write_text("no model")
    return first_wrong_refusal("run", (
        ((DIGITS, "--weights", "int8"), "--weights is an option of `sluice compile`; compile with it, then run"),
        ((DIGITS, "--strassen=1"), "`sluice compile`"),
        ((DIGITS, "--inptu", "random"), "did you mean --input?"),
        ((text, "--input", "random"), "text.onnx"),
    )) or ("" if not (folder / "cache").exists() else "a refused model left something")


CASES: dict[str, Callable[[Path], str]] = {
    "a second call does not compile": twice,
    "options, contents and processors have packages of their own": changes,
    "external data belongs to the model": external_data_changes,
    "damaged packages are compiled again": damaged,
    "the least recently used goes": is_bounded,
    "no cache, or elsewhere": is_optional,
    "several at once": calls_meet,
    "conformance keeps nothing": conformance_keeps_nothing,
    "options of compile": refuses,
}


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
