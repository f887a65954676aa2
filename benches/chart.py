"""The chart: how many times longer each parser takes than rapidsse, on a logarithmic line.

Plain SVG, written by hand, so that it needs nothing and can be read in a diff.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

INK, FAINT, GRID = "#1f2937", "#6b7280", "#e5e7eb"
OURS = "#0f766e"
FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
LEFT, TOP, ROW, GAP, WIDTH = 100, 98, 26, 62, 860


class Series(NamedTuple):
    """One parser's dots: its colour, and times-longer by (panel, row); absent where it is wrong."""

    name: str
    colour: str
    values: dict[tuple[str, str], float]


def _text(x: float, y: float, words: str, size: int = 12, colour: str = INK, more: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" {more}>'
        f"{escape(words)}</text>"
    )


def draw(
    title: str, note: str, panels: Sequence[str], rows: Sequence[str], series: Sequence[Series]
) -> str:
    """The chart as SVG text."""
    values = [value for one in series for value in one.values.values()]
    top = max([*values, 10]) * 1.2
    bottom = 0.5 if min([*values, 1]) < 0.97 else 0.9
    scale = (WIDTH - LEFT - 30) / math.log(top / bottom)

    def x(value: float) -> float:
        return LEFT + math.log(value / bottom) * scale

    height = TOP + len(panels) * (len(rows) * ROW + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" {FONT}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(16, 28, title, 17, more='font-weight="600"'),
        _text(16, 48, note, 12, FAINT),
    ]
    at = 16.0
    for name, colour in [("rapidsse = 1", OURS), *((one.name, one.colour) for one in series)]:
        out.append(f'<circle cx="{at + 5:.1f}" cy="70" r="5" fill="{colour}"/>')
        out.append(_text(at + 15, 74, name))
        at += 32 + 6.6 * len(name)
    ticks = [t for t in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if bottom <= t <= top]
    for number, panel in enumerate(panels):
        y0 = TOP + number * (len(rows) * ROW + GAP) + 22
        y1 = y0 + len(rows) * ROW
        out.append(_text(16, y0 - 10, panel, 13, more='font-weight="600"'))
        for tick in ticks:
            colour, wide = (OURS, 2) if tick == 1 else (GRID, 1)
            out.append(
                f'<line x1="{x(tick):.1f}" y1="{y0}" x2="{x(tick):.1f}" y2="{y1}" '
                f'stroke="{colour}" stroke-width="{wide}"/>'
            )
            out.append(_text(x(tick), y1 + 16, f"{tick:g}x", 11, FAINT, 'text-anchor="middle"'))
        for index, row in enumerate(rows):
            y = y0 + index * ROW + ROW / 2
            out.append(_text(LEFT - 10, y + 4, row, 12, more='text-anchor="end"'))
            shown = [(one, one.values[panel, row]) for one in series if (panel, row) in one.values]
            if shown:
                ends = [x(value) for _, value in shown] + [x(1)]
                out.append(
                    f'<line x1="{min(ends):.1f}" y1="{y}" x2="{max(ends):.1f}" y2="{y}" '
                    f'stroke="{GRID}" stroke-width="3"/>'
                )
            out.append(f'<circle cx="{x(1):.1f}" cy="{y}" r="5" fill="{OURS}"/>')
            for one, value in shown:
                label = f"{one.name}, {row}, {panel}: {value:.1f} times rapidsse's time"
                out.append(
                    f'<circle cx="{x(value):.1f}" cy="{y}" r="5" fill="{one.colour}" '
                    f'fill-opacity="0.85"><title>{escape(label)}</title></circle>'
                )
    out.append("</svg>")
    return "\n".join(out) + "\n"
