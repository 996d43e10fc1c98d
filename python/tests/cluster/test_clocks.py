"""Hosts whose clocks are apart."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
import sluice
from conftest import DIGITS, PATIENCE
from sluice.cluster.cut import cut
from sluice.cluster.stages import Pipeline
from test_stages import EDGE, TOKEN, nodes


def test_hosts_whose_clocks_are_days_apart_keep_deadlines(tmp_path: pathlib.Path, slow: sluice.Model, image: Any) -> None:
    """The second host's clock for times between events is ahead of ours. Its clock of the day counts for logs alone."""
    ahead = ["unshare", "--time", "--monotonic", str(10**6), "--boottime", str(10**6)]
    if shutil.which("unshare") is None or subprocess.run([*ahead, "true"], capture_output=True).returncode != 0:
        pytest.skip("the system gives no time namespaces")
    with nodes(tmp_path, 2, {1: ahead}) as made, Pipeline(
            [node.stage(part) for node, part in zip(made, cut(DIGITS, [EDGE]), strict=True)]) as pipeline:
        for _ in range(3):
            assert pipeline.run({"image": image}, timeout=PATIENCE)
        for node in made:
            with sluice.Client(node.address, **TOKEN) as client, client.load(slow) as model:
                asked = {"n": np.array(10**8, np.int64), "x": np.zeros(64, np.float32)}  # for hours
                with pytest.raises(sluice.DeadlineExceeded):
                    model.run(asked, timeout=1)
