"""Programs in C++, C and the shell run traced files, without Python."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import sluice.torch
import torch
import torchvision
from torch import nn

from conftest import assert_close

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
BUILD = pathlib.Path(os.environ.get("SLUICE_PROGRAM", "build/release/bin/sluice")).resolve().parents[1]


def built(source: str, folder: pathlib.Path) -> pathlib.Path:
    """A program of `programs/`, compiled against the public headers and libsluice."""
    compiler, standard = ("c++", "-std=c++20") if source.endswith(".cc") else ("cc", "-std=c11")
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} to compile {source}")
    library = next(BUILD.rglob("libsluice.so"))
    program = folder / "program"
    subprocess.run([compiler, standard, "-O1", "-Wall", "-Werror", PROGRAMS / source, f"-I{ROOT / 'include'}",
                    library, f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
    return program


def run(program: pathlib.Path, file: pathlib.Path, calls: list[torch.Tensor], errors: str = "") -> torch.Tensor:
    """What the program prints; `errors` must be in what it tells of itself. Its environment names no Python, and the process has none."""
    values = b"".join(call.numpy().tobytes() for call in calls)
    environment = {"SLUICE_BACKEND_PATH": os.environ.get("SLUICE_BACKEND_PATH", ""), "PATH": "/nonexistent"}
    arguments = [program, file, str(len(calls))]
    done = subprocess.run(arguments, input=values, capture_output=True, check=False, env=environment)
    assert done.returncode == 0 and errors in done.stderr.decode(), done.stderr.decode()
    return torch.tensor([float(line) for line in done.stdout.split()])


@pytest.fixture(scope="module")
def network() -> nn.Module:
    torch.manual_seed(3)
    return torchvision.models.resnet18(num_classes=10).eval()


@pytest.fixture(scope="module")
def file(network: nn.Module, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("traced") / "resnet18.sluice"
    sluice.torch.trace(network, torch.rand(1, 3, 32, 32)).save(path)
    return path


@pytest.mark.parametrize("source", ["run_file.cc", "run_file.c"])
def test_a_program_gives_the_numbers_of_torch(source: str, network: nn.Module, file: pathlib.Path,
                                              tmp_path: pathlib.Path) -> None:
    x = torch.rand(1, 3, 32, 32)
    with torch.no_grad():
        want = network(x).flatten()
    assert_close(run(built(source, tmp_path), file, [x]), want)
    assert_close(sluice.torch.load(file)(x).flatten(), want)


def test_the_command_gives_the_numbers_of_torch(network: nn.Module, file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    x = torch.rand(1, 3, 32, 32)
    np.save(tmp_path / "x.npy", x.numpy())
    subprocess.run([BUILD / "bin" / "sluice", "run", file, "--input", f"x={tmp_path / 'x.npy'}",
                    "--output-dir", tmp_path], check=True, capture_output=True, env={"PATH": "/nonexistent"})
    with torch.no_grad():
        assert_close(torch.from_numpy(np.load(tmp_path / "output.npy")), network(x))


class Running(nn.Module):
    """The sums of the inputs so far."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x
        return self.total * 2


def test_a_program_in_cpp_changes_state_in_place_from_call_to_call(tmp_path: pathlib.Path) -> None:
    model = Running().eval()
    sluice.torch.trace(model, torch.rand(2, 3)).save(tmp_path / "running.sluice")
    calls = [torch.rand(2, 3) for _ in range(3)]
    want = torch.cat([model(x).flatten().clone() for x in calls])
    got = run(built("run_file.cc", tmp_path), tmp_path / "running.sluice", calls, errors="copied 0 bytes")
    assert_close(got, want)
