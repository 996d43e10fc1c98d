"""What a runtime says of its devices, groups, models and requests."""

from __future__ import annotations

from typing import Any, NamedTuple

PHASES = ("loaded", "started", "stopped", "failed", "unloaded")
MODES = ("normal", "shared")
HEALTH_STATES = ("healthy", "degraded", "failed")
SPAN_KINDS = ("request", "queue", "copy in", "compute", "copy out", "operation")
#: Ends of requests by their runtime code, a number of sluice/status.h.
RUNTIME_CODES = {0: "ok", 1: "failed", 2: "invalid", 3: "invalid handle", 4: "out of resources", 5: "timeout",
         6: "device error", 7: "queue full", 8: "model failed", 9: "not enough cores",
         10: "unsupported version", 1001: "cancelled", 1002: "bad input", 1003: "numeric error",
         1004: "completed with error"}


class Device(NamedTuple):
    """A device of a runtime. `num_cores` is 0 if no plug-in drives it, `memory_bytes` if unknown."""

    id: int
    kind: str  #: "cpu", "gpu", "sim"
    name: str
    backend: str
    bus_address: str
    num_cores: int
    memory_bytes: int


class Group(NamedTuple):
    """A core group. `cores` are pairs of a device's and a core's number."""

    id: int
    is_implicit: bool  #: a load made it, and it ends with its model
    num_models: int
    cores: tuple[tuple[int, int], ...]
    active_model: str
    num_switches: int
    memory_used_bytes: int
    max_memory_bytes: int  #: -1: none


class Footprint(NamedTuple):
    """The memory of a model."""

    constants_bytes: int  #: mapped from the package, shared by all its loads
    packed_bytes: int
    context_bytes: int  #: of one slot
    total_bytes: int  #: with `depth` slots
    depth: int
    is_context_known: bool


class ModelInfo(NamedTuple):
    """A loaded model, as the runtime describes it."""

    id: int
    name: str
    phase: str  #: "loaded", "started", "stopped", "failed", "unloaded"
    mode: str  #: "normal": segments have cores of their own; "shared": they take turns
    group: int
    is_implicit: bool
    is_on_demand: bool
    depth: int
    queue_limit: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    footprint: Footprint
    slots_bytes: int
    has_fixed_inputs: bool  #: initializers that the model's file lists as inputs are constants


class Latency(NamedTuple):
    """Durations of requests. Quantiles are exact to an eighth of their value."""

    requests: int
    sum_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    max_ns: int

    def __repr__(self) -> str:
        return (f"<sluice.Latency of {self.requests}: median {self.p50_ns / 1e6:.3f} ms, "
                f"99 % {self.p99_ns / 1e6:.3f} ms, longest {self.max_ns / 1e6:.3f} ms>")


class Statistics(NamedTuple):
    """Counts of a model since its load."""

    accepted: int
    refused: int
    waiting: int  #: beyond the depth, now
    max_waiting: int
    num_starts: int
    busy_ns: int
    answered: dict[str, int]  #: replies by code
    queue: Latency  #: from submission to the first segment
    copy: Latency
    compute: Latency
    total: Latency  #: from submission to the reply
    recorded_bytes: int  #: kept for shapes of earlier requests, by all slots
    joined: int  #: requests that ran together with others


class Health(NamedTuple):
    """Whether a model serves well; if not, the reason and what to do."""

    state: str  #: "healthy", "degraded", "failed"
    reason: str
    action: str


class Span(NamedTuple):
    """A part of a request on the clock of a profile."""

    kind: str  #: "request", "queue", "copy in", "compute", "copy out", "operation"
    runtime_code: str  #: of a request: "ok", "timeout", ...
    model: str
    name: str  #: of an operation
    request: int
    lane: int
    start_ns: int
    duration_ns: int


def to_model_info(fields: dict[str, Any]) -> ModelInfo:
    return ModelInfo(**{
        **fields, "phase": PHASES[fields["phase"]], "mode": MODES[fields["mode"]],
        "inputs": tuple(f"{spec[0]}: {spec[1]}" for spec in fields["inputs"]),
        "outputs": tuple(f"{spec[0]}: {spec[1]}" for spec in fields["outputs"]),
        "footprint": Footprint(**fields["footprint"])})


def to_statistics(fields: dict[str, Any]) -> Statistics:
    latencies = {name: Latency(**fields[name]) for name in ("queue", "copy", "compute", "total")}
    answered = {RUNTIME_CODES.get(code, str(code)): count for code, count in fields["answered"].items()}
    return Statistics(**{**fields, **latencies, "answered": answered})


def to_health(fields: dict[str, Any]) -> Health:
    return Health(**{**fields, "state": HEALTH_STATES[fields["state"]]})


def to_span(fields: dict[str, Any]) -> Span:
    return Span(**{**fields, "kind": SPAN_KINDS[fields["kind"]],
                   "runtime_code": RUNTIME_CODES.get(fields["runtime_code"], str(fields["runtime_code"]))})
