#!/usr/bin/env python3
"""`sluice ls` lists every device of this machine: compared with the kernel's own lists in /sys and /proc.

    tests/e2e/discovers_this_machine.py SLUICE
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

NODES = Path("/sys/devices/system/node")
PCI = Path("/sys/bus/pci/devices")
NVIDIA = Path("/proc/driver/nvidia/gpus")
# PCI class and subclass, in 16 bits (PCI Code and ID Assignment): 3D and other display controllers, coprocessors;
# VGA controllers of the makers of GPUs (AMD, Intel, NVIDIA). 0x12 is the class of processing accelerators.
COMPUTES = {0x0302, 0x0380, 0x0B40}
VGA, GPU_VENDORS = 0x0300, {0x1002, 0x8086, 0x10DE}
ACCELERATORS = 0x12


def numbers(text: str) -> set[int]:
    """The numbers of a list such as "0-3,8"."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def computes(device: Path) -> bool:
    kind = int((device / "class").read_text(), 16) >> 8
    vendor = int((device / "vendor").read_text(), 16)
    return kind in COMPUTES or kind >> 8 == ACCELERATORS or (kind == VGA and vendor in GPU_VENDORS)


def processors(devices: list[dict]) -> set[int]:
    return {cpu for device in devices for core in device.get("cpus", []) for cpu in core}


def look() -> tuple[dict, set[int]]:
    """What the command lists, and the processors that it may use, which the system may change meanwhile."""
    while True:
        usable = os.sched_getaffinity(0)
        done = subprocess.run([sys.argv[1], "ls", "--json"], capture_output=True, text=True, check=True)
        if os.sched_getaffinity(0) == usable:
            return json.loads(done.stdout), usable


def main() -> int:
    listing, usable = look()
    [hwloc] = [source for source in listing["sources"] if source["source"] == "hwloc"]
    if "built without hwloc" in hwloc.get("reason", ""):
        print("skipped: built without hwloc")
        return 77
    devices = listing["devices"]
    claims = [("processors that this process may use", processors(devices), usable)]
    for node in sorted(NODES.glob("node[0-9]*")):
        number = int(node.name.removeprefix("node"))
        listed = processors([device for device in devices if device.get("numa_node") == number])
        claims.append((f"processors of {node.name}", listed, numbers((node / "cpulist").read_text()) & usable))
    addresses = {device["bus_address"] for device in devices if device.get("bus_address")}
    for what, known in (("accelerators on the PCI bus", {path.name for path in PCI.glob("*") if computes(path)}),
                        ("GPUs of the NVIDIA driver", {path.name.lower() for path in NVIDIA.glob("*")})):
        claims.append((what, addresses & known, known))
    for what, listed, known in claims:
        print(f"{'ok  ' if listed == known else 'FAIL'} {what}: sluice {sorted(listed)}, kernel {sorted(known)}")
    failed = sum(listed != known for _, listed, known in claims)
    print(f"{len(claims) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
