"""rapidocr reads a drawn line of text."""

from __future__ import annotations

from typing import Any

import numpy as np


def open_app() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR()


def run(app: Any) -> list[str]:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (640, 120), "white")
    font = ImageFont.load_default(48)
    ImageDraw.Draw(image).text((30, 30), "Sluice runs networks", fill="black", font=font)
    return list(app(np.asarray(image)).txts)


EXPECTED = None  # what onnxruntime says
