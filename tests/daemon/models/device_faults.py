#!/usr/bin/env python3
"""What a daemon does behind a fault of a GPU, from which only a new process leads out: the plug-in `cuda` over a driver
whose machine is emulated, which fails as a GPU does.

    tests/daemon/models/device_faults.py BUILD_FOLDER

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import BUILD, DIGITS, Daemon, Sluice, at, eventually, holds, prove, same  # noqa: E402

DRIVER = BUILD / "lib/libsluice_cuda_emulated_libcuda.so"
# For a GPU that the machine lacks, so that loads take the kernels' PTX, which the emulator runs.
FOR_GPU = ("--shape", "N=1", "--backend", "cuda", "--arch", "sm_120")


def packages(folder: Path, fault: str = "x0[0] > 1e4f || x0[0] < -1e4f") -> tuple[Path, Path]:
    """The digits, and the same with a kernel that writes elsewhere where `fault` holds: when it meets large numbers."""
    folder.mkdir(exist_ok=True)
    sound, faulty, kernels = folder / "digits.sluice", folder / "faulty.sluice", folder / "kernels"
    Sluice().text("compile", str(DIGITS), "-o", str(sound), *FOR_GPU, "--emit", f"cuda={kernels}")
    source = next(kernels.glob("Softmax*.cu"))
    begin = "sluice_kernel(const float* x0, float* y) {"
    text = source.read_text()
    assert begin in text, text
    source.write_text(text.replace(begin, f"{begin}\n  if ({fault}) y += 1 << 24;"))
    Sluice().text("compile", str(DIGITS), "-o", str(faulty), *FOR_GPU, "--code", str(kernels))
    (folder / "large.json").write_text(json.dumps({"type": "f32", "shape": [1, 1, 8, 8], "data": [1e8] * 64}))
    return sound, faulty


def machine(folder: Path) -> dict[str, str]:
    """The variables of a process with two emulated GPUs, at addresses that no other run of the test has: one daemon of a
    machine serves an address."""
    drivers = folder / "drivers"
    drivers.mkdir()
    (drivers / "libcuda.so.1").symlink_to(DRIVER)
    return {"LD_LIBRARY_PATH": str(drivers), "SLUICE_CUDA_EMULATED": f"devices=2,capability=9.0,domain={1 + os.getpid() % 0xffff}"}


def workers(sluice: Sluice) -> dict[str, dict]:
    """What is known of the worker of each model, by the model's name. Models may come meanwhile, their groups before them."""
    models = sluice.json("models")
    groups = {group["group"]: {name: group[name] for name in ("worker_process", "num_worker_restarts")}
              for group in sluice.json("groups")}
    return {model["name"]: groups[model["group"]] for model in models}


def a_worker_ends_with_its_gpu_and_is_replaced(folder: Path) -> None:
    sound, faulty = packages(folder)
    with Daemon(folder / "d", "--model-folders", str(folder), is_simulated=False, environment=machine(folder)) as daemon:
        sluice = at(daemon)
        for package in (sound, faulty):
            sluice.text("load", str(package), "--by-path", "--isolation", "process")
        before = workers(sluice)
        expected = sluice.text("infer", "faulty", "--input", "image=zeros")
        for death in range(1, 3):
            refusal = sluice.refusal("infer", "faulty", "--input", f"image={folder / 'large.json'}")
            for part in ('model "faulty"', "waiting for device", "CUDA_ERROR_ILLEGAL_ADDRESS", "ended itself",
                         "it is being restarted, try again"):
                holds(refusal, part)
            same(sluice.text("infer", "digits", "--input", "image=zeros"), expected)
            eventually(lambda: sluice.run("infer", "faulty", "--input", "image=zeros").stdout == expected)
            after = workers(sluice)
            same(after["faulty"]["num_worker_restarts"], death)
        same(after["digits"], before["digits"])
        assert after["faulty"]["worker_process"] != before["faulty"]["worker_process"], after


def code_of_an_upload_is_not_run(folder: Path) -> None:
    """The package has PTX that the emulated GPU runs. What the daemon compiles instead, that GPU refuses."""
    sound, _ = packages(folder)
    with Daemon(folder / "d", is_simulated=False, environment=machine(folder)) as daemon:
        for isolation in ("stream", "process"):
            holds(at(daemon).refusal("load", str(sound), "--isolation", isolation), "the code is for another architecture")


def a_fault_while_a_model_is_warmed_up_costs_its_worker_alone(folder: Path) -> None:
    """Models of the repository have a first request before the daemon serves them."""
    models = folder / "models"
    models.mkdir()
    for package in packages(folder / "made", "x0[0] == x0[0]"):
        package.rename(models / package.name)
    with Daemon(folder / "d", "--repository", str(models), "--isolation", "process", is_simulated=False,
                environment=machine(folder)) as daemon:
        sluice = at(daemon)
        eventually(lambda: workers(sluice).get("faulty", {}).get("num_worker_restarts", 0) > 0, why=daemon.said)
        eventually(lambda: "digits" in workers(sluice), why=daemon.said)
        holds(sluice.text("infer", "digits", "--input", "image=zeros"), "probabilities")
        same(workers(sluice)["digits"]["num_worker_restarts"], 0)
        holds(daemon.said(), "CUDA_ERROR_ILLEGAL_ADDRESS")


def gpus(sluice: Sluice) -> list[int]:
    return [number for number, one in enumerate(sluice.json("capacity")["devices"]) if one["kind"] == "gpu"]


def said_by(sluice: Sluice, *commands: tuple[str, ...]) -> str:
    return "".join(sluice.run(*command).stderr for command in commands)


def a_fault_in_the_daemon_leaves_the_other_gpu_and_says_what_helps(folder: Path) -> None:
    """The packages keep their kernels: the daemon reads them from its own folder, because uploads lose theirs."""
    sound, faulty = packages(folder)
    zeros, large = ("--input", "image=zeros"), ("--input", f"image={folder / 'large.json'}")
    with Daemon(folder / "d", "--model-folders", str(folder), is_simulated=False, environment=machine(folder)) as daemon:
        sluice = at(daemon)
        first, second = (str(sluice.json("groups", "--create", "2", "--device", str(gpu))["group"]) for gpu in gpus(sluice))
        for package, group in ((faulty, first), (sound, second)):
            sluice.text("load", str(package), "--by-path", "--group", group)
            sluice.text("start", package.stem)
        expected = sluice.text("infer", "digits", *zeros)
        anew = "this process reaches the device no more, start it anew"
        holds(sluice.refusal("infer", "faulty", *large), anew)
        holds(sluice.refusal("infer", "faulty", *zeros), "out of service since its device failed")
        holds(said_by(sluice, ("reset", "faulty"), ("start", "faulty"), ("infer", "faulty", *zeros)), anew)
        holds(said_by(sluice, ("load", str(sound), "--by-path", "--group", first, "--name", "late"), ("start", "late"),
                      ("infer", "late", *zeros)), anew)
        same(sluice.text("infer", "digits", *zeros), expected)


def a_process_learns_that_it_must_start_anew(folder: Path) -> None:
    _, faulty = packages(folder)
    sluice = Sluice(environment=machine(folder))
    refusal = sluice.refusal("run", str(faulty), "--input", f"image={folder / 'large.json'}")
    holds(refusal, "waiting for device 0")
    holds(refusal, "(CUDA_ERROR_ILLEGAL_ADDRESS); this process reaches the device no more, start it anew")


def a_device_without_a_reset_says_what_helps(folder: Path) -> None:
    with Daemon(folder / "d", is_simulated=False, environment=machine(folder)) as daemon:
        holds(at(daemon).refusal("reset", "--device", "1"), "start the process that uses them anew")


def lacks_a_compiler() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        made = Sluice().run("compile", str(DIGITS), "-o", f"{folder}/x.sluice", *FOR_GPU)
    return "no compiler for CUDA" in made.stderr


if __name__ == "__main__":
    if lacks_a_compiler():
        print("skipped: no compiler for CUDA")
        sys.exit(77)
    sys.exit(prove([a_worker_ends_with_its_gpu_and_is_replaced, a_fault_while_a_model_is_warmed_up_costs_its_worker_alone,
                    code_of_an_upload_is_not_run,
                    a_fault_in_the_daemon_leaves_the_other_gpu_and_says_what_helps,
                    a_process_learns_that_it_must_start_anew, a_device_without_a_reset_says_what_helps]))
