"""Runs one application over onnxruntime or over sluice.onnxruntime and prints a JSON line.

    python run_app.py NAME onnxruntime|sluice
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time

RUNS = 9


def main() -> None:
    name, engine = sys.argv[1:]
    if engine == "sluice":
        import sluice.onnxruntime

        sluice.onnxruntime.install()
    app = importlib.import_module(name)
    start = time.perf_counter()
    opened = app.open_app()
    open_ms = (time.perf_counter() - start) * 1e3
    answer = app.run(opened)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        app.run(opened)
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"answer": answer, "expected": app.EXPECTED, "open_ms": round(open_ms, 1),
                      "run_ms": round(statistics.median(times), 2)}))


if __name__ == "__main__":
    main()
