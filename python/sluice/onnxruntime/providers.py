"""Execution providers: the processor is the only one, and others are explained."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .options import warn_once

PROVIDER = "CPUExecutionProvider"


def get_available_providers() -> list[str]:
    return [PROVIDER]


def check_providers(providers: Sequence[Any] | None) -> None:
    """Warns of providers that Sluice lacks, as their models run on the processor."""
    for provider in providers or ():
        name = provider[0] if isinstance(provider, (tuple, list)) else provider
        if name != PROVIDER:
            warn_once(str(name), f"no {name}; the model runs on the processor")


def set_providers(providers: Sequence[Any] | None) -> None:
    """For a session that runs already: names that are no provider's raise RuntimeError."""
    for provider in providers or ():
        name = provider[0] if isinstance(provider, (tuple, list)) else provider
        if not str(name).endswith("ExecutionProvider"):
            raise RuntimeError(f"Unknown Provider Type: {name}")
    check_providers(providers)


def check_and_normalize_provider_args(
    providers: Sequence[Any] | None,
    provider_options: Sequence[Mapping[Any, Any]] | None,
    available_provider_names: Sequence[str],
) -> tuple[list[str], list[dict[str, str]]]:
    """Names and options, options as texts, the first of equal names. Raises ValueError for other forms."""
    if providers is None:
        return [], []
    if not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    if provider_options is None:
        pairs = [entry if isinstance(entry, tuple) else (entry, {}) for entry in providers]
    else:
        if not isinstance(provider_options, Sequence):
            raise ValueError("'provider_options' should be a sequence.")
        if len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        pairs = list(zip(providers, provider_options))
    normalized: dict[str, dict[str, str]] = {}
    for name, options in pairs:
        if not isinstance(name, str) or not isinstance(options, Mapping):
            raise ValueError("a provider is a name, or a tuple of a name and a dict of options")
        if name in normalized:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=2)
            continue
        if name not in available_provider_names:
            warnings.warn(f"Specified provider '{name}' is not in available provider names.", stacklevel=2)
        normalized[name] = {str(key): str(value) for key, value in options.items()}
    return list(normalized), list(normalized.values())
