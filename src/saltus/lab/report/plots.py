"""Stage `lab.report`: plots as SVG text: axes with ticks, lines, bands, and marks with tooltips.

Hand-written, so that a page needs no plotting library and its colours can follow the reader's light or dark theme:
marks have classes (`c0` to `c9`), and the page's style sheet has the colours. All text is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """A range of numbers with ticks; both ends are finite, and the lower one is positive if `log`."""

    label: str
    low: float
    high: float
    log: bool = False
    percent: bool = False

    @classmethod
    def of(cls, label: str, values: Sequence[float], *, log: bool = False, from_zero: bool = False) -> Axis:
        """An axis that spans all values, with some margin; never empty."""
        finite = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        if not finite:
            return cls(label, 1.0 if log else 0.0, 10.0 if log else 1.0, log)
        low, high = min(finite), max(finite)
        if log:
            room = max(1.05, (high / low) ** 0.03)
            return cls(label, low / room, high * room, log)
        low = min(0.0, low) if from_zero else low
        room = (high - low) * 0.04 or abs(high) * 0.5 or 1.0
        return cls(label, low if from_zero and low == 0 else low - room, high + room)

    def share(self, value: float) -> float:
        """The position of a value from 0 to 1; values outside the range are at the edge."""
        if self.log:
            value = max(value, self.low)
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, part))

    def ticks(self, most: int = 7) -> list[float]:
        """Round numbers within the range, about `most` of them."""
        return _log_ticks(self.low, self.high, most) if self.log else _ticks(self.low, self.high, most)

    def text(self, value: float) -> str:
        """The label of a tick."""
        if self.percent:
            return f"{100 * value:.0f} %"
        if value and (abs(value) >= 1e7 or abs(value) < 1e-3):
            return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
        return f"{value:,.10g}"


def _ticks(low: float, high: float, most: int) -> list[float]:
    raw = (high - low) / most
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(i * step, digits) for i in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1,)):
        found = [factor * 10.0**i for i in range(first, last + 1) for factor in factors]
        found = [value for value in found if low <= value * (1 + 1e-9) and value <= high * (1 + 1e-9)]
        if 2 <= len(found) <= most:
            return found
    if len(found) > most:
        stride = math.ceil(len(found) / most)
        return found[::stride]
    return _ticks(low, high, most)  # less than a decade: no two powers of ten in range


@dataclass
class Plot:
    """A drawing to which lines and marks are added; `svg` returns it as text."""

    x: Axis
    y: Axis
    label: str
    """What the drawing shows, for screen readers."""
    width: int = 620
    height: int = 360
    parts: list[str] = field(default_factory=list)

    def place(self, point: Point) -> Point:
        """The coordinates of a point in the drawing."""
        left, top, right, bottom = self.frame
        x = left + self.x.share(point[0]) * (right - left)
        y = top + (1 - self.y.share(point[1])) * (bottom - top)
        return round(x, 1), round(y, 1)

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the area of the axes; around it is room for what they say."""
        return 58, 14, self.width - 16, self.height - 46

    def line(
        self, points: Sequence[Point], colour: int, kind: str = "", *, steps: bool = False, title: str = ""
    ) -> None:
        """Adds a line through points; with `steps`, it goes right before it goes up."""
        places = [self.place(point) for point in points]
        if not places:
            return
        path = f"M{places[0][0]:g} {places[0][1]:g}"
        for x, y in places[1:]:
            path += f"H{x:g}V{y:g}" if steps else f"L{x:g} {y:g}"
        self.parts.append(f'<path class="line {colour_class(colour)} {kind}" d="{path}">{_title(title)}</path>')

    def band(self, low: Sequence[Point], high: Sequence[Point], colour: int) -> None:
        """Adds the area between two lines."""
        places = [self.place(point) for point in (*high, *reversed(low))]
        if len(places) > 2:
            path = "L".join(f"{x:g} {y:g}" for x, y in places)
            self.parts.append(f'<path class="band {colour_class(colour)}" d="M{path}Z"/>')

    def mark(self, point: Point, colour: int, title: str, kind: str = "", radius: float = 3) -> None:
        """Adds a dot with a tooltip."""
        x, y = self.place(point)
        classes = f"mark {colour_class(colour)} {kind}".strip()
        self.parts.append(f'<circle class="{classes}" cx="{x:g}" cy="{y:g}" r="{radius:g}">{_title(title)}</circle>')

    def rule(self, start: Point, end: Point, kind: str) -> None:
        """Adds a thin reference line."""
        (a, b), (c, d) = self.place(start), self.place(end)
        self.parts.append(f'<line class="rule {kind}" x1="{a:g}" y1="{b:g}" x2="{c:g}" y2="{d:g}"/>')

    def svg(self) -> str:
        """The drawing as SVG text."""
        left, top, right, bottom = self.frame
        lines = [f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self.label)}">']
        room_x = max(2, (right - left) // 75)
        room_y = max(2, (bottom - top) // 42)
        for value in self.x.ticks(room_x):
            x = self.place((value, self.y.low))[0]
            lines.append(f'<line class="grid" x1="{x:g}" y1="{top}" x2="{x:g}" y2="{bottom}"/>')
            lines.append(
                f'<text class="tick" x="{x:g}" y="{bottom + 16}" text-anchor="middle">{self.x.text(value)}</text>'
            )
        for value in self.y.ticks(room_y):
            y = self.place((self.x.low, value))[1]
            lines.append(f'<line class="grid" x1="{left}" y1="{y:g}" x2="{right}" y2="{y:g}"/>')
            lines.append(
                f'<text class="tick" x="{left - 7}" y="{y + 4:g}" text-anchor="end">{self.y.text(value)}</text>'
            )
        lines.append(f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/>')
        x, y = (left + right) / 2, (top + bottom) / 2
        place = f'class="label" text-anchor="middle" x="{x:g}" y="{self.height - 8}"'
        lines.append(f"<text {place}>{escape(self.x.label)}</text>")
        place = f'class="label" text-anchor="middle" x="14" y="{y:g}" transform="rotate(-90 14 {y:g})"'
        lines.append(f"<text {place}>{escape(self.y.label)}</text>")
        return "\n".join([*lines, *self.parts, "</svg>"])


def colour_class(number: int) -> str:
    """The CSS class for the colour of a series; from the eleventh on, only the legend's order tells them apart."""
    return f"c{number % 10}"


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def legend(entries: Sequence[tuple[str, int, str]]) -> str:
    """A legend; every entry has a text, a colour and a symbol: `line`, `dash`, `dot` or `ring`."""
    keys = [
        f'<span class="key"><i class="{kind} {colour_class(colour)}"></i>{escape(text)}</span>'
        for text, colour, kind in entries
    ]
    return f'<div class="legend">{"".join(keys)}</div>'


def figure_of(plot: Plot, caption: str, entries: Sequence[tuple[str, int, str]] = (), note: str = "") -> str:
    """A drawing with its caption, legend and note."""
    parts = [f"<figure><figcaption>{escape(caption)}</figcaption>", plot.svg()]
    if entries:
        parts.append(legend(entries))
    if note:
        parts.append(f'<p class="note">{escape(note)}</p>')
    return "\n".join([*parts, "</figure>"])
