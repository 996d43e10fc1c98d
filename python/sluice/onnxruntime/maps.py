"""Inputs and outputs that are maps in the model: dicts for onnxruntime's users, rows with a column per key inside.

A package has the keys of the columns in its metadata, "columns.<name of the input or output>": whole numbers, or
texts in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import STRING
from ..errors import InvalidArgument
from ..model import Model
from ..signature import TensorSpec

_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"|(-?\d+)')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|.)")


class Keys(NamedTuple):
    """The keys of a map, in the order of the columns."""

    keys: tuple[Any, ...]  #: all int or all str
    is_list: bool  #: an output, which has a map per row

    def type_name(self, values: str) -> str:
        """`values`: onnxruntime's text of the tensor with the maps' values."""
        key = "string" if isinstance(self.keys[0], str) else "int64"
        return f"seq(map({key},{values}))" if self.is_list else f"map({key},{values})"

    def dicts(self, rows: Any) -> list[dict[Any, Any]]:
        return [dict(zip(self.keys, row)) for row in np.atleast_2d(rows).tolist()]


def read_keys(model: Model) -> dict[str, Keys]:
    """By name. Inputs and outputs that are tensors in the file have none."""
    outputs = {spec.name for spec in model.outputs}
    return {name: Keys(keys, name in outputs)
            for entry, text in model.metadata.items() if entry.startswith("columns.")
            for name, keys in [(entry.removeprefix("columns."), _parse(text))] if keys}


def row_of(entries: Mapping[Any, Any], spec: TensorSpec, keys: Keys | None) -> Any:
    """The row for a dict. Absent keys are 0 or ""; keys that the model does not know have no column.

    Without known keys (CastMap) they are the columns' numbers where these are counted, and else only an order.
    """
    if keys is not None:
        names: Any = keys.keys
    elif spec.shape and spec.shape[-1] is not None:
        names = range(spec.shape[-1])
        beyond = [key for key in entries if key not in names]
        if beyond:
            raise InvalidArgument(f'input "{spec.name}" has the key {beyond[0]!r}; the model takes 0 to {len(names) - 1}')
    else:
        names = sorted(entries)
    absent: Any = "" if spec.element_type == STRING else 0
    values = [[entries.get(name, absent) for name in names]]
    return np.array(values, object if spec.element_type == STRING else spec.dtype)


def _parse(text: str) -> tuple[Any, ...]:
    return tuple(int(number) if number else _ESCAPE.sub(_unescape, quoted) for quoted, number in _KEY.findall(text))


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 3 else {"n": "\n", "t": "\t"}.get(code, code)
