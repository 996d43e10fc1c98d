"""Models whose files are links, as the caches of model hubs have them."""

from __future__ import annotations

import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
import sluice
from onnx import numpy_helper, parser

W = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
X = np.ones((2, 64), np.float32)


@pytest.fixture
def cache(tmp_path: pathlib.Path) -> pathlib.Path:
    """A model and its data in blobs/, and links to them in snapshots/abc/onnx/."""
    model = parser.parse_model('<ir_version: 9, opset_import: ["": 20]> '
                               "g (float[N,64] x) => (float[N,32] y) { y = MatMul(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(W, "w"))
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="model.onnx_data", size_threshold=0)
    (tmp_path / "blobs").mkdir()
    folder = tmp_path / "snapshots/abc/onnx"
    folder.mkdir(parents=True)
    for name, blob in (("model.onnx", "0a1b"), ("model.onnx_data", "2c3d")):
        (tmp_path / name).rename(tmp_path / "blobs" / blob)
        os.symlink(f"../../../blobs/{blob}", folder / name)
    return folder


def test_a_cached_model_is_compiled_by_every_door(cache: pathlib.Path, tmp_path: pathlib.Path) -> None:
    expected = X @ W
    np.testing.assert_allclose(sluice.compile(cache / "model.onnx")(X), expected, rtol=1e-3)
    import sluice.onnxruntime as ort
    session = ort.InferenceSession(str(cache / "model.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": X})[0], expected, rtol=1e-3)
    package = tmp_path / "model.sluice"
    subprocess.run([os.environ["SLUICE_PROGRAM"], "compile", str(cache / "model.onnx"), "-o", str(package)], check=True,
                   capture_output=True)
    np.testing.assert_allclose(sluice.load(package)(X), expected, rtol=1e-3)


def test_a_relative_path_and_links_to_folders_lead_there(cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cache)
    np.testing.assert_allclose(sluice.compile("model.onnx")(X), X @ W, rtol=1e-3)
    os.symlink("abc", cache.parents[1] / "main")
    np.testing.assert_allclose(sluice.compile(cache.parents[1] / "main/onnx/model.onnx")(X), X @ W, rtol=1e-3)


def test_a_link_to_elsewhere_is_refused(cache: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil/secret").write_bytes(W.tobytes())
    data = cache / "model.onnx_data"
    data.unlink()
    os.symlink("../../../evil/secret", data)
    with pytest.raises(sluice.InvalidArgument, match="link out of its folder"):
        sluice.compile(cache / "model.onnx")
