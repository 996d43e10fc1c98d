"""Sends a thousand requests at once from asyncio: python 07_asyncio.py digits/digits.onnx"""

import asyncio
import sys
import threading

import numpy as np
import sluice


async def main(path: str) -> None:
    with sluice.Runtime() as runtime:
        model = runtime.load(sluice.compile(path), name="digits", queue_limit=1000)
        images = np.random.default_rng(1).random((1000, 1, 1, 8, 8), np.float32)
        answers = await asyncio.gather(*(model.call_async(image, timeout=60) for image in images))
        print(f"{len(answers)} answers, {threading.active_count()} Python threads")
        print(model.statistics().total)


asyncio.run(main(sys.argv[1]))
