# %% [markdown]
# # A tour of Sluice in Python
#
# Jupyter (with jupytext), VS Code, PyCharm and Spyder show this file as a notebook. Plain Python runs it, too:
# `python examples/tour.py`.

# %% [markdown]
# ## Compile a model and run it
# `compile` takes an ONNX file. The picture is a seven, 8 x 8 pixels.

# %%
import pathlib
import sys
import tempfile

import numpy as np
import sluice

EXAMPLES = pathlib.Path(__file__).parent
image = np.loadtxt(EXAMPLES / "seven.csv", np.float32, delimiter=",", usecols=range(8)).reshape(1, 1, 8, 8)
model = sluice.compile(EXAMPLES / "digits/digits.onnx")
print(model)
print("it is a", model(image).argmax())

# %% [markdown]
# ## Keep the compiled file
# It opens in milliseconds and needs no compiler. A batch of another size needs no other file.

# %%
folder = pathlib.Path(tempfile.mkdtemp())
sluice.compile(EXAMPLES / "digits/digits.onnx", folder / "digits.sluice")
model = sluice.load(folder / "digits.sluice", threads=1)
batch = np.concatenate([image, 1 - image, image])
print(model(batch).argmax(1))

# %% [markdown]
# ## Find where the time goes
# A notebook draws the profile; `plot` writes the picture to a file.

# %%
profile = model.profile(batch, runs=100)
profile.plot(folder / "digits.svg")
print(profile)

# %% [markdown]
# ## Serve requests
# A runtime owns cores and queues. `submit` returns at once, `call_async` awaits the reply (07_asyncio.py).

# %%
with sluice.Runtime() as runtime:
    served = runtime.load(folder / "digits.sluice", name="digits")
    requests = [served.submit(image) for _ in range(8)]
    print([request.result().argmax() for request in requests])
    print(served.statistics().total)

# %% [markdown]
# ## Share a core
# Two models on one group of cores: only one of them is started at a time.

# %%
with sluice.Runtime() as runtime, runtime.create_group(1) as group:
    models = [group.load(folder / "digits.sluice", name=name) for name in ("day", "night")]
    for turn in models:
        turn.start()
        print(turn.name, turn(image).argmax())
        turn.stop()
    print(runtime.groups()[0].num_switches, "switch of models")
    for turn in models:
        turn.unload()

# %% [markdown]
# ## Use a daemon
# `sluice.Client` has the interface of `sluice.Runtime`. Start a daemon with `sluiced -x -g unix:/tmp/sluice.sock`.
# An array of `client.empty` lies in memory that the daemon maps; its bytes travel in no message.

# %%
address = sys.argv[1] if len(sys.argv) == 2 else "unix:/tmp/sluice.sock"
try:
    with sluice.Client(address, timeout=10) as client:
        remote = client.load(folder / "digits.sluice", name="digits")
        shared = client.empty((1, 1, 8, 8))
        shared[:] = image
        print("the daemon says", remote(shared).argmax(), "on", client.devices)
except sluice.Unavailable as error:
    print("no daemon:", error)

# %% [markdown]
# Next: PyTorch modules (docs/torch.md), programs for onnxruntime (docs/python.md), the daemon (docs/daemon.md).
