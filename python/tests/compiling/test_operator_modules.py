"""Packages that carry a module of operators, the one of examples/13_module.cc."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import sluice

from conftest import DIGITS

MODULE = pathlib.Path(os.environ["SLUICE_PROGRAM"]).parents[1] / "test_plugins" / "libsluice_operator_module.so"
CUSTOM = DIGITS.with_name("custom.onnx")
#: Without the allowances of the tests beside it.
OPEN_IN_ITS_OWN_PROCESS = """
import sys, numpy, sluice
package, *allowed = sys.argv[1:]
for sha256 in allowed:
    sluice.allow_operators(sha256)
image = numpy.full((1, 1, 8, 8), 0.5, numpy.float32)
by_model = sluice.load(package)(image)
with sluice.Runtime() as runtime:
    # Both parts of the package on one core: the machine may have one processor.
    loaded = runtime.create_group(1).load(package)
    loaded.start()
    by_runtime = loaded(image)
numpy.testing.assert_array_equal(by_model, by_runtime)
print(by_model.shape, by_model.sum().round(3))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("module") / "custom.sluice"
    sluice.compile(CUSTOM, path, operators=MODULE)
    return path


def opened(package: pathlib.Path, *allowed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", OPEN_IN_ITS_OWN_PROCESS, package, *allowed], capture_output=True, text=True)


def test_a_process_that_allows_the_module_runs_it(package: pathlib.Path) -> None:
    sha256 = hashlib.sha256(MODULE.read_bytes()).hexdigest()
    allowed = opened(package, sha256)
    assert allowed.stdout == "(1, 10) 1.0\n", allowed.stderr
    refused = opened(package)
    assert refused.returncode != 0 and "PermissionDenied" in refused.stderr
    assert f"allow its SHA-256 {sha256}" in refused.stderr


def test_another_digest_allows_nothing(package: pathlib.Path) -> None:
    assert "PermissionDenied" in opened(package, "0" * 64).stderr
    with pytest.raises(sluice.InvalidArgument, match="no SHA-256"):
        sluice.allow_operators("any")


def test_naming_the_module_to_the_compiler_allows_it(image: np.ndarray, digits: sluice.Model) -> None:
    """SoftmaxAt with temperature 0.5 of x is Softmax of 2x: the order of the classes stays."""
    custom = sluice.compile(CUSTOM, operators=MODULE)
    assert custom.metadata["operator_module"] == MODULE.name
    np.testing.assert_array_equal(np.argsort(custom(image)), np.argsort(digits(image)))
    with pytest.raises(sluice.NotFound, match="missing.so"):
        sluice.compile(CUSTOM, operators="missing.so")
