"""Models over datasets of Ray Data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidArgument
from ..runtime import Source
from .placed import PlacedModel
from .supervisor import RESOURCE


class BatchModel(PlacedModel):
    """A placed model that Ray Data calls with batches of rows, in an actor of its own."""

    def __init__(self, package: Source, cores: int, flags: Sequence[str], kind: str, columns: Mapping[str, str],
                 options: Mapping[str, Any]) -> None:
        super().__init__(package, cores, flags, kind, **options)
        self._columns = dict(columns) or {spec.name: spec.name for spec in self.signature()[0] if not spec.has_default}

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The batch with the outputs as columns beside its own."""
        missing = [column for column in self._columns.values() if column not in batch]
        if missing:
            raise InvalidArgument(f'no column "{missing[0]}" among {", ".join(batch)}; `columns` names one for each input')
        return {**batch, **self.infer({name: batch[column] for name, column in self._columns.items()})}


def map_batches(dataset: Any, package: Source, *, columns: Mapping[str, str] | None = None, batch_size: int = 32,
                concurrency: Any = 1, cores: int = 1, kind: str = "cpu", flags: Sequence[str] = (),
                load: Mapping[str, Any] | None = None, **data_options: Any) -> Any:
    """A dataset with the model's outputs beside the columns of `dataset`: batch inference on many nodes.

    Each of `concurrency` actors (a number, or the least and the most) has a group on the daemon of its node. A batch of
    NumPy arrays lies in Ray's shared memory, and goes from there into memory that the daemon shares: one copy, no message.
    `columns`: the column of each input; by default an input's is that of its name. Every output has a row for each row.
    `cores`, `kind`, `flags`: as place. `load`: options of Runtime.load. `data_options`: of Dataset.map_batches.
    """
    return dataset.map_batches(
        BatchModel, fn_constructor_args=(package, cores, flags, kind, columns or {}, dict(load or {})), batch_size=batch_size,
        batch_format="numpy", concurrency=concurrency, num_cpus=0, resources={RESOURCE: 1}, **data_options)
