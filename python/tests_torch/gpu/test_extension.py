"""The operators that `sluice compile --emit torch-extension` writes, as far as torch knows them without a GPU.

tests/e2e/cuda/torch_extension.py runs their launches; test_cuda.py runs all of it on a GPU.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import sys
from types import ModuleType

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gpu_models  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    work = tmp_path_factory.mktemp("extensions")
    try:
        gpu_models.make(work, ["embedder"])
    except RuntimeError as error:
        if "no compiler for CUDA" in str(error):
            pytest.skip(str(error))
        raise
    return work / "embedder"


@pytest.fixture(scope="module")
def extension(folder: pathlib.Path) -> ModuleType:
    sys.path.insert(0, str(folder.parent))
    try:
        return importlib.import_module(folder.name)
    finally:
        sys.path.remove(str(folder.parent))


def inputs(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(2, 3, dtype=torch.int64, device=device), torch.ones(16, device=device)


def test_network_is_an_operator_with_the_names_of_its_inputs(extension: ModuleType) -> None:
    assert extension.run is torch.ops.sluice_extension.embedder
    assert str(extension.run.default._schema) == (
        "sluice_extension::embedder(Tensor ids, Tensor scale) -> (Tensor, Tensor)")


def test_each_kernel_is_an_operator(extension: ModuleType, folder: pathlib.Path) -> None:
    assert set(extension.kernels) == {path.stem for path in folder.glob("*.cu")}
    gather = next(kernel for name, kernel in extension.kernels.items() if name.startswith("Gather"))
    table, ids = torch.empty(10, 8, device="meta"), inputs("meta")[0]
    assert gather(table, ids).shape == (2, 3, 8)


def test_shapes_are_known_without_a_run(extension: ModuleType) -> None:
    with FakeTensorMode():
        y, z = extension.run(*inputs("cuda"))
    for tensor in (y, z):
        assert (tuple(tensor.shape), tensor.dtype, tensor.device.type) == ((2, 3, 16), torch.float32, "cuda")


def test_exported_program_has_the_operator(extension: ModuleType) -> None:
    class Wrapped(nn.Module):
        def forward(self, ids: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            return extension.run(ids, scale)[1] + 1

    program = torch.export.export(Wrapped(), inputs("meta"))
    assert torch.ops.sluice_extension.embedder.default in {node.target for node in program.graph.nodes}


@pytest.mark.parametrize(("change", "message"), [
    (lambda ids, scale: (ids[:1], scale), 'input "ids": got Long[1, 3], the operator takes Long[2, 3]'),
    (lambda ids, scale: (ids, scale.half()), 'input "scale": got Half[16], the operator takes Float[16]'),
    (lambda ids, scale: (ids, scale[0]), 'input "scale": got Float[], the operator takes Float[16]'),
])
def test_wrong_inputs_are_named(extension: ModuleType, change: object, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        extension.run(*change(*inputs("meta")))  # type: ignore[operator]
    assert f"sluice_extension::embedder: {message}" in str(caught.value)


def test_tensors_on_the_processor_are_refused(extension: ModuleType) -> None:
    with pytest.raises(RuntimeError, match='input "ids" is on cpu; the operator takes tensors on cuda'):
        extension.run(*inputs("cpu"))


def test_gradients_are_refused(extension: ModuleType) -> None:
    ids, scale = inputs("meta")
    scale.requires_grad_()
    with pytest.raises(RuntimeError, match='has no gradient, but input "scale" requires one; call it inside'):
        extension.run(ids, scale)
    with torch.no_grad():
        assert extension.run(ids, scale)[0].shape == (2, 3, 16)
    assert extension.run(ids, scale.detach())[0].shape == (2, 3, 16)


def test_second_import_compiles_nothing(extension: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "CXX", "no-such-compiler")
    assert extension.build().exists()


def test_compiler_errors_are_shown(extension: ModuleType, folder: pathlib.Path, tmp_path: pathlib.Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    for path in folder.iterdir():
        if path.suffix in (".cc", ".h"):
            (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "network.cc").write_text("#error edited by hand\n")
    monkeypatch.setattr(extension, "_FOLDER", tmp_path)
    with pytest.raises(RuntimeError, match="the operators do not compile(.|\n)*edited by hand"):
        extension.build()
