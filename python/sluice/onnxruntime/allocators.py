"""Allocators by onnxruntime's names. Sluice plans memory when it compiles, so that they have no effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .options import Named, warn_once


class OrtAllocatorType(Named):
    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(Named):
    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


_ARENA_DEFAULTS = {"max_mem": 0, "arena_extend_strategy": -1, "initial_chunk_size_bytes": -1,
                   "max_dead_bytes_per_chunk": -1, "initial_growth_chunk_size_bytes": -1,
                   "max_power_of_two_extend_bytes": -1}


class OrtArenaCfg:
    """Four numbers, or a dict of settings; kept as attributes."""

    def __init__(self, *settings: Any) -> None:
        if len(settings) == 1 and isinstance(settings[0], Mapping):
            given = dict(settings[0])
        else:
            given = dict(zip(_ARENA_DEFAULTS, settings))
        if unknown := given.keys() - _ARENA_DEFAULTS.keys():
            raise ValueError(f"Invalid OrtArenaCfg option: {unknown.pop()}")
        self.__dict__.update({**_ARENA_DEFAULTS, **given})


class OrtMemoryInfo:
    """Where an allocator takes memory."""

    def __init__(self, name: str, allocator: OrtAllocatorType, device_id: int, kind: OrtMemType) -> None:
        self.name = name
        self.allocator_type = allocator
        self.device_id = device_id
        self.mem_type = kind


def create_and_register_allocator(info: OrtMemoryInfo, config: OrtArenaCfg | None = None) -> None:
    warn_once("create_and_register_allocator", "allocators have no effect")


def create_and_register_allocator_v2(provider: str, info: OrtMemoryInfo, options: Mapping[str, str],
                                     config: OrtArenaCfg | None = None) -> None:
    warn_once("create_and_register_allocator", "allocators have no effect")
