"""swift_f0 finds the pitch of a tone of 220 Hz."""

from __future__ import annotations

from typing import Any

import numpy as np

RATE = 16000
TONE = np.sin(2 * np.pi * 220 * np.arange(2 * RATE) / RATE).astype(np.float32)


def open_app() -> Any:
    from swift_f0 import SwiftF0

    return SwiftF0()


def run(app: Any) -> bool:
    pitch = float(np.median(app.detect(TONE, RATE).pitch_hz))
    return abs(pitch - 220) < 0.5


EXPECTED = True
