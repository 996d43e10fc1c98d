"""Compiles a model and runs it: python hello.py examples/digits/digits.onnx"""

import sys

import numpy as np
import sluice

model = sluice.compile(sys.argv[1])
print(model)
image = np.zeros((1, 1, 8, 8), np.float32)
probabilities = model(image)
print(f"class {probabilities.argmax()} with probability {probabilities.max():.2f}")
