"""Two models take turns on one core: python turns.py examples/digits/digits.onnx"""

import sys

import numpy as np
import sluice

package = sluice.compile(sys.argv[1])
image = np.zeros((1, 1, 8, 8), np.float32)
with sluice.Runtime() as runtime, runtime.create_group(1) as group:
    models = [group.load(package, name=name) for name in ("day", "night")]
    for model in models:
        model.start()
        print(model.name, model(image).argmax())
        model.stop()
    print(runtime.groups()[0].num_switches, "switch of models")
    for model in models:
        model.unload()
