"""Profiles: where the time of requests goes, as numbers and as a picture."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import _native
from .descriptions import Span, to_span
from .errors import FailedPrecondition

_BAR_WIDTH, _ROW_HEIGHT, _NAME_WIDTH = 420, 18, 260


class OperationTime(NamedTuple):
    """The runs of an operation. `share`: of the time of all operations."""

    name: str
    runs: int
    total_ns: int
    share: float

    @property
    def is_generic(self) -> bool:
        """Whether a generic kernel ran it, for want of a fast one: its kind, the name's first word, says so."""
        return self.name.split(" ")[1:2] == ["(generic)"]


class Profile:
    """Records between `with` and its end, or `start` and `stop`; then has spans."""

    def __init__(self, native: _native.Runtime, model: int = 0) -> None:
        self._native = native
        self._model = model
        self._number: int | None = None
        self._result: dict[str, Any] | None = None

    def start(self) -> Profile:
        if self._number is not None or self._result is not None:
            raise FailedPrecondition("the profile was started already")
        self._number = self._native.start_profile(0, self._model)
        return self

    def stop(self) -> Profile:
        number, self._number = self._number, None
        if number is None:
            raise FailedPrecondition("the profile does not record")
        self._result = self._native.stop_profile(number)
        self._spans = tuple(to_span(fields) for fields in self._result["spans"])
        return self

    def __enter__(self) -> Profile:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def spans(self) -> tuple[Span, ...]:
        """In the order of their ends. Older ones are dropped beyond 262144; `num_dropped` counts them."""
        self._stopped()
        return self._spans

    @property
    def num_dropped(self) -> int:
        return int(self._stopped()["num_dropped"])

    @property
    def duration_ns(self) -> int:
        return int(self._stopped()["duration_ns"])

    def operations(self) -> list[OperationTime]:
        """Times of operations, the longest first."""
        times: dict[str, list[int]] = {}
        for span in self.spans:
            if span.kind == "operation":
                times.setdefault(span.name, []).append(span.duration_ns)
        total = sum(map(sum, times.values())) or 1
        rows = [OperationTime(name, len(runs), sum(runs), sum(runs) / total) for name, runs in times.items()]
        return sorted(rows, key=lambda row: -row.total_ns)

    def plot(self, path: str | os.PathLike[str] | None = None, *, top: int = 20) -> str:
        """Bars of the `top` longest operations as an SVG picture, written to `path` if there is one.

        A notebook shows the picture of a profile that is the value of a cell.
        """
        rows = self.operations()
        rest = rows[top:]
        rows = rows[:top]
        if rest:
            rows.append(OperationTime(f"{len(rest)} more", sum(row.runs for row in rest),
                                      sum(row.total_ns for row in rest), sum(row.share for row in rest)))
        picture = _svg(rows)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(picture)
        return picture

    def _repr_svg_(self) -> str | None:
        return None if self._result is None else self.plot()

    def _stopped(self) -> dict[str, Any]:
        if self._result is None:
            raise FailedPrecondition("the profile has no spans before it is stopped")
        return self._result

    def __repr__(self) -> str:
        if self._result is None:
            return f"<sluice.Profile{', recording' if self._number is not None else ''}>"
        lines = "".join(f"\n  {row.share:6.1%} {row.total_ns / 1e6:9.3f} ms {row.runs:6} x {row.name}"
                        for row in self.operations()[:10])
        requests = sum(span.kind == "request" for span in self.spans)
        return f"<sluice.Profile of {requests} requests in {self.duration_ns / 1e6:.1f} ms{lines}>"


def _svg(rows: Iterable[OperationTime]) -> str:
    rows = list(rows)
    longest = max((row.total_ns for row in rows), default=1) or 1
    height = _ROW_HEIGHT * len(rows) + 8
    width = _NAME_WIDTH + _BAR_WIDTH + 150
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="12">']
    for i, row in enumerate(rows):
        top = 4 + i * _ROW_HEIGHT
        length = _BAR_WIDTH * row.total_ns / longest
        name = row.name if len(row.name) <= 40 else "…" + row.name[-39:]
        lines += [
            f'<text x="{_NAME_WIDTH - 6}" y="{top + 13}" text-anchor="end">{html.escape(name)}</text>',
            f'<rect x="{_NAME_WIDTH}" y="{top + 2}" width="{length:.1f}" height="{_ROW_HEIGHT - 4}" '
            'fill="#3b78b5"/>',
            f'<text x="{_NAME_WIDTH + length + 6:.1f}" y="{top + 13}">{row.total_ns / 1e6:.3f} ms, '
            f'{row.share:.0%}</text>']
    return "\n".join([*lines, "</svg>", ""])
