"""Texts and boxes of a picture as SVG."""

from __future__ import annotations

from pathlib import Path

# Two thirds of this size, which a phone's width leaves, keep the text readable.
FONT, SMALL = 14, 12


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def write(path: Path, width: float, height: float, parts: list[str]) -> None:
    """The parts on white."""
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="system-ui, \'DejaVu Sans\', sans-serif" font-size="{FONT}">')
    path.write_text("\n".join([head, '<rect width="100%" height="100%" fill="white" rx="8"/>', *parts, "</svg>\n"]))
