#!/usr/bin/env python3
"""Compiled kernels in packages: loads without a compiler, files for people, edited sources, and what is refused.

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402

from harness.agreement import TOLERANCE, relative_error  # noqa: E402
from harness.sluice_cli import Arrays, SluiceError, compile_model, run_command, run_model  # noqa: E402
from models_agree import write_transformer  # noqa: E402

EMULATED = "cuda-emulated"


@contextmanager
def no_compiler() -> Iterator[None]:
    """No NVRTC for commands that run meanwhile."""
    os.environ["SLUICE_CUDA_NVRTC"] = "libnvrtc-that-is-not-there.so"
    try:
        yield
    finally:
        del os.environ["SLUICE_CUDA_NVRTC"]


def refusal(*arguments: str | Path) -> str:
    """The error of a command; "" if it succeeds."""
    try:
        run_command(*arguments)
    except SluiceError as error:
        return str(error)
    return ""


def transformer(folder: Path) -> tuple[Path, Arrays, Arrays]:
    """A model, inputs, and what `reference` gives for them."""
    model = folder / "transformer.onnx"
    feeds = write_transformer(model)
    return model, feeds, run_model(compile_model(model, folder / "whole.sluice", "reference"), feeds, ["y"])


def loads_without_a_compiler(folder: Path) -> str:
    model, feeds, expected = transformer(folder)
    package = compile_model(model, folder / "device.sluice", EMULATED)
    listed = json.loads(run_command("inspect", package, "--json"))["sections"]
    if "code" not in {section["name"] for section in listed}:
        return f"sections are {listed}"
    with no_compiler():
        error = relative_error(run_model(package, feeds, ["y"])["y"], expected["y"])
    return "" if error <= TOLERANCE else f"relative error {error}"


def missing_compiler_is_named_with_the_remedy(folder: Path) -> str:
    model, _, _ = transformer(folder)
    with no_compiler():
        error = refusal("compile", model, "-o", folder / "x.sluice", "--backend", EMULATED)
    wanted = ("no compiler for CUDA", "libnvrtc-that-is-not-there.so", "SLUICE_CUDA_NVRTC")
    return "" if all(text in error for text in wanted) else f"got: {error}"


def compiles_for_gpus_without_one(folder: Path) -> str:
    """`--backend cuda`: the package is for GPUs; the files are whole."""
    model, _, _ = transformer(folder)
    kernels = folder / "kernels"
    package = folder / "gpu.sluice"
    run_command("compile", model, "-o", package, "--backend", "cuda", "--arch", "sm_75,sm_90", "--emit",
                f"cuda={kernels}")
    inspected = json.loads(run_command("inspect", package, "--json"))
    backends = {entry["backend"] for entry in inspected["operations"]}
    if backends - {"-"} != {"cuda"}:
        return f"backends are {backends}"
    if not {"compute_75", "sm_75", "sm_90"} <= set(inspected["targets"]):
        return f"targets are {inspected['targets']}"
    schedule = json.loads((kernels / "schedule.json").read_text())
    names = {kernel["name"] for kernel in schedule["kernels"]}
    stored = {tensor["name"] for tensor in schedule["storage"]}
    if len(stored) != len(schedule["storage"]) or "" in stored:
        return f"tensors share names: {sorted(tensor['name'] for tensor in schedule['storage'])}"
    for kernel in schedule["kernels"]:
        if kernel["function"] not in (kernels / kernel["source"]).read_text():
            return f"{kernel['source']} lacks {kernel['function']}"
        if ".target sm_75" not in (kernels / kernel["images"]["compute_75"]).read_text():
            return f"{kernel['name']} has no PTX"
        for target in ("sm_75", "sm_90"):
            if not (kernels / kernel["images"][target]).read_bytes().startswith(b"\x7fELF"):
                return f"{kernel['name']} has no code for {target}"
    for call in schedule["calls"]:
        if call["kernel"] not in names or not set(call["arguments"]) <= stored:
            return f"{call} names what is not listed"
    products = [call["kernel"] for call in schedule["calls"] if call["operator"] == "MatMul"]
    if len(set(products)) >= len(products):
        return "equal products have kernels of their own"
    roles = {tensor["role"] for tensor in schedule["storage"]}
    return "" if roles == {"input", "output", "constant", "intermediate"} else f"roles are {roles}"


def edited_sources_are_compiled(folder: Path) -> str:
    model, feeds, expected = transformer(folder)
    kernels = folder / "kernels"
    compile_model(model, folder / "first.sluice", EMULATED, ["--emit", f"{EMULATED}={kernels}"])
    schedule = json.loads((kernels / "schedule.json").read_text())
    last = next(call for call in schedule["calls"] if call["arguments"][-1] == "y")
    source = kernels / f"{last['kernel']}.cu"
    text = source.read_text()
    at = text.rindex("] = ") + len("] = ")
    source.write_text(f"{text[:at]}2.0f * {text[at:]}")
    package = compile_model(model, folder / "edited.sluice", EMULATED, ["--code", str(kernels)])
    with no_compiler():
        error = relative_error(run_model(package, feeds, ["y"])["y"], 2 * expected["y"])
    if error > TOLERANCE:
        return f"relative error {error}"
    source.write_text("nonsense;")
    problem = refusal("compile", model, "-o", folder / "x.sluice", "--backend", EMULATED, "--code", kernels)
    return "" if source.name in problem and "does not compile" in problem else f"got: {problem}"


def wrong_options_are_refused(folder: Path) -> str:
    model, _, _ = transformer(folder)
    cases = {
        ("--backend", EMULATED, "--arch", "sm_1"): "no architecture sm_1",
        ("--backend", EMULATED, "--arch", "--maxrregcount=1"): "is no architecture",
        ("--backend", "cpu", "--arch", "sm_80"): "--arch and --code are for backends",
        ("--backend", EMULATED, "--code", "/nowhere"): "there is no folder \"/nowhere\"",
        ("--backend", "cpu", "--emit", f"cuda={folder}"): "no compiled kernel",
        ("--backend", "cpu", "--emit", "cuda"): "BACKEND=FOLDER",
    }
    for options, wanted in cases.items():
        error = refusal("compile", model, "-o", folder / "x.sluice", *options)
        if wanted not in error:
            return f"{options}: got: {error}"
    return ""


def damaged_kernel_is_named(folder: Path) -> str:
    model, feeds, _ = transformer(folder)
    package = compile_model(model, folder / "device.sluice", EMULATED)
    data = bytearray(package.read_bytes())
    at = data.index(b".entry sluice_kernel")
    data[at] = ord("!")
    package.write_bytes(data)
    try:
        run_model(package, feeds, ["y"])
    except SluiceError as error:
        return "" if "its compiled kernel is damaged" in str(error) else f"got: {error}"
    return "it ran"


@contextmanager
def cache(folder: Path | str, kernels: Path | str | None = None) -> Iterator[None]:
    """What was compiled before lies in `folder` for commands that run meanwhile, and kernels in `kernels` if it is given."""
    before = {name: os.environ.pop(name, None) for name in ("SLUICE_CACHE_DIR", "SLUICE_CUDA_CACHE_DIR")}
    os.environ["SLUICE_CACHE_DIR"] = str(folder)
    if kernels is not None:
        os.environ["SLUICE_CUDA_CACHE_DIR"] = str(kernels)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def later_processes_find_compiled_kernels(folder: Path) -> str:
    """They read each of them and compile none; a damaged one they compile again."""
    model, _, _ = transformer(folder)
    kept = folder / "kept"
    with cache(kept):
        first = compile_model(model, folder / "first.sluice", EMULATED).read_bytes()
        entries = {path: path.read_bytes() for path in kept.glob("*.kernel")}
        if not entries:
            return "none are kept"
        for path in entries:
            os.utime(path, (1, 1))  # a use moves the time
        if compile_model(model, folder / "second.sluice", EMULATED).read_bytes() != first:
            return "another package"
        unread = [path.name for path in entries if path.stat().st_mtime == 1]
        damaged = {0: b"", 1: b"no kernel", 2: None}
        for at, path in enumerate(entries):
            path.write_bytes(damaged.get(at) or entries[path][:-1] + b"!")
        if compile_model(model, folder / "third.sluice", EMULATED).read_bytes() != first:
            return "another package of damaged kernels"
    if unread or {path: path.read_bytes() for path in kept.glob("*.kernel")} != entries:
        return f"unread: {unread}; now there are {sorted(path.name for path in kept.iterdir())}"
    return ""


def kept_kernels_are_bounded_and_optional(folder: Path) -> str:
    model, feeds, expected = transformer(folder)
    kept = folder / "kept"
    kept.mkdir()
    (kept / "old.sluice").write_bytes(bytes(1 << 20))
    os.utime(kept / "old.sluice", (1, 1))
    os.environ["SLUICE_CACHE_MIB"] = "1"
    try:
        with cache(kept):
            compile_model(model, folder / "first.sluice", EMULATED)
    finally:
        del os.environ["SLUICE_CACHE_MIB"]
    if (kept / "old.sluice").exists() or not list(kept.glob("*.kernel")):
        return f"a limit of 1 MiB leaves {sorted(path.name for path in kept.iterdir())}"
    with cache(Path("/proc/none")):
        package = compile_model(model, folder / "second.sluice", EMULATED)
    error = relative_error(run_model(package, feeds, ["y"])["y"], expected["y"])
    return "" if error <= TOLERANCE else f"relative error {error} without a folder"


def kernels_may_lie_in_a_folder_of_their_own(folder: Path) -> str:
    model, _, _ = transformer(folder)
    places = folder / "packages", folder / "kernels"
    with cache(*places):
        compile_model(model, folder / "first.sluice", EMULATED)
    kernels = [len(list(place.glob("*.kernel"))) for place in places]
    if kernels[0] or not kernels[1]:
        return f"{kernels} kernels are beside packages, and in their own folder"
    with cache("", folder / "more"):
        compile_model(model, folder / "second.sluice", EMULATED)
    with cache(folder / "none", ""):
        compile_model(model, folder / "third.sluice", EMULATED)
    kernels = [len(list((folder / name).glob("*.kernel"))) for name in ("more", "none")]
    return "" if kernels[0] and not kernels[1] else f"where one is switched off: {kernels}"


CASES = (loads_without_a_compiler, missing_compiler_is_named_with_the_remedy,
         compiles_for_gpus_without_one, edited_sources_are_compiled, wrong_options_are_refused, damaged_kernel_is_named,
         later_processes_find_compiled_kernels, kept_kernels_are_bounded_and_optional,
         kernels_may_lie_in_a_folder_of_their_own)


if __name__ == "__main__":
    sys.exit(cuda_compiler.run(*CASES))
