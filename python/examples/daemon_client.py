"""Runs a model in a daemon: python daemon_client.py examples/digits/digits.onnx unix:/run/sluice.sock"""

import sys

import numpy as np
import sluice

try:
    with sluice.Client(sys.argv[2], timeout=10) as client:
        model = client.load(sluice.compile(sys.argv[1]), name="digits")
        image = client.empty((1, 1, 8, 8))  # in memory that the daemon maps, too
        print(model(image).argmax(), model.info.phase, client.devices)
except sluice.Unavailable as error:
    sys.exit(f"no daemon: {error}")
