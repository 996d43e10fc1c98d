"""Draws where the time of a model goes: python draw_profile.py examples/digits/digits.onnx digits.svg"""

import sys

import numpy as np
import sluice

profile = sluice.compile(sys.argv[1]).profile(np.zeros((8, 1, 8, 8), np.float32), runs=100)
profile.plot(sys.argv[2])
print(profile)
