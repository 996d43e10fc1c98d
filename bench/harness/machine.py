"""What a report says of the machine and of the engines it compares."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def when_and_where() -> str:
    """For a table in a document."""
    return f"{datetime.date.today():%-d %B %Y}, {len(os.sched_getaffinity(0))} processors: {processor()}"


def description() -> dict[str, object]:
    return {
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": platform.release(),
        "onnxruntime": version("onnxruntime"),
        "openvino": version("openvino"),
    }
