"""Draws the ratios of a comparison as a PNG, losses included: a row per network. Needs nothing but Pillow."""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from harness.table import Row

SCALE = 2  # drawn at twice the size, for sharp text on dense screens
FONT, FIGURES = 12, 10  # the picture is 560 wide, a column's width: pages show it unscaled, phones at two thirds
MARGIN, LABELS, BAR, GAP, WIDTH, TOP = 10, 108, 10, 7, 432, 36
COLOURS = {"onnxruntime": "#2a78b5", "openvino": "#8a5fb0"}
LOSS = "#d1495b"
TICKS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


def speed_up(row: Row, peer: str) -> float:
    return 1 / row.ratio[peer]


class Axis:
    """A logarithmic axis over all the speed-ups there are, one always among them."""

    def __init__(self, values: list[float]) -> None:
        self.low = min(0.95, *values) / 1.03
        self.high = max(1.5, *values) * 1.08

    def x(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return MARGIN + LABELS + share * WIDTH


def draw(rows: list[Row], path: Path) -> None:
    """A bar per network and peer: Sluice's speed-up with most threads, left of 1 where Sluice is slower.

    Leaves out packages of `--strassen`, which take more memory than the peers'.
    Requires: every row has at least one ratio.
    """
    threads = max(row.threads for row in rows)
    rows = [row for row in rows if row.threads == threads and not row.strassen]
    peers = [peer for peer in COLOURS if any(peer in row.ratio for row in rows)]
    speeds = [speed_up(row, peer) for row in rows for peer in row.ratio]
    axis = Axis(speeds)
    group = len(peers) * BAR + GAP
    size = (2 * MARGIN + LABELS + WIDTH, TOP + group * len(rows) + 2 * MARGIN + 4)
    picture = Image.new("RGB", tuple(SCALE * side for side in size), "white")
    pen = Pen(ImageDraw.Draw(picture))
    bottom = TOP + group * len(rows)
    draw_axis(pen, axis, bottom)
    draw_legend(pen, peers, threads, any(value < 1 for value in speeds))
    for i, row in enumerate(rows):
        top = TOP + i * group + GAP / 2
        pen.text((MARGIN, top + (group - GAP) / 2), row.network, "#222222", "lm")
        for j, peer in enumerate(peer for peer in peers if peer in row.ratio):
            draw_bar(pen, axis, speed_up(row, peer), top + j * BAR, COLOURS[peer])
    picture.save(path, optimize=True)


class Pen:
    """Draws in unscaled coordinates."""

    def __init__(self, canvas: ImageDraw.ImageDraw) -> None:
        self._canvas = canvas
        self._fonts = {size: ImageFont.load_default(size * SCALE) for size in (FONT, FIGURES)}

    def text(self, at: tuple[float, float], text: str, colour: str, anchor: str, size: int = FONT) -> None:
        place = tuple(SCALE * value for value in at)
        self._canvas.text(place, text, fill=colour, font=self._fonts[size], anchor=anchor)

    def box(self, left: float, top: float, right: float, bottom: float, colour: str) -> None:
        corners = [SCALE * value for value in (left, top, right, bottom)]
        self._canvas.rectangle(corners, fill=colour)


def draw_axis(pen: Pen, axis: Axis, bottom: float) -> None:
    for tick in TICKS:
        if axis.low <= tick <= axis.high:
            x = axis.x(tick)
            half = 0.75 if tick == 1 else 0.25
            pen.box(x - half, TOP, x + half, bottom, "#444444" if tick == 1 else "#cccccc")
            pen.text((x, bottom + 11), f"{tick:g}x", "#444444", "mm")


def draw_legend(pen: Pen, peers: list[str], threads: int, with_losses: bool) -> None:
    title = f"Batch 1, {threads} thread{'s' * (threads > 1)}: times faster than"
    pen.text((MARGIN, MARGIN), title + " (red: slower)" * with_losses, "#222222", "lm")
    x = MARGIN + LABELS + 210
    for peer in peers:
        pen.box(x, MARGIN - 4, x + 10, MARGIN + 5, COLOURS[peer])
        pen.text((x + 16, MARGIN), peer, "#222222", "lm")
        x += 108


def draw_bar(pen: Pen, axis: Axis, value: float, top: float, colour: str) -> None:
    left, right = sorted((axis.x(1), axis.x(value)))
    pen.box(left, top, right, top + BAR - 2, colour if value >= 1 else LOSS)
    side, anchor = (right + 4, "lm") if value >= 1 else (left - 4, "rm")
    pen.text((side, top + BAR / 2 - 1), f"{value:.2f}", "#444444", anchor, FIGURES)
