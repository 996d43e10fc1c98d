"""Calls of a model with tensors in memory of a GPU. One case in a process: call_model.py PACKAGE CASE."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import emulated_torch as gpu
import numpy as np
import sluice

X = np.arange(64, dtype=np.float32).reshape(4, 16) - 20
Z = np.full((4, 16), 2, np.float32)
Y = np.maximum(X + Z, 0)


def refused(kind: type[Exception], text: str, call: Callable[..., object], *args: object) -> None:
    try:
        call(*args)
    except kind as error:
        assert re.search(text, str(error)), str(error)
        return
    raise AssertionError(f"no error: {text}")


def agrees(model: sluice.Model) -> None:
    z = gpu.tensor(Z)
    for shift in range(5):  # later runs may be graphs
        y, s = model(gpu.tensor(X + shift), z)
        assert y.device == gpu.Device(0)
        np.testing.assert_array_equal(y.numpy(), np.maximum(X + shift + Z, 0))
        np.testing.assert_array_equal(s.numpy(), X + shift + Z)
    named = model.run({"z": z, "x": gpu.tensor(X)}, ["s"])
    assert list(named) == ["s"]
    np.testing.assert_array_equal(named["s"].numpy(), X + Z)
    assert model.copied_bytes == 0
    np.testing.assert_array_equal(model(X, Z)[0], Y)  # arrays of the processor, by the same contexts
    np.testing.assert_array_equal(model(gpu.tensor(X), z)[0].numpy(), Y)


def waits(model: sluice.Model) -> None:
    z = gpu.tensor(Z)
    for _ in range(4):
        late = gpu.tensor(np.zeros_like(X))
        late.fill_late(X)
        np.testing.assert_array_equal(model(late, z)[0].numpy(), Y)


def takes_views(model: sluice.Model) -> None:
    np.testing.assert_array_equal(model(gpu.transposed(X), gpu.tensor(Z, shift=4))[0].numpy(), Y)


def refuses(model: sluice.Model) -> None:
    x, z = gpu.tensor(X), gpu.tensor(Z)
    wrong = sluice.InvalidArgument
    refused(wrong, 'input "z" is on cuda:1, another is on cuda:0', model, x, gpu.tensor(Z, device=1))
    refused(sluice.FailedPrecondition, "device 1 of cuda, but device 0 of cuda runs a part of the model", model,
            gpu.tensor(X, device=1), gpu.tensor(Z, device=1))
    refused(wrong, 'input "z" is a ndarray, another is on a GPU', model, x, Z)
    refused(wrong, r"got float32\[16, 4\], model takes f32\[4,16\]", model, gpu.tensor(X.reshape(16, 4)), z)
    refused(wrong, r"got int64\[4, 16\], model takes f32\[4,16\]", model, gpu.tensor(X.astype(np.int64)), z)
    refused(sluice.NotFound, 'no output "w"', model.run, {"x": x, "z": z}, ["w"])
    freed = gpu.tensor(X)
    freed.free()
    refused(wrong, 'input "x".*are memory of no device, or were freed', model, freed, z)
    np.testing.assert_array_equal(model(x, z)[0].numpy(), Y)


CASES = {case.__name__: case for case in (agrees, waits, takes_views, refuses)}


def main() -> None:
    gpu.install()
    with sluice.load(sys.argv[1]) as model:
        CASES[sys.argv[2]](model)


if __name__ == "__main__":
    main()
