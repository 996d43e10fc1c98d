"""Compiles a model and runs it: python 03_python.py digits/digits.onnx"""

import pathlib
import sys

import numpy as np
import sluice

image = np.loadtxt(pathlib.Path(__file__).with_name("seven.csv"), np.float32, delimiter=",", usecols=range(8))
model = sluice.compile(sys.argv[1])
print(model)
probabilities = model(image.reshape(1, 1, 8, 8))
print(f"it is a {probabilities.argmax()} ({probabilities.max():.1%})")
