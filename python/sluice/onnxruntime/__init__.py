"""onnxruntime's names over Sluice, for programs written for it.

    import sluice.onnxruntime as ort

`install()` makes `import onnxruntime` mean this module, for packages that are not yours to change.
"""

from __future__ import annotations

import sys

from .. import __version__ as _sluice_version
from . import capi as capi
from .allocators import (
    OrtAllocatorType,
    OrtArenaCfg,
    OrtMemoryInfo,
    OrtMemType,
    create_and_register_allocator,
    create_and_register_allocator_v2,
)
from .facts import ModelMetadata
from .options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .providers import check_and_normalize_provider_args as check_and_normalize_provider_args
from .providers import get_available_providers
from . import session as _session
from .nodes import NodeArg
from .session import InferenceSession
from .values import IOBinding, OrtDevice, OrtValue, SessionIOBinding

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "InferenceSession",
    "ModelMetadata", "NodeArg", "OrtAllocatorType", "OrtArenaCfg", "OrtDevice", "OrtMemType", "OrtMemoryInfo",
    "OrtValue", "RunOptions", "SessionIOBinding", "SessionOptions", "capi", "create_and_register_allocator",
    "create_and_register_allocator_v2", "disable_telemetry_events",
    "enable_telemetry_events", "get_all_providers", "get_available_providers", "get_build_info", "get_device",
    "get_version_string", "install", "preload_dlls", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed",
]

#: The version of onnxruntime whose interface this follows; some programs compare it.
__version__ = "1.31.1"
__sluice_version__ = _sluice_version


get_all_providers = get_available_providers


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    return __version__


def get_build_info() -> str:
    return f"ORT Build Info: none; this is sluice {_sluice_version}"


def set_default_logger_severity(severity: int) -> None:
    """Accepted; Sluice does not log."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted; Sluice does not log."""


def set_seed(seed: int) -> None:
    """Random operators of sessions that are made from now on start from `seed`."""
    _session.seed = seed % (1 << 64)


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Accepted; Sluice loads what a device needs when it is used."""


def disable_telemetry_events() -> None:
    """Accepted; Sluice sends nothing."""


def enable_telemetry_events() -> None:
    """Accepted; Sluice sends nothing."""


def install() -> None:
    """Makes `import onnxruntime` give this module. Raises RuntimeError if onnxruntime is imported."""
    present = sys.modules.get("onnxruntime")
    if present is not None and present is not sys.modules[__name__]:
        raise RuntimeError("onnxruntime is imported already; call install() before that")
    sys.modules["onnxruntime"] = sys.modules[__name__]
    sys.modules["onnxruntime.capi"] = capi
    sys.modules["onnxruntime.capi.onnxruntime_pybind11_state"] = capi
    sys.modules["onnxruntime.capi._pybind_state"] = capi
    sys.modules["onnxruntime.capi.onnxruntime_inference_collection"] = sys.modules[__name__]

