"""silero_vad's network, run as its package does: chunk after chunk, with a state in and out.

The package itself needs torch; this reads the model out of it and hears half a second of silence, then a
voice-like sum of harmonics.
"""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import numpy as np

RATE, CHUNK, CONTEXT = 16000, 512, 64


def open_app() -> Any:
    import onnxruntime

    found = importlib.util.find_spec("silero_vad")
    assert found is not None and found.origin is not None
    model = pathlib.Path(found.origin).parent / "data" / "silero_vad.onnx"
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"],
                                        sess_options=options)


def run(app: Any) -> list[float]:
    time = np.arange(RATE) / RATE
    voice = sum(np.sin(2 * np.pi * 140 * k * time + 3 * np.sin(2 * np.pi * 4 * time)) / k
                for k in range(1, 20)) * (0.5 + 0.5 * np.sin(2 * np.pi * 5 * time))
    sound = np.concatenate([np.zeros(RATE // 2), 0.2 * voice]).astype(np.float32)
    state = np.zeros((2, 1, 128), np.float32)
    before = np.zeros((1, CONTEXT), np.float32)
    answers = []
    for start in range(0, len(sound) - CHUNK, CHUNK):
        chunk = np.concatenate([before, sound[None, start : start + CHUNK]], axis=1)
        feed = {"input": chunk, "state": state, "sr": np.array(RATE, dtype="int64")}
        out, state = app.run(None, feed)
        before = chunk[:, -CONTEXT:]
        answers.append(round(float(out[0, 0]), 3))
    return answers


EXPECTED = None  # what onnxruntime says
