#!/usr/bin/env python3
"""What a copy between pageable memory and a GPU costs: as the driver makes it, and by way of pinned memory.

    python3 bench/cuda/copies.py [--rounds 200]

Medians in microseconds, until the stream is idle. backends/cuda/plugin/host_copies.h takes pinned memory up to
kMaxStagedBytes: the size from which the driver is quicker. Needs a driver alone.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint64, c_void_p

SIZES_KIB = (4, 16, 64, 256, 588, 1024, 2048, 4096, 16384)
NON_BLOCKING = 1


class Gpu:
    def __init__(self) -> None:
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.stream = c_void_p()
        self.call("cuStreamCreate", byref(self.stream), NON_BLOCKING)

    def call(self, name: str, *arguments: object) -> None:
        result = getattr(self.driver, name)(*arguments)
        if result != 0:
            raise SystemExit(f"{name}: error {result}")

    def pinned(self, size: int) -> int:
        address = c_void_p()
        self.call("cuMemHostAlloc", byref(address), c_size_t(size), 0)
        return address.value or 0

    def memory(self, size: int) -> c_uint64:
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(size))
        return address

    def to_device(self, target: c_uint64, source: int, size: int) -> None:
        self.call("cuMemcpyHtoDAsync_v2", target, c_void_p(source), c_size_t(size), self.stream)
        self.call("cuStreamSynchronize", self.stream)

    def to_host(self, target: int, source: c_uint64, size: int) -> None:
        self.call("cuMemcpyDtoHAsync_v2", c_void_p(target), source, c_size_t(size), self.stream)
        self.call("cuStreamSynchronize", self.stream)


def median_us(action: Callable[[], None], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def row(gpu: Gpu, size: int, rounds: int) -> str:
    buffer = ctypes.create_string_buffer(size)
    host, pinned, device = ctypes.addressof(buffer), gpu.pinned(size), gpu.memory(size)

    def staged_to_device() -> None:
        ctypes.memmove(pinned, host, size)
        gpu.to_device(device, pinned, size)

    def staged_to_host() -> None:
        gpu.to_host(pinned, device, size)
        ctypes.memmove(host, pinned, size)

    actions = (lambda: gpu.to_device(device, host, size), staged_to_device,
               lambda: gpu.to_host(host, device, size), staged_to_host)
    cells = [f"{median_us(action, rounds):.1f}" for action in actions]
    gpu.call("cuMemFreeHost", c_void_p(pinned))
    gpu.call("cuMemFree_v2", device)
    return f"| {size // 1024} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    gpu = Gpu()
    print("| KiB | to the device, driver | to the device, pinned | to the host, driver | to the host, pinned |")
    print("|---|---|---|---|---|")
    for size in SIZES_KIB:
        print(row(gpu, size * 1024, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
