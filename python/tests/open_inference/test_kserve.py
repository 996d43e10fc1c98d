"""KServe's clients against a `sluiced`, where a Python with `kserve` is named: it brings 80 packages."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
from conftest import PATIENCE

from peers import serving

CLIENT = pathlib.Path(__file__).with_name("kserve_client.py")


def test_kserves_clients_are_answered(tmp_path: pathlib.Path) -> None:
    python = os.environ.get("SLUICE_KSERVE_PYTHON")
    if not python:
        pytest.skip("SLUICE_KSERVE_PYTHON names no Python with kserve==0.21.0, which is no small dependency")
    with serving(tmp_path) as server:
        done = subprocess.run([python, CLIENT, server.grpc, server.http], capture_output=True, text=True,
                              check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
