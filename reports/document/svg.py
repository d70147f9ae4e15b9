"""Draw small SVG panels that follow the light or dark theme of the page.

A style sheet defines the colours, as CSS classes or variables. Text is not drawn as shapes, so that
it can be read aloud, searched and selected. Each drawing is one panel; its default width suits a
phone.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 400.0, 250.0
LEFT, TOP, BOTTOM = 76.0, 34.0, 40.0  # margins around the plotted area
MARKS = ("circle", "square", "diamond", "triangle")

Scale = Callable[[float], float]


@dataclass
class Drawing:
    """A panel of a figure: methods append shapes, and `render` writes them as SVG.

    Coordinates are in pixels of the drawing, x to the right and y downwards.
    """

    title: str
    description: str
    height: float
    width: float = WIDTH
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'
        )

    def polyline(self, points: Iterable[tuple[float, float]], css: str) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" class="{css}"/>')

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        css: str,
        *,
        tip: str = "",
        style: str = "",
    ) -> None:
        extra = f' style="{escape(style)}"' if style else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
            f'rx="2" class="{escape(css)}"{extra}>{_tip(tip)}</rect>'
        )

    def mark(
        self, shape: str, x: float, y: float, css: str, *, r: float = 4, tip: str = ""
    ) -> None:
        """Append a marker, which is a "circle", "square", "diamond" or "triangle"."""
        if shape == "circle":
            body = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" class="{css}">'
            self.parts.append(f"{body}{_tip(tip)}</circle>")
            return
        corners = " ".join(f"{x + r * dx:.1f},{y + r * dy:.1f}" for dx, dy in _CORNERS[shape])
        self.parts.append(f'<polygon points="{corners}" class="{css}">{_tip(tip)}</polygon>')

    def text(self, x: float, y: float, text: str, css: str, *, anchor: str = "start") -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{css}">'
            f"{escape(text)}</text>"
        )

    def render(self, identifier: str, *, style: str = "") -> str:
        """Return the drawing as an `<svg>` element; `style` is needed only outside a page."""
        title, described = f"{identifier}-title", f"{identifier}-description"
        sheet = f"<style>{style}</style>" if style else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="panel" role="img" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'aria-labelledby="{title} {described}">{sheet}'
            f'<title id="{title}">{escape(self.title)}</title>'
            f'<desc id="{described}">{escape(self.description)}</desc>'
            f"{''.join(self.parts)}</svg>"
        )

    def bottom_axis(
        self, ticks: Sequence[tuple[float, str]], title: str, left: float, right: float
    ) -> None:
        """Draw a grid line and a name for each tick (pixel, name), and a title below the ticks.

        The title is centred between the margins `left` and `right`.
        """
        for position, name in ticks:
            self.line(position, TOP - 6, position, self.height - BOTTOM, "grid")
            self.text(position, self.height - BOTTOM + 16, name, "tick", anchor="middle")
        middle = 0.5 * (left + self.width - right)
        self.text(middle, self.height - 6, title, "axis", anchor="middle")


@dataclass(frozen=True)
class Axis:
    """An axis from the first to the last tick, or between `ends` if they are given.

    Only every `every`-th tick is shown.
    """

    ticks: Sequence[float]
    label: Callable[[float], str]
    title: str = ""
    is_log: bool = False
    every: int = 1
    ends: tuple[float, float] | None = None

    def scale(self, start: float, end: float) -> Scale:
        """Return the map from values to the pixels `start..end`."""
        low, high = self.ends or (self.ticks[0], self.ticks[-1])
        if not self.is_log:
            return linear_scale(low, high, start, end)
        inner = linear_scale(math.log10(low), math.log10(high), start, end)
        return lambda value: inner(math.log10(value))

    def marks(self, scale: Scale) -> list[tuple[float, str]]:
        return [(scale(tick), self.label(tick)) for tick in self.ticks[:: self.every]]


def strip(
    heading: str,
    description: str,
    across: Axis,
    *,
    height: float = HEIGHT,
    left: float = LEFT,
    right: float = 16.0,
) -> tuple[Drawing, Scale]:
    """Return a panel with a heading and a bottom axis, and the scale of x."""
    panel = Drawing(heading, description, height)
    panel.text(0, 14, heading, "heading")
    x = across.scale(left, panel.width - right)
    panel.bottom_axis(across.marks(x), across.title, left, right)
    return panel, x


def plot(
    heading: str, description: str, across: Axis, up: Axis, *, right: float = 16.0
) -> tuple[Drawing, Scale, Scale]:
    """Return a panel with a heading and two axes, and the scales of x and y."""
    panel, x = strip(heading, description, across, right=right)
    y = up.scale(panel.height - BOTTOM, TOP)
    for position, name in up.marks(y):
        panel.line(LEFT, position, panel.width - right, position, "grid")
        panel.text(LEFT - 8, position + 4, name, "tick", anchor="end")
    return panel, x, y


_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "triangle": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
}


def linear_scale(low: float, high: float, start: float, end: float) -> Scale:
    """Return the linear map from `low..high` to the pixels `start..end`."""
    span = (high - low) or 1.0
    return lambda value: start + (end - start) * (value - low) / span


def linear_ticks(high: float, count: int = 4) -> list[float]:
    """Return ticks from 0 to at least `high`, with about `count` equal steps between them.

    The step is 1, 2 or 5 times a power of ten. If `high` is not positive and finite, the ticks are
    0 and 1.
    """
    if high <= 0 or not math.isfinite(high):
        return [0.0, 1.0]
    rough = high / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
    return [step * i for i in range(math.ceil(high / step - 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten that enclose `low..high`, at least two."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""
