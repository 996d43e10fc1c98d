"""Options of sessions and runs. Those that Sluice has no counterpart for are kept and warn once."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Sequence
from typing import Any

from .._native import Cancellation

_warned: set[str] = set()


def warn_once(name: str, text: str) -> None:
    """A warning per name and process."""
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"sluice.onnxruntime: {text}", RuntimeWarning, stacklevel=3)


class Named(enum.IntEnum):
    """Numbers whose text is their name, as of onnxruntime's."""

    __str__ = enum.Enum.__str__


class GraphOptimizationLevel(Named):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(Named):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(Named):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Options:
    """Attributes with defaults; others are kept, and warn once."""

    _defaults: dict[str, Any] = {}
    #: Names without an effect on results: logs, memory and profiles that Sluice does not have.
    _harmless = frozenset[str]()

    def __init__(self) -> None:
        self.__dict__.update(self._defaults)
        self._entries: dict[str, str] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        known = name.startswith("_") or name in self._harmless
        if not known and value != self._defaults.get(name, None):
            warn_once(f"{type(self).__name__}.{name}", f"{type(self).__name__}.{name} has no effect")
        self.__dict__[name] = value


class SessionOptions(_Options):
    _defaults = {
        "intra_op_num_threads": 0,
        "inter_op_num_threads": 0,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "execution_order": ExecutionOrder.DEFAULT,
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "enable_profiling": False,
        "log_severity_level": 2,
        "log_verbosity_level": 0,
        "logid": "",
        "optimized_model_filepath": "",
        "profile_file_prefix": "onnxruntime_profile_",
        "use_deterministic_compute": False,
        "use_per_session_threads": True,
    }
    _harmless = frozenset({"intra_op_num_threads", "inter_op_num_threads",
                           "graph_optimization_level", "execution_mode", "enable_cpu_mem_arena",
                           "enable_mem_pattern", "enable_mem_reuse", "enable_profiling",
                           "log_severity_level", "log_verbosity_level", "logid", "optimized_model_filepath",
                           "profile_file_prefix"})

    def __init__(self) -> None:
        super().__init__()
        self._dims: dict[str, int] = {}
        self._denotations: dict[str, int] = {}
        self._initializers: dict[str, Any] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        warn_once(key, f"the session option {key} has no effect")
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Compiles the model for `value` where a dimension of an input has this name."""
        self._dims[name] = value

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """The same where the model marks a dimension with this denotation, such as "DATA_BATCH"."""
        self._denotations[denotation] = value

    def add_initializer(self, name: str, value: Any) -> None:
        """Compiles the model with this OrtValue, or array, in place of its initializer of the name."""
        self._initializers[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """The same of several, whose data may be missing beside the model."""
        if len(names) != len(values):
            raise ValueError(f"{len(names)} names of initializers and {len(values)} values")
        self._initializers.update(zip(names, values))

    def register_custom_ops_library(self, path: str) -> None:
        raise NotImplementedError("sluice.onnxruntime: libraries of custom operators are a backend's "
                                  "matter; docs/howto/add-a-backend.md")


class RunOptions(_Options):
    """`terminate` ends the runs that have these options, and refuses later ones until it is False again."""

    _defaults = {"log_severity_level": 2, "log_verbosity_level": 0, "logid": "", "terminate": False,
                 "only_execute_path_to_fetches": False, "training_mode": False}
    _harmless = frozenset({"log_severity_level", "log_verbosity_level", "logid",
                           "only_execute_path_to_fetches"})

    def __init__(self) -> None:
        super().__init__()
        self._cancellation = Cancellation()

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "terminate":
            super().__setattr__(name, value)
            return
        self.__dict__[name] = bool(value)
        if value:
            self._cancellation.cancel()
        else:
            self._cancellation.reset()

    def add_run_config_entry(self, key: str, value: str) -> None:
        warn_once(key, f"the run option {key} has no effect")
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        return self._entries[key]
