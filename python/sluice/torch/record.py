"""What a package says about its trace: metadata that sluice.torch.load and C++ programs read."""

from __future__ import annotations

import json
from typing import Any

from ..errors import InvalidArgument
from ..tracing.metadata import KEY
from .structure import Structure

_VERSION = 1


def encode(arguments: Structure, results: Structure, hidden_inputs: list[int], hidden_outputs: list[int],
           more: dict[str, Any]) -> str:
    """`hidden_inputs`, `hidden_outputs`: tensors of the function that are states, which callers do not pass."""
    return json.dumps({"version": _VERSION, "arguments": arguments.to_json(), "results": results.to_json(),
                       "hidden_inputs": hidden_inputs, "hidden_outputs": hidden_outputs, **more})


def decode(metadata: dict[str, str]) -> dict[str, Any]:
    text = metadata.get("metadata." + KEY)
    if text is None:
        raise InvalidArgument("the package was not made by sluice.torch.trace; sluice.load loads it")
    read: dict[str, Any] = json.loads(text)
    if read["version"] > _VERSION:
        raise InvalidArgument(f"the package is of trace format {read['version']}, this Sluice reads {_VERSION}")
    read["arguments"] = Structure.from_json(read["arguments"])
    read["results"] = Structure.from_json(read["results"])
    return read
